// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataPredicates
import CoreDataStoreFiles
import Foundation

/// The number of objects of each entity in a store, with a hash of their contents. It does not depend on the type of
/// the store, the order of its rows, or their versions.
///
/// Numbers are compared in the form in which stores keep them: NaN as a missing value, and -0 as 0. References to
/// missing objects are ignored. The members of a to-many relationship count only if they do not follow from the
/// inverse.
package struct StoreDigest: Equatable, Sendable {
  package struct Entity: Equatable, Sendable {
    package fileprivate(set) var count = 0
    package fileprivate(set) var hash = ContentHash.none
  }

  /// The entities by name. Entities without objects are left out.
  package private(set) var entities: [String: Entity] = [:]

  package init() {}

  /// The number of objects.
  package var count: Int { entities.values.reduce(0) { $0 + $1.count } }

  /// An entity in which two stores differ.
  package struct Difference {
    package let entity: String
    package let expected: Int
    package let found: Int
  }

  /// Returns the first entity in which a store differs from this one; nil if they are equal.
  package func difference(of found: StoreDigest) -> Difference? {
    Set(entities.keys).union(found.entities.keys).sorted().first { entities[$0] != found.entities[$0] }.map {
      Difference(entity: $0, expected: entities[$0]?.count ?? 0, found: found.entities[$0]?.count ?? 0)
    }
  }

  /// Reads all rows of a store. Memory use does not grow with their number.
  ///
  /// - Parameters:
  ///   - roundsDecimals: whether decimal numbers are rounded as in a SQLite store.
  ///   - progress: called after each page, with the number of rows read so far.
  /// - Throws: 134070 for a store whose rows cannot be listed; the store's errors.
  package init(
    of store: any RowStore, _ keys: PresentKeys, roundsDecimals: Bool = false,
    progress: (NSEntityDescription, Int) throws -> Void = { _, _ in }
  ) throws {
    let reader = CopiedRows(store, keys, roundsDecimals: roundsDecimals)
    for position in keys.entities.indices {
      var pages = RowPages(store, keys.entities[position])
      while case let rows = try pages.page(), !rows.isEmpty {
        for row in rows { add(try reader.row(row, position)) }
        try progress(keys.entities[position], count)
      }
      try reader.forEachMembers(of: position) { members, _ in
        for owner in members { add(owner) }
      }
    }
  }

  package mutating func add(_ row: CopiedRow) {
    entities[row.entity.name ?? "", default: Entity()].count += 1
    entities[row.entity.name ?? "", default: Entity()].hash += row.hash
  }

  package mutating func add(_ members: CopiedMembers) {
    entities[members.entity.name ?? "", default: Entity()].hash += members.hash
  }

  /// The digest as a property list: the count and the text of the hash for each entity.
  package var propertyList: [String: Any] { entities.mapValues { [$0.count, $0.hash.text] as [Any] } }

  /// Reads the digest from a property list; nil for any other value.
  package init?(propertyList: Any?) {
    guard let list = propertyList as? [String: Any] else { return nil }
    for (name, value) in list {
      guard let parts = value as? [Any], parts.count == 2, let count = parts[0] as? Int,
        let hash = (parts[1] as? String).flatMap(ContentHash.init(text:))
      else { return nil }
      entities[name] = Entity(count: count, hash: hash)
    }
  }
}

extension ContentHash {
  /// The kinds of slots. The numbers are part of stored hashes.
  private enum Tag: UInt64 {
    case integer = 1, boolean, double, float, date, string, data, uuid, decimal, uri, composite, reference, members
  }

  private mutating func add(_ tag: Tag, _ position: Int) { add(tag.rawValue << 32 | UInt64(position)) }

  private mutating func add(real: Double) { add((real == 0 ? 0 : real).bitPattern) }

  /// Adds the value of an attribute. Slots without a value have no effect.
  mutating func add(_ slot: Slot, at position: Int, of attribute: NSAttributeDescription) {
    switch slot {
    case .null, .unread, .toMany, .toOne: return
    case .integer(let value):
      add(.integer, position)
      add(UInt64(bitPattern: value))
    case .boolean(let value):
      add(.boolean, position)
      add(value ? 1 : 0)
    case .double(let value), .date(let value):
      if value.isNaN { return }
      if case .date = slot { add(Tag.date, position) } else { add(Tag.double, position) }
      add(real: value)
    case .float(let value):
      if value.isNaN { return }
      add(.float, position)
      add(real: Double(value))
    case .string(let value):
      add(.string, position)
      add(value)
    case .data(let value), .archived(let value):
      add(.data, position)
      value.withUnsafeBytes { add($0) }
    case .unarchived(let value):
      add(.data, position)
      value.data.withUnsafeBytes { add($0) }
    case .uuid(let value):
      add(.uuid, position)
      withUnsafeBytes(of: value.uuid) { add($0) }
    case .object(let value): add(value, at: position, of: attribute)
    }
  }

  private mutating func add(_ value: NSObject, at position: Int, of attribute: NSAttributeDescription) {
    switch value {
    case let value as NSDecimalNumber:
      add(.decimal, position)
      add(DecimalConversion.text(of: value.decimalValue.compacted))
    case let value as NSURL:
      add(.uri, position)
      add(value.absoluteString)
    case let value as NSDictionary:
      let elements = (attribute as? NSCompositeAttributeDescription)?.elements.sorted { $0.name < $1.name } ?? []
      var parts = ContentHash(seed: Tag.composite.rawValue)
      let empty = parts
      for (number, element) in elements.enumerated() {
        // A value of another type cannot be stored, and counts as missing.
        guard let slot = Slot(value[element.name as NSString], for: element) else { continue }
        parts.add(slot, at: number, of: element)
      }
      // A composite without values counts as missing.
      if parts == empty { return }
      add(.composite, position)
      add(parts)
    default:
      // A custom object that no store keeps unchanged. `CopiedRows` archives the objects of transformable attributes.
      return
    }
  }

  /// Adds the destination of a to-one relationship.
  mutating func add(reference number: Int64, entity: UInt64, at position: Int) {
    add(.reference, position)
    add(entity)
    add(UInt64(bitPattern: number))
  }

  /// Adds the members of a to-many relationship.
  mutating func add(members: [(entity: UInt64, number: Int64)], isOrdered: Bool, at position: Int) {
    add(.members, position)
    var unordered = ContentHash.none
    for member in members {
      var one = ContentHash(seed: member.entity)
      one.add(UInt64(bitPattern: member.number))
      if isOrdered { add(one) } else { unordered += one }
    }
    add(UInt64(members.count))
    add(unordered)
  }
}

extension Decimal {
  /// The number without trailing zeros in the significand.
  fileprivate var compacted: Decimal {
    var value = self
    NSDecimalCompact(&value)
    return value
  }
}
