// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

extension NSManagedObjectContext {
  /// Executes a batch request or a history request directly in the stores. The objects of the context do not change. An
  /// `NSAsynchronousFetchRequest` is started, and its completion block is called when it ends.
  ///
  /// - Parameter request: an `NSAsynchronousFetchRequest`, `NSBatchInsertRequest`, `NSBatchUpdateRequest`,
  ///   `NSBatchDeleteRequest` or `NSPersistentHistoryChangeRequest`.
  /// - Returns: the result, of the class that corresponds to the request.
  /// - Throws: 134091 for a request that only other methods execute; the errors of the request. On an error, nothing
  ///   has been written.
  @discardableResult
  public func execute(_ request: NSPersistentStoreRequest) throws -> NSPersistentStoreResult {
    switch request {
    case let request as any AsynchronousFetching: try request.start(in: self)
    case let request as NSBatchInsertRequest: try tracing(.batchInsert) { try coordinator.execute(request, for: self) }
    case let request as NSBatchUpdateRequest: try tracing(.batchUpdate) { try coordinator.execute(request, for: self) }
    case let request as NSBatchDeleteRequest: try tracing(.batchDelete) { try coordinator.execute(request, for: self) }
    case let request as NSPersistentHistoryChangeRequest: try tracing(.history) { try coordinator.execute(request) }
    default: throw ObjectGraphErrors.unsupported(request, by: "execute(_:) of a context")
    }
  }

  /// The context whose block the current thread is running.
  @TaskLocal private static var current: NSManagedObjectContext?

  /// Runs a block of `perform` or `performAndWait` with this context as the current one.
  func running<T>(_ block: () throws -> T) rethrows -> T {
    try NSManagedObjectContext.$current.withValue(self, operation: block)
  }

  fileprivate static var running: NSManagedObjectContext? { current }
}

extension NSFetchRequest {
  /// Executes the request in the context whose `perform` or `performAndWait` block is running.
  ///
  /// - Returns: as `NSManagedObjectContext.fetch(_:)`.
  /// - Throws: 134060 outside such a block; as `NSManagedObjectContext.fetch(_:)`.
  public func execute() throws -> [ResultType] {
    guard let context = NSManagedObjectContext.running else {
      throw ObjectGraphErrors.badRequest(
        "execute() was called outside of a block of perform(_:) or performAndWait(_:), so there is no context to fetch in.",
        entity: entity, suggestion: "Call it in such a block, or use NSManagedObjectContext.fetch(_:).")
    }
    return try context.fetch(self)
  }
}

extension NSPersistentStoreCoordinator {
  /// Executes a request in the stores.
  ///
  /// - Parameters:
  ///   - request: the request.
  ///   - context: the context of objects in the result. Its merge policy, name and author apply.
  /// - Returns: an array for a fetch request, an empty one for a save, and an `NSPersistentStoreResult` for others.
  /// - Throws: 134091 for a request of another class; the errors of the request. On an error, nothing has been written.
  @discardableResult
  public func execute(_ request: NSPersistentStoreRequest, with context: NSManagedObjectContext) throws -> Any {
    guard context.persistentStoreCoordinator === self else {
      throw ObjectGraphErrors.badRequest(
        "The context belongs to another coordinator.", entity: nil,
        suggestion: "Use a context of the coordinator that executes the request.")
    }
    switch request {
    case let request as any AnyFetchRequest:
      let specification = request.specification
      return try context.results(of: specification, affectedStores: specification.affectedStores)
    case let request as NSSaveChangesRequest:
      do {
        try context.executeSave(request)
      } catch {
        let objects = request.objects
        throw context.cause(ofFailedSave: error, context.changedInOrder.filter(objects.contains))
      }
      return [Any]()
    default: return try context.execute(request)
    }
  }
}

extension NSSaveChangesRequest {
  /// The objects to write.
  fileprivate var objects: Set<NSManagedObject> {
    (insertedObjects ?? []).union(updatedObjects ?? []).union(deletedObjects ?? [])
  }
}

extension NSManagedObjectContext {
  /// Writes the objects of a request, without calling their methods and without notifications.
  fileprivate func executeSave(_ request: NSSaveChangesRequest) throws {
    let inserted = request.insertedObjects ?? []
    let updated = (request.updatedObjects ?? []).subtracting(inserted)
    let deleted = request.deletedObjects ?? []
    let wanted = inserted.union(updated).union(deleted)
    if let stranger = wanted.union(request.lockedObjects ?? []).first(where: { $0.managedObjectContext !== self }) {
      throw ObjectGraphErrors.badRequest(
        "The object \(stranger.objectID.uriRepresentation().absoluteString) does not belong to the context.",
        entity: stranger.entity, suggestion: "Save objects with their own context.")
    }
    try settleUnconfirmedSave()
    for object in request.lockedObjects ?? [] { try checkVersion(of: object) }
    let objects = changedInOrder.filter { wanted.contains($0) }
    try adoptPermanentIDs(for: objects.filter { $0.isInserted && !$0.isDeleted && $0.hasTemporaryID })
    let changes = objects.compactMap { $0.rowChange() }
    let check = ConflictCheck(self)
    try tracing(.save) { try coordinator.saveChanges(changes, for: self, after: check) }
    check.finish()
    let written = Set(changes.map(\.id.key))
    for object in objects {
      let isGone = object.isDeleted
      forgetChanges(of: object)
      if isGone {
        registry.remove(object)
      } else if object.isRealized {
        let version = object.snapshot?.version ?? 0
        object.snapshot = RowSnapshot(
          id: object.identifier,
          version: written.contains(object.identifier.key) ? RowVersion.next(after: version) : version,
          slots: object.slots)
      }
    }
  }

  private func checkVersion(of object: NSManagedObject) throws {
    guard let snapshot = object.snapshot else { return }
    let stored = try coordinator.row(for: object.identifier, in: self)
    guard stored?.version != snapshot.version else { return }
    let conflict = RowConflicts.Conflict(id: object.identifier, expectedVersion: snapshot.version, stored: stored)
    throw ObjectGraphErrors.mergeConflict([NSMergeConflict(conflict, of: object)])
  }
}
