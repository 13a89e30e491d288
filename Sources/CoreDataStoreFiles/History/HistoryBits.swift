// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import Foundation

/// The bits by which history says which properties of an object were updated.
///
/// The most significant bit of the first byte comes first. The properties are the stored ones, attributes and
/// relationships together, in ascending order of their names; those of a parent entity follow those of its sub-entity. A
/// to-one relationship whose destination has sub-entities has two bits, for its two columns.
package struct HistoryBits: Sendable {
  private let bits: [String: [Int]]
  /// The property of each bit.
  private let names: [String]

  package init(_ entity: EntityLayout, in schema: StoreSchema) {
    var names: [String] = []
    var current: EntityLayout? = entity
    while let layout = current {
      let parent = layout.isRoot ? nil : schema.entity(number: layout.parentNumber)
      for name in (Array(layout.attributes.keys) + layout.relationships.keys).sorted(by: Self.precedes)
      where parent?.attributes[name] == nil && parent?.relationships[name] == nil {
        names.append(name)
        if Self.hasTwo(layout.relationships[name], in: schema) { names.append(name) }
      }
      current = parent
    }
    self.names = names
    bits = Dictionary(grouping: names.indices) { names[$0] }
  }

  /// Orders names by their bytes.
  private static func precedes(_ left: String, _ right: String) -> Bool {
    left.utf8.lexicographicallyPrecedes(right.utf8)
  }

  private static func hasTwo(_ relationship: RelationshipLayout?, in schema: StoreSchema) -> Bool {
    guard let relationship, !relationship.isToMany else { return false }
    return schema[relationship.destinationEntity]?.hasSubentities ?? false
  }

  /// Returns the bytes for a set of properties.
  package func bytes(of properties: some Sequence<String>) -> Data {
    var bytes = [UInt8](repeating: 0, count: (names.count + 7) / 8)
    for property in properties {
      for bit in bits[property] ?? [] { bytes[bit / 8] |= 0x80 >> UInt8(bit % 8) }
    }
    return Data(bytes)
  }

  /// Returns the properties in a set. Bits without a property are ignored, since old stores have garbage there.
  package func properties(in bytes: Data) -> Set<String> {
    var found: Set<String> = []
    for (position, byte) in bytes.prefix((names.count + 7) / 8).enumerated() where byte != 0 {
      for bit in 0..<8 where byte & (0x80 >> UInt8(bit)) != 0 && position * 8 + bit < names.count {
        found.insert(names[position * 8 + bit])
      }
    }
    return found
  }
}
