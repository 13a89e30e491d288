// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData

extension RowTables {
  /// Returns the same rows with identifiers of another store, which may have another instance of the model.
  package func copied(for store: MemoryStore) throws -> RowTables {
    let copy = RowTables(try store.model(), store: store)
    func own(_ id: NSManagedObjectID) -> NSManagedObjectID {
      let entity = copy.model.entitiesByName[id.entityDescription.name ?? ""] ?? id.entityDescription
      return copy.id(entity, id.key.number)
    }
    var members: [(owner: NSManagedObjectID, relationship: String, ids: [NSManagedObjectID])] = []
    let rows = allRows.map { row in
      for relationship in row.entity.relationshipsByName.values where relationship.isToMany {
        let ids = self.members(of: relationship.name, owner: row.key)
        if !ids.isEmpty { members.append((own(row.id), relationship.name, ids.map(own))) }
      }
      let slots = row.slots.map { slot -> Slot in
        if case .toOne(let id) = slot { return .toOne(own(id)) }
        return slot
      }
      return RowSnapshot(id: own(row.id), version: row.version, slots: slots)
    }
    copy.load(rows, members: members)
    copy.reserve(from: nextNumber)
    return copy
  }
}
