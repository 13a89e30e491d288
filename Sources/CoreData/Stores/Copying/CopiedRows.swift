// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataMistakes
import CoreDataStoreFiles
import Foundation

/// A row in the form in which it is copied, without references to missing rows.
package struct CopiedRow {
  package let entity: NSEntityDescription
  /// The number in the destination.
  package let number: Int64
  /// The slots, with identifiers of the destination. To-many relationships have not been read.
  package let slots: [Slot]
  /// The positions of slots with a value.
  package let values: SlotSet
  package let hash: ContentHash
}

/// The members of a row's to-many relationships in the form in which they are copied.
package struct CopiedMembers {
  package let entity: NSEntityDescription
  /// The number of the owner in the destination.
  package let number: Int64
  /// The members with identifiers of the destination, by the positions of relationships. Relationships without members
  /// are left out.
  package let members: [(position: Int, slot: Slot)]
  package let hash: ContentHash
}

/// Reads the rows of a store in the form in which they are copied.
package final class CopiedRows {
  /// The destination of rows; nil if they are only read.
  package struct Target {
    package let store: any CopyDestination
    /// The numbers that differ from the source's.
    package let renumbered: [[Int64: Int64]]
    /// By entity: the number of its root entity in the destination's identifiers.
    fileprivate let roots: [UInt32]
    fileprivate let number: UInt32
    fileprivate let reference: StoreReference

    /// - Throws: 134070 if the store has no table for an entity that has rows, because its configuration does not
    ///   include the entity.
    package init(_ store: any CopyDestination, _ keys: PresentKeys, renumbered: [[Int64: Int64]]) throws {
      self.store = store
      self.renumbered = renumbered
      roots = try keys.entities.enumerated().map { position, entity in
        let name = entity.name ?? ""
        guard let id = store.identifier(entityName: name, reference: "p1") else {
          if keys[position].runs.isEmpty { return 0 }
          throw StoreErrors.operationFailed(
            url: store.url, reason: "The store has no table for the entity '\(name)'.")
        }
        return id.key.root
      }
      (number, reference) = store.numberAndReference
    }

    func identifier(_ entity: NSEntityDescription, _ position: Int, _ number: Int64) -> NSManagedObjectID {
      NSManagedObjectID(
        entity: entity, key: ObjectKey(store: self.number, root: roots[position], number: number), store: reference)
    }
  }

  private let store: any RowStore
  private let keys: PresentKeys
  private let target: Target?
  private let roundsDecimals: Bool
  /// By entity: a hash of its name.
  private let seeds: [UInt64]
  /// The number of links to missing rows that have been left out.
  package private(set) var leftOutLinks = 0

  package init(_ store: any RowStore, _ keys: PresentKeys, to target: Target? = nil, roundsDecimals: Bool = false) {
    (self.store, self.keys, self.target, self.roundsDecimals) = (store, keys, target, roundsDecimals)
    seeds = keys.entities.map { entity in
      var hash = ContentHash()
      hash.add(entity.name ?? "")
      return hash.word
    }
  }

  /// Returns the identifier of a row in the destination. The target must not be nil.
  package func identifier(_ position: Int, _ number: Int64) -> NSManagedObjectID {
    guard let target else { trap("Rows that are only read have no identifiers elsewhere.") }
    return target.identifier(keys.entities[position], position, number)
  }

  /// Returns the greatest number of an entity's rows in the destination; nil if it has none.
  package func lastNumber(_ position: Int) -> Int64? {
    guard let own = keys[position].runs.last?.upperBound else { return nil }
    return max(own, target?.renumbered[position].values.max() ?? own)
  }

  private func number(_ entity: Int, _ number: Int64) -> Int64 { target?.renumbered[entity][number] ?? number }

  /// Converts a row.
  ///
  /// - Parameter position: the position of its entity.
  /// - Throws: 134060 for a value that cannot be archived.
  package func row(_ row: RowSnapshot, _ position: Int) throws -> CopiedRow {
    let entity = keys.entities[position]
    let table = entity.slotTable
    var slots = row.slots
    var values = SlotSet()
    let number = number(position, row.key.number)
    var hash = ContentHash(seed: seeds[position])
    hash.add(UInt64(bitPattern: number))
    for index in slots.indices {
      if table.isTransient(at: index) { continue }
      switch table.properties[index] {
      case .attribute(let attribute):
        if case .object(let value) = slots[index] { slots[index] = try stored(value, of: attribute) }
        if slots[index].isNull { continue }
        hash.add(slots[index], at: index, of: attribute)
        values.insert(index)
      case .relationship(let relationship):
        if relationship.isToMany {
          slots[index] = .unread
          continue
        }
        guard case .toOne(let id) = slots[index] else {
          slots[index] = .null
          continue
        }
        guard let destination = keys.entity(of: id) else {
          leftOutLinks += 1
          slots[index] = .null
          continue
        }
        let other = self.number(destination, id.key.number)
        hash.add(reference: other, entity: seeds[destination], at: index)
        values.insert(index)
        if let target {
          slots[index] = .toOne(target.identifier(keys.entities[destination], destination, other))
        }
      }
    }
    return CopiedRow(entity: entity, number: number, slots: slots, values: values, hash: hash)
  }

  /// Returns an object in the form in which the destination stores it.
  private func stored(_ value: NSObject, of attribute: NSAttributeDescription) throws -> Slot {
    if attribute.attributeType == .transformableAttributeType {
      return try TransformableValues.encode(value, of: attribute).map { .archived($0) } ?? .null
    }
    return .object(roundsDecimals ? rounded(value, of: attribute) : value)
  }

  private func rounded(_ value: NSObject, of attribute: NSAttributeDescription) -> NSObject {
    switch value {
    case let value as NSDecimalNumber: return StoredDecimal.kept(value)
    case let value as NSDictionary:
      guard let composite = attribute as? NSCompositeAttributeDescription else { return value }
      var parts: [String: Any] = [:]
      for element in composite.elements {
        guard let part = value[element.name as NSString] else { continue }
        parts[element.name] = (part as? NSDecimalNumber).map(StoredDecimal.kept) ?? part
      }
      return parts as NSDictionary
    default: return value
    }
  }

  /// The maximum number of rows whose members are read together, and the number of members to aim at.
  private static let (ownerCount, memberCount) = (64, 16_384)

  /// Calls a body with the members of an entity's rows, in the order of the rows.
  ///
  /// - Parameters:
  ///   - position: the position of the entity.
  ///   - last: only the members of rows with greater numbers in the source are read; nil for all.
  ///   - limit: the maximum number of rows read together.
  ///   - body: called with the rows that have members, and with the source's number of the last row read.
  package func forEachMembers(
    of position: Int, after last: Int64? = nil, limit: Int = RowPages.maxCount,
    _ body: ([CopiedMembers], Int64) throws -> Void
  ) throws {
    let entity = keys.entities[position]
    let wanted = entity.slotTable.copiedWithMembers
    let numbers = keys[position]
    guard !wanted.isEmpty, let first = numbers.runs.first?.lowerBound else { return }
    guard let sample = store.identifier(entityName: entity.name ?? "", reference: "p1") else {
      throw StoreErrors.operationFailed(
        url: store.url, reason: "The row \(first) of the entity '\(entity.name ?? "")' cannot be identified.")
    }
    let (storeNumber, reference) = store.numberAndReference
    try numbers.inParts(after: last, of: min(limit, Self.ownerCount)) { part in
      let ids = part.map { number in
        NSManagedObjectID(
          entity: entity, key: ObjectKey(store: storeNumber, root: sample.key.root, number: number), store: reference)
      }
      var found: [[ObjectKey: [NSManagedObjectID]]] = []
      for index in wanted {
        guard let relationship = entity.slotTable.relationship(at: index) else { continue }
        found.append(try store.members(of: relationship, forAll: ids))
      }
      let members = ids.compactMap { self.members($0, position, wanted, found) }
      if let last = part.last { try body(members, last) }
      let count = found.reduce(0) { $0 + $1.values.reduce(0) { $0 + $1.count } }
      return min(limit, 2 * part.count, max(1, Self.memberCount * part.count / max(1, count)))
    }
  }

  /// Returns the existing members of a row; nil if there are none.
  private func members(
    _ id: NSManagedObjectID, _ position: Int, _ wanted: [Int], _ found: [[ObjectKey: [NSManagedObjectID]]]
  ) -> CopiedMembers? {
    let entity = keys.entities[position]
    let number = number(position, id.key.number)
    var hash = ContentHash(seed: seeds[position])
    hash.add(UInt64(bitPattern: number))
    var slots: [(Int, Slot)] = []
    for (index, members) in zip(wanted, found) {
      var present: [(entity: Int, number: Int64)] = []
      for member in members[id.key] ?? [] {
        if let entity = keys.entity(of: member) {
          present.append((entity, self.number(entity, member.key.number)))
        } else {
          leftOutLinks += 1
        }
      }
      if present.isEmpty { continue }
      let isOrdered = entity.slotTable.relationship(at: index)?.isOrdered ?? false
      hash.add(members: present.map { (seeds[$0.entity], $0.number) }, isOrdered: isOrdered, at: index)
      guard let target else {
        slots.append((index, .unread))
        continue
      }
      let ids = present.map { target.identifier(keys.entities[$0.entity], $0.entity, $0.number) }
      slots.append((index, .toMany(ToMany(ids, isOrdered: isOrdered))))
    }
    return slots.isEmpty ? nil : CopiedMembers(entity: entity, number: number, members: slots, hash: hash)
  }
}

extension StoredDecimal {
  /// Returns the value that is read back after `number(_:)` has been stored.
  fileprivate static func kept(_ value: NSDecimalNumber) -> NSDecimalNumber {
    guard case .real(let real) = number(value) else { return value }
    return object(real) ?? value
  }
}
