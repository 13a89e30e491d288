// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataFileSystem
import CoreDataMigration
import CoreDataStoreFiles
import Foundation

// Errors of operations on whole stores: migration, replacement, setting aside, recovery.

extension InPlaceProblem: TranslatableError {
  package func translated(in context: ErrorContext) -> any Error {
    switch kind {
    case .unsupported:
      MigrationErrors.failed(
        url: context.url, reason: reason, suggestion: suggestion, entity: entity, attribute: property)
    case .outdatedPlan: MigrationErrors.outdatedPlan(url: context.url, reason: reason, suggestion: suggestion)
    case .missingValues:
      MigrationErrors.missingMandatoryValues(
        url: context.url, entity: entity ?? "", attribute: property ?? "", rows: reason)
    case .notUnique(let properties):
      MigrationErrors.constraintViolation(
        url: context.url, entity: entity ?? "", properties: properties, values: reason)
    }
  }
}

/// An error of a migration manager, possibly thrown by a policy, which is rethrown unchanged.
struct AppFailure: TranslatableError {
  let error: any Error

  func translated(in context: ErrorContext) -> any Error { error }
}

extension MigrationLock.Held: TranslatableError {
  /// 134110: another process is at work.
  package func translated(in context: ErrorContext) -> any Error {
    let work = journal.map { "Process \($0.process) began at \($0.started.formatted(.iso8601))." } ?? ""
    return MigrationErrors.failed(
      url: context.url,
      reason: "The store at \(context.path) is being migrated or replaced by another process. \(work)",
      suggestion: "Wait until it has finished, and open the store again.", underlying: MigrationErrors.Interference())
  }
}

extension StageLock.Held: TranslatableError {
  /// 134090.
  package func translated(in context: ErrorContext) -> any Error {
    let work = stage.map { "the stage '\($0)'" } ?? "stages"
    return NSError.cocoa(
      NSPersistentStoreTimeoutError, "The persistent store is in use.",
      reason: "Another process, or another coordinator of this one, runs \(work) of a migration of the store at "
        + "\(context.path).",
      suggestion: "Open the store again later, or set a longer NSPersistentStoreTimeoutOption.", underlying: self,
      context.details)
  }
}

extension NSError {
  /// Whether another process, or another coordinator, runs a stage of the store.
  var isHeldByStage: Bool { userInfo[NSUnderlyingErrorKey] is StageLock.Held }
}

extension StoreWriteLock.Intrusion: TranslatableError {
  /// 134110 for a migration, which can be repeated with what another program has written. 134090 for a replacement: the
  /// other program uses a store that is about to be removed.
  package func translated(in context: ErrorContext) -> any Error {
    switch context.work == .replacement ? .inUse : self {
    case .inUse:
      NSError.cocoa(
        NSPersistentStoreTimeoutError, "The persistent store is in use.",
        reason: "The store at \(context.path) is open elsewhere, so it cannot be replaced.",
        suggestion: "Close other programs that use the store, remove it from other coordinators, and try again.",
        context.details)
    case .changed:
      MigrationErrors.failed(
        url: context.url, reason: "Another program wrote to the store at \(context.path) while it was being migrated.",
        suggestion: "The store has the other program's changes and was not migrated. Migrate it again.",
        underlying: MigrationErrors.Interference())
    case .moved:
      MigrationErrors.failed(
        url: context.url, reason: "The file at \(context.path) was replaced or moved while it was being migrated.",
        suggestion: "Check which file is there now, and migrate it again.", underlying: MigrationErrors.Interference())
    }
  }
}

extension StoreVerification.Problem: TranslatableError {
  package func translated(in context: ErrorContext) -> any Error {
    MigrationErrors.destinationStore(
      url: context.url, reason: "The new store is incomplete, so the old one was not replaced. \(reason)",
      suggestion: "The store was not changed. Migrate it again; if that fails too, report it as a defect.")
  }
}

extension WorkJournal.Unreadable: TranslatableError {
  /// 134070: unfinished work with an unreadable journal.
  package func translated(in context: ErrorContext) -> any Error {
    context.unusable(
      path, "Unfinished work on the persistent store can be neither finished nor undone.",
      reason: "The journal of this work, \(path), cannot be read. \(reason)",
      suggestion: "Update the framework, or move the journal's directory away: the store is complete without it.")
  }
}

extension SetAsideNote.Unreadable: TranslatableError {
  package func translated(in context: ErrorContext) -> any Error {
    context.unusable(
      path, "The note about a store that was set aside cannot be read.",
      reason: "The note at \(path) cannot be read: \(reason)",
      suggestion: "Move the note away. The store beside it is not affected.")
  }
}

extension WorkDirectory.Refusal: TranslatableError {
  /// 134070: a work directory that this framework cannot have created.
  package func translated(in context: ErrorContext) -> any Error {
    context.unusable(
      path, "The work directory beside the persistent store is not used.",
      reason: "'\(path)' cannot have been made by this framework. \(reason)",
      suggestion: "Find out what made it, move it away, and try again. Nothing was changed.")
  }
}

extension StoreReplacement.Refusal: TranslatableError {
  package func translated(in context: ErrorContext) -> any Error {
    switch self {
    case .linkToOtherFile:
      StoreErrors.notAStore(
        url: context.url(orPath: context.path),
        reason: "'\(context.path)' is a symbolic link to a file that is not a store. Nothing was changed.")
    case .readOnly: StoreErrors.readOnly(url: context.url)
    case .ownDirectory(let path):
      StoreErrors.operationFailed(
        url: context.url,
        reason: "'\(path)' is in a directory that belongs to the store itself, where backups cannot be kept.")
    case .sameStore(let backup):
      StoreErrors.operationFailed(
        url: context.url, reason: "The backup '\(backup)' is the store itself; nothing was restored.")
    }
  }
}

extension ErrorContext {
  /// The path of the store. All operations on whole stores know its location.
  fileprivate var path: String { url?.path ?? "" }

  /// 134070: a file or directory beside the store.
  fileprivate func unusable(_ file: String, _ description: String, reason: String, suggestion: String) -> NSError {
    .cocoa(
      NSPersistentStoreOperationError, description, reason: reason, suggestion: suggestion,
      details.merging([NSFilePathErrorKey: file]) { $1 })
  }
}
