// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import Foundation

/// The bits with which history records the updated properties of an object.
///
/// The most significant bit of the first byte comes first. The stored properties are in four groups:
///
/// 1. to-one relationships, with two bits if the destination has sub-entities, as for their two columns;
/// 2. attributes, with one bit for each element of a composite one;
/// 3. to-many relationships that are read through a key of the destination, in descending order of their names;
/// 4. to-many relationships with a join table.
///
/// In each group the properties of the root entity come first, and those of the entity itself last; those of one entity
/// are in ascending order of their names, except in the third group. This matches all updates seen in stores made by
/// Core Data. None of them shows the order within the fourth group.
package struct HistoryBits: Sendable {
  private let bits: [String: [Int]]
  /// The property of each bit.
  private let names: [String]

  package init(_ entity: EntityLayout, in schema: StoreSchema) {
    var groups: [[String]] = [[], [], [], []]
    for (layout, parent) in Self.lineage(of: entity, in: schema) {
      let attributes = layout.attributes.values.filter { parent?.attributes[$0.name] == nil }
      for attribute in attributes.sorted(by: { Self.precedes($0.name, $1.name) }) {
        groups[1] += Array(repeating: attribute.name, count: attribute.leafCount)
      }
      var keyed: [String] = []
      let relationships = layout.relationships.values.filter { parent?.relationships[$0.name] == nil }
      for relationship in relationships.sorted(by: { Self.precedes($0.name, $1.name) }) {
        let name = relationship.name
        switch relationship.storage {
        case .foreignKey:
          let hasTwo = schema[relationship.destinationEntity]?.hasSubentities ?? false
          groups[0] += hasTwo ? [name, name] : [name]
        case .inverseForeignKey: keyed.append(name)
        case .joinTable: groups[3].append(name)
        }
      }
      groups[2] += keyed.reversed()
    }
    let names = groups.flatMap { $0 }
    self.names = names
    bits = Dictionary(grouping: names.indices) { names[$0] }
  }

  /// Returns an entity with its ancestors, each with its own parent, beginning with the root.
  private static func lineage(
    of entity: EntityLayout, in schema: StoreSchema
  ) -> [(layout: EntityLayout, parent: EntityLayout?)] {
    var found: [(layout: EntityLayout, parent: EntityLayout?)] = []
    var current: EntityLayout? = entity
    while let layout = current {
      current = layout.isRoot ? nil : schema.entity(number: layout.parentNumber)
      found.append((layout, current))
    }
    return found.reversed()
  }

  /// Whether a name comes before another in byte order.
  private static func precedes(_ left: String, _ right: String) -> Bool {
    left.utf8.lexicographicallyPrecedes(right.utf8)
  }

  /// Returns the bytes for a set of properties.
  package func bytes(of properties: some Sequence<String>) -> Data {
    var bytes = [UInt8](repeating: 0, count: (names.count + 7) / 8)
    for property in properties {
      for bit in bits[property] ?? [] { bytes[bit / 8] |= 0x80 >> UInt8(bit % 8) }
    }
    return Data(bytes)
  }

  /// Returns the properties in a set. Bits without a property are ignored, since old stores contain garbage there.
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

extension AttributeLayout {
  /// The number of stored values of the attribute.
  fileprivate var leafCount: Int { kind == .composite ? elements.reduce(0) { $0 + $1.leafCount } : 1 }
}
