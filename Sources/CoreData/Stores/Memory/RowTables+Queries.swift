// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataPredicates
import CoreDataStoreFiles
import Foundation

extension RowTables {
  /// Returns the rows that match a query, in order; nil if the query needs values that are not stored.
  package func rows(for query: RowQuery) throws -> [RowSnapshot]? {
    guard var found = try matching(query) else { return nil }
    if !query.order.isEmpty {
      do {
        found = try ObjectOrder(query.order).sorted(found.map { StoredRow($0.id, $0, self) }).compactMap(\.row)
      } catch is NotInStore {
        return nil
      }
    }
    var result = found[...]
    if query.offset > 0 { result = result.dropFirst(query.offset) }
    if query.limit > 0 { result = result.prefix(query.limit) }
    return Array(result)
  }

  /// Returns the identifiers of the rows that match a query, with their sort key values; nil as for `rows(for:)`.
  package func placedIdentifiers(for query: RowQuery) throws -> [PlacedIdentifier]? {
    guard let rows = try rows(for: query) else { return nil }
    let order = ObjectOrder(query.order)
    return try rows.map { PlacedIdentifier(id: $0.id, values: try order.values(of: StoredRow($0.id, $0, self))) }
  }

  private func matching(_ query: RowQuery) throws -> [RowSnapshot]? {
    if let ids = query.predicate?.wantedIdentifiers {
      return Set(ids.lazy.map(\.current.key).filter { $0.store == self.store.number })
        .sorted { $0.number < $1.number }.compactMap { row($0) }.filter { isOf($0, query) }
    }
    var found = rows(of: query.entity, includesSubentities: query.includesSubentities)
    if query.keys != nil || !query.excludedKeys.isEmpty { found = found.filter { isInRange($0, query) } }
    guard let predicate = query.predicate else { return found }
    let evaluator = PredicateEvaluator()
    do {
      return try found.filter { try evaluator.evaluate(predicate, with: StoredRow($0.id, $0, self)) }
    } catch is NotInStore {
      return nil
    }
  }

  private func isOf(_ row: RowSnapshot, _ query: RowQuery) -> Bool {
    let entity = plan(query.entity).entity
    let isWanted =
      query.includesSubentities
      ? row.id.entityDescription.isKindOf(entity: entity) : row.id.entityDescription === entity
    return isWanted && isInRange(row, query)
  }

  private func isInRange(_ row: RowSnapshot, _ query: RowQuery) -> Bool {
    let number = row.id.key.number
    return query.keys?.contains(number) != false && !query.excludedKeys.contains(number)
  }
}

extension PredicateSyntax {
  /// The identifiers in `SELF IN {…}`, the predicate that reads the rows of faults; nil for other predicates.
  fileprivate var wantedIdentifiers: [NSManagedObjectID]? {
    guard case .comparison(let comparison) = self, comparison.left == .evaluatedObject, comparison.op == .in,
      comparison.modifier == .direct, case .constant(.array(let elements)) = comparison.right
    else { return nil }
    let ids = elements.map { element -> NSManagedObjectID? in
      guard case .object(let object) = element else { return nil }
      return (object.value.base as? NSManagedObjectID) ?? (object.value.base as? any ObjectIdentified)?.objectID
    }
    return ids.contains { $0 == nil } ? nil : ids.compactMap { $0 }
  }
}

/// An error for a value that objects have and rows do not: a transient attribute or a fetched property.
private struct NotInStore: Error {}

/// A row as predicates and sort descriptors see it.
private final class StoredRow: NSObject, KeyValueReading, ObjectIdentified {
  let objectID: NSManagedObjectID
  /// The row; nil for a relationship whose destination row is missing.
  let row: RowSnapshot?
  private let tables: RowTables

  init(_ id: NSManagedObjectID, _ row: RowSnapshot?, _ tables: RowTables) {
    objectID = id
    self.row = row
    self.tables = tables
  }

  override var hash: Int { objectID.hash }

  override func isEqual(_ object: Any?) -> Bool { (object as? StoredRow)?.objectID.key == objectID.key }

  func value(forKeyPathComponent key: String) throws -> Any? {
    let entity = objectID.entityDescription
    guard let position = entity.slotTable.position(of: key) else {
      switch key {
      case "self", "SELF": return self
      case "objectID": return objectID
      case "entity": return entity
      default:
        if entity.propertiesByName[key] != nil { throw NotInStore() }
        throw EvaluationError.unknownKey(key, object: "The entity \(entity.name ?? "")")
      }
    }
    guard let row else { return nil }
    switch tables.plan(entity).steps[position] {
    case .transient: throw NotInStore()
    case .attribute(let attribute):
      if case .archived(let data) = row.slots[position] { return TransformableValues.decode(data, of: attribute) }
      return row.slots[position].publicValue
    case .toOne:
      guard case .toOne(let id) = row.slots[position] else { return nil }
      return other(id)
    case .members:
      let members = tables.members(of: key, owner: objectID.key).map(other)
      return entity.slotTable.relationship(at: position)?.isOrdered == true
        ? NSOrderedSet(array: members) : NSSet(array: members)
    }
  }

  private func other(_ id: NSManagedObjectID) -> StoredRow { StoredRow(id, tables.row(id.key), tables) }
}
