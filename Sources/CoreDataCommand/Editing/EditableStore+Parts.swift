// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import Foundation

/// Changes that are saved in parts, in one transaction, so that not all objects have to be in memory.
extension EditableStore {
  /// What the first part has begun.
  struct Parts {
    let stop: StopSignal
    let backup: URL?
    var isWriting = false
  }

  /// Whether changes can be saved in parts: the store is a file.
  var takesParts: Bool {
    if case .file = address { store is any RowStore } else { false }
  }

  /// Saves the changes of the context. Before the first part, the store is backed up, and a transaction begins. `save(_:)`
  /// commits it, and closing the store rolls it back.
  ///
  /// - Throws: the errors of broken rules as the context throws them; otherwise `CommandFailure`.
  func savePart(_ lines: RecordLines) throws {
    do {
      if parts == nil { try beginParts() }
      try parts?.stop.check()
      try context.save()
    } catch let error as NSError where error.isBrokenRule {
      throw error
    } catch {
      throw saveFailure(error, lines)
    }
  }

  private func beginParts() throws {
    // From here on, stopping the command must not leave a partial backup.
    let stop = StopSignal()
    do {
      var backup: URL?
      if !isDryRun, case .file(let url) = address { backup = try invocation.makeBackup(of: url) }
      parts = Parts(stop: stop, backup: backup)
    } catch {
      stop.end()
      throw error
    }
    guard let store = store as? any RowStore else { return }
    try coordinator.performAndWait { try store.beginWriting() }
    parts?.isWriting = true
  }

  /// Saves the last part, and commits.
  ///
  /// - Returns: the location of the backup; nil if there is none.
  /// - Throws: `CommandFailure`. The store is unchanged, and the backup removed.
  func finishParts(_ lines: RecordLines) throws -> URL? {
    guard let begun = parts else { return nil }
    do {
      try begun.stop.check()
      try context.save()
      if let store = store as? any RowStore { try coordinator.performAndWait { try store.commitWriting() } }
    } catch {
      let failure = saveFailure(error, lines)
      abandonParts()
      throw failure
    }
    parts = nil
    begun.stop.end()
    return begun.backup
  }

  /// Rolls all parts back, and removes the backup.
  func abandonParts() {
    guard let begun = parts else { return }
    parts = nil
    context.reset()
    if begun.isWriting, let store = store as? any RowStore {
      // SQLite rolls back what remains when the file is closed.
      try? coordinator.performAndWait { try store.rollBackWriting() }
    }
    if let backup = begun.backup { removeNeedless(backup) }
    begun.stop.end()
  }

  /// Returns an object that is known to be in the store.
  func object(entity: String, number: Int64) throws -> NSManagedObject {
    let id = coordinator.performAndWait {
      (store as? any RowStore)?.identifier(entityName: entity, reference: "p\(number)")
    }
    guard let id else { throw CommandFailure(.failed, "\(address.name) has no object \(entity)/p\(number).") }
    return context.object(with: id)
  }

  /// Calls a body with the objects of a request, of which only a few are in memory.
  func forEach(
    _ request: NSFetchRequest<NSManagedObjectID>, _ body: (NSManagedObject) throws -> Void
  ) throws {
    let reader = NSManagedObjectContext(concurrencyType: .privateQueueConcurrencyType)
    reader.persistentStoreCoordinator = coordinator
    try reader.performAndWait {
      let ids = try reader.fetch(request)
      for start in stride(from: 0, to: ids.count, by: 1000) {
        let part = NSFetchRequest<NSManagedObject>(entityName: request.entityName ?? "")
        part.predicate = try NSPredicate.checked(
          format: "SELF IN %@", argumentArray: [Array(ids[start..<min(start + 1000, ids.count)])])
        for object in try reader.fetch(part) { try body(object) }
        reader.reset()
      }
    }
  }
}

extension NSError {
  /// Whether the error says that a save would break rules of the model, or meet a conflict.
  var isBrokenRule: Bool {
    domain == NSCocoaErrorDomain
      && (1550..<1700 ~= code || [NSManagedObjectMergeError, NSManagedObjectConstraintMergeError].contains(code))
  }
}
