// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataFileSystem
import CoreDataStoreFiles
import Foundation

/// Errors of work on stores as a whole: migration by copying, replacement, setting aside, recovery.
internal enum RecoveryErrors {
  /// Runs a body, and translates errors of `CoreDataStoreFiles` to `NSError`.
  static func translating<Result>(url: URL, _ body: () throws -> Result) throws -> Result {
    do {
      return try body()
    } catch let failure as MigrationByCopy.AppFailure {
      throw failure.error
    } catch let failure as FileFailure {
      throw FileErrors.error(failure, store: url)
    } catch let problem as RegularFile.Problem {
      throw FileErrors.error(problem, store: url)
    } catch let error as CocoaError where error.localizedFailureReasonIsMissing {
      throw FileErrors.error(error, store: url)
    } catch let held as MigrationLock.Held {
      throw inProgress(held.journal, url: url)
    } catch let intrusion as StoreWriteLock.Intrusion {
      throw error(for: intrusion, url: url)
    } catch let problem as StoreVerification.Problem {
      throw MigrationErrors.destinationStore(
        url: url,
        reason: "The new store is not whole, and has not taken the place of the old one. \(problem.reason)",
        suggestion: "The store is as it was. Migrate it again; if that fails too, report it as a defect.")
    } catch let journal as WorkJournal.Unreadable {
      throw unreadable(journal, url: url)
    } catch let note as SetAsideNote.Unreadable {
      throw NSError.cocoa(
        NSPersistentStoreOperationError, "The note about a store that was set aside cannot be read.",
        reason: "The note at \(note.path) cannot be read: \(note.reason)",
        suggestion: "Move the note away; the store beside it is left as it is.",
        [ErrorDetail.url: url, NSFilePathErrorKey: note.path])
    } catch let refusal as WorkDirectory.Refusal {
      throw refused(refusal, url: url)
    } catch let refusal as StoreReplacement.Refusal {
      throw refused(refusal, url: url)
    }
  }

  private static func refused(_ refusal: StoreReplacement.Refusal, url: URL) -> NSError {
    switch refusal {
    case .linkToOtherFile:
      StoreErrors.notAStore(
        url: url, reason: "'\(url.path)' is a symbolic link to a file that is no store; nothing was changed.")
    case .readOnly: StoreErrors.readOnly(url: url)
    case .ownDirectory(let path):
      StoreErrors.operationFailed(
        url: url, reason: "'\(path)' is in a directory that belongs to the store itself, which is no place for backups."
      )
    case .sameStore(let backup):
      StoreErrors.operationFailed(
        url: url, reason: "The backup '\(backup)' is the store itself; nothing was restored.")
    }
  }

  /// 134070: a work directory that this framework cannot have made.
  private static func refused(_ refusal: WorkDirectory.Refusal, url: URL) -> NSError {
    .cocoa(
      NSPersistentStoreOperationError, "The work directory beside the persistent store is not used.",
      reason: "'\(refusal.path)' cannot have been made by this framework. \(refusal.reason)",
      suggestion: "Find out where it comes from, move it away, and try again. Nothing was changed.",
      [ErrorDetail.url: url, NSFilePathErrorKey: refusal.path])
  }

  /// 134110: another process is at work.
  private static func inProgress(_ journal: WorkJournal?, url: URL) -> NSError {
    let work =
      journal.map { "Process \($0.process) has been doing so since \($0.started.formatted(.iso8601))." } ?? ""
    return MigrationErrors.failed(
      url: url, reason: "The store at \(url.path) is being migrated or replaced by another process. \(work)",
      suggestion: "Wait until it is done, and open the store again.")
  }

  private static func error(for intrusion: StoreWriteLock.Intrusion, url: URL) -> NSError {
    switch intrusion {
    case .inUse:
      .cocoa(
        NSPersistentStoreTimeoutError, "The persistent store is in use.",
        reason: "Somebody has the store at \(url.path) open, so that no other can take its place.",
        suggestion: "Close other programs that use the store, remove it from other coordinators, and try again.",
        [ErrorDetail.url: url, NSFilePathErrorKey: url.path])
    case .changed:
      MigrationErrors.failed(
        url: url, reason: "The store at \(url.path) was written by somebody else while it was migrated.",
        suggestion: "The store is as it was left by them. Migrate it again.")
    case .moved:
      MigrationErrors.failed(
        url: url, reason: "The file at \(url.path) was replaced or moved away while it was migrated.",
        suggestion: "Look at what is there now, and migrate it again.")
    }
  }

  /// 134070: unfinished work with an unreadable journal.
  private static func unreadable(_ journal: WorkJournal.Unreadable, url: URL) -> NSError {
    .cocoa(
      NSPersistentStoreOperationError, "Unfinished work on the persistent store can be neither finished nor undone.",
      reason: "The journal at \(journal.path) tells of it. \(journal.reason)",
      suggestion: "Update the framework, or move the journal's directory away: the store is whole with and without it.",
      [ErrorDetail.url: url, NSFilePathErrorKey: journal.path])
  }
}
