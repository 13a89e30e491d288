// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles

extension SchemaBuilder {
  /// Whether a join table within one entity is named after `relationship` rather than after its inverse.
  ///
  /// In eight pairs from four public schemas, the table is named after the relationship that comes first in a hash
  /// table of three slots, with CoreFoundation's hash of strings. If both names are in one slot, the rule is not known:
  /// of three such pairs, two are named after the later name.
  static func isTableNamed(after relationship: String, ratherThan inverse: String) -> Bool {
    let (own, other) = (slot(of: relationship), slot(of: inverse))
    guard let own, let other, own != other else { return relationship >= inverse }
    return own < other
  }

  /// Whether, of two relationships of one entity whose join table columns would have the same name, the first keeps
  /// that name. It is the one that comes first in a hash table of three slots, or else by name.
  ///
  /// This matches three of the four known pairs; the order of names matches one.
  static func precedes(_ relationship: String, _ other: String) -> Bool {
    (slot(of: relationship) ?? 3, relationship) < (slot(of: other) ?? 3, other)
  }

  /// Returns the name's slot in a hash table of three; nil for long names, which are only partly hashed.
  private static func slot(of name: String) -> UInt64? {
    let units = name.utf16.map(UInt64.init)
    guard units.count <= 96 else { return nil }
    var hash = UInt64(units.count)
    let inFours = units.count / 4 * 4
    for start in stride(from: 0, to: inFours, by: 4) {
      let four = units[start..<start + 4].reduce(0) { $0 &* 257 &+ $1 }
      hash = hash &* 67_503_105 &+ four
    }
    for unit in units[inFours...] { hash = hash &* 257 &+ unit }
    return (hash &+ (hash << UInt64(units.count & 31))) % 3
  }

  /// Returns the first name, ignoring case, among each entity and its sub-entities.
  ///
  /// Core Data appears to visit entities in the order of their names, and with each the relationships that it inherits.
  func firstNames() -> [String: FirstName] {
    var names: [String: FirstName] = [:]
    for entity in ordered {
      let name = FirstName(entity.name)
      for ancestor in selection.index.lineage(of: entity.name) {
        names[ancestor.name] = min(names[ancestor.name] ?? name, name)
      }
    }
    return names
  }

  struct FirstName: Comparable {
    private let folded: String
    private let name: String

    init(_ name: String) { (folded, self.name) = (name.lowercased(), name) }

    static func < (left: FirstName, right: FirstName) -> Bool {
      (left.folded, left.name) < (right.folded, right.name)
    }
  }
}
