// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Copies all rows of a store to a custom store, which receives objects. All of them are in memory.
struct ObjectCopy {
  let source: any RowStore
  let destination: any ObjectWritingStore
  let coordinator: NSPersistentStoreCoordinator

  /// Copies the rows, which get new identifiers, and writes the destination's metadata.
  ///
  /// - Throws: 134070 for a store whose rows cannot be listed; the errors of both stores. On an error, the destination
  ///   has no rows.
  func run() throws {
    let context = NSManagedObjectContext(concurrencyType: .confinementConcurrencyType)
    context.persistentStoreCoordinator = coordinator
    context.retainsRegisteredObjects = true
    let entities = coordinator.managedObjectModel.entities.filter { source.hasTable(for: $0) }
    let rows = try entities.flatMap { entity in
      guard let rows = try source.rows(for: RowQuery(entity: entity, includesSubentities: false)) else {
        throw StoreErrors.operationFailed(
          url: source.url, reason: "The rows of a store of the type '\(source.type)' cannot be listed.")
      }
      return rows
    }
    try ErrorTranslation.translating(url: source.url, during: .use) {
      for row in rows { try row.requireReadable() }
    }
    let objects = rows.map { NSManagedObject(entity: $0.id.entityDescription, insertInto: nil) }
    let ids = try destination.makeIdentifiers(forObjects: objects)
    let newIDs = Dictionary(zip(rows.map(\.id.key), ids)) { first, _ in first }
    for (position, row) in rows.enumerated() {
      let object = objects[position]
      object.setSlots(try slots(of: row, newIDs))
      object.changes = .inserted
      object.replaceIdentifier(by: ids[position])
      context.registry.add(object)
    }
    let changes = objects.map { object in
      RowChange(
        kind: .insert, id: object.identifier, old: nil, slots: object.slots, changed: object.changedStoredSlots())
    }
    try destination.writeObjects(changes, of: context)
    if destination.hasUnsavedMetadata { try destination.writeMetadata() }
  }

  /// Returns the values of a row with the identifiers of the new store. References to missing rows are left out.
  private func slots(
    of row: RowSnapshot, _ newIDs: [ObjectKey: NSManagedObjectID]
  ) throws -> [Slot] {
    let table = row.id.entityDescription.slotTable
    return try row.slots.enumerated().map { position, slot in
      guard let relationship = table.relationship(at: position) else { return slot }
      if relationship.isToMany {
        if table.isTransient(at: position) { return .null }
        let members = try source.members(of: relationship, for: row.id)
        return .toMany(ToMany(members.compactMap { newIDs[$0.key] }, isOrdered: relationship.isOrdered))
      }
      if case .toOne(let id) = slot { return newIDs[id.key].map { .toOne($0) } ?? .null }
      return slot
    }
  }
}
