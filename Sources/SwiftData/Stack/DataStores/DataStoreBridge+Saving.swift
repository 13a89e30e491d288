// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import Foundation

extension DataStoreBridge {
  /// Passes the changes of a context to the store, and takes over the identifiers that it assigns.
  func write(_ request: NSSaveChangesRequest, of core: ContextCore) throws {
    let inserted = ordered(request.insertedObjects ?? [])
    let deleted = ordered(request.deletedObjects ?? [])
    // Rows whose relationships have changed as the inverses of others are among them.
    let updated = ordered(request.updatedObjects ?? [])
    let changes = StoreChanges(
      inserted: inserted.map { core.model(of: $0) }, updated: updated.map { core.model(of: $0) },
      deleted: deleted.map { core.model(of: $0) }, state: state(of: core))
    // What cannot be read must not be written.
    var written: [(NSManagedObjectID, RowContent)] = []
    let outcome = try store.write(changes) { written.append(try SnapshotReading(self).content(of: $0)) }
    try check(outcome, inserted)
    for (row, model) in zip(inserted, changes.inserted) {
      if let permanent = outcome.remapped[model.persistentModelID] { connect(row.objectID, permanent) }
    }
    for (id, content) in written { keep(content, of: id) }
    for row in deleted { forget(row.objectID) }
    for snapshot in outcome.reregistered {
      guard let id = objectID(for: snapshot.persistentIdentifier) else { continue }
      // The changes are saved. Reading the row again reports what is wrong with the snapshot.
      if (try? keep(snapshot)) == nil { forget(id) }
      core.reregistered.append(id)
    }
    core.historyTokens += outcome.token.map { [$0] } ?? []
  }

  /// Returns the rows in the order of their identifiers, which is that of their insertion for numbers.
  private func ordered(_ rows: Set<NSManagedObject>) -> [ModelRow] {
    rows.compactMap { $0 as? ModelRow }.map { (PersistentIdentifier($0.objectID), $0) }.sorted { $0.0 < $1.0 }
      .map(\.1)
  }

  /// Checks that the store has given each inserted row an identifier of its own.
  private func check(_ outcome: StoreOutcome, _ inserted: [ModelRow]) throws {
    guard outcome.storeIdentifier == storeIdentifier else {
      throw problem(
        "The result of a save has the store identifier '\(outcome.storeIdentifier)', but the store's is "
          + "'\(storeIdentifier)'.")
    }
    var seen: Set<PersistentIdentifier> = []
    for row in inserted {
      let temporary = PersistentIdentifier(row.objectID)
      guard let permanent = outcome.remapped[temporary] else {
        throw problem("The result of a save has no permanent identifier for the inserted \(temporary.words).")
      }
      guard !permanent.isTemporary, permanent.storeIdentifier == storeIdentifier,
        permanent.entityName == temporary.entityName
      else {
        throw problem(
          "The result of a save has the identifier \(permanent.words) for an inserted '\(temporary.entityName)' of the "
            + "store '\(storeIdentifier)'. Make it with PersistentIdentifier.identifier(for:entityName:primaryKey:).")
      }
      if !seen.insert(permanent).inserted || hasContent(of: permanent) {
        throw problem("The result of a save has the identifier \(permanent.words) for more than one model.")
      }
    }
  }
}

/// The changes that a store receives.
struct StoreChanges {
  var inserted: [any PersistentModel]
  var updated: [any PersistentModel]
  var deleted: [any PersistentModel]
  var state: EditingState
}

/// What a store of any type has saved.
struct StoreOutcome {
  var storeIdentifier: String
  var remapped: [PersistentIdentifier: PersistentIdentifier]
  var reregistered: [any DataStoreSnapshot]
  var token: (any HistoryToken)?
}

extension DataStore {
  /// Saves changes.
  ///
  /// - Parameter check: called with the snapshots of inserted and updated models before they are saved.
  fileprivate func write(
    _ changes: StoreChanges, _ check: (any DataStoreSnapshot) throws -> Void
  ) throws -> StoreOutcome {
    var related: [PersistentIdentifier: any BackingData] = [:]
    for model in changes.inserted + changes.updated + changes.deleted {
      related[model.persistentModelID] = Self.backingData(of: model)
    }
    func snapshots(_ models: [any PersistentModel]) throws -> [Snapshot] {
      try models.map { model in
        let snapshot = Snapshot(from: Self.backingData(of: model), relatedBackingDatas: &related)
        if let problem = (snapshot as? DefaultSnapshot)?.problem { throw Self.error(problem) }
        return snapshot
      }
    }
    let inserted = try snapshots(changes.inserted)
    let updated = try snapshots(changes.updated)
    let deleted = try snapshots(changes.deleted)
    for snapshot in inserted + updated { try check(snapshot) }
    let result = try save(
      DataStoreSaveChangesRequest(
        inserted: inserted, updated: updated, deleted: deleted, editingState: changes.state))
    return StoreOutcome(
      storeIdentifier: result.storeIdentifier, remapped: result.remappedIdentifiers,
      reregistered: Array(result.snapshotsToReregister.values), token: result.historyToken)
  }

  private static func backingData<Model: PersistentModel>(of model: Model) -> any BackingData {
    model.persistentBackingData
  }

  private static func error(_ problem: SnapshotProblem) -> NSError {
    .cocoa(
      NSPersistentStoreOperationError, "The changes cannot be passed to the data store \(Self.self).",
      reason: problem.description, suggestion: "Set the value, or correct the declaration of the property.")
  }
}
