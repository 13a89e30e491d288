// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataStoreFiles
import Foundation

/// Recovers stores after interrupted work, and sets aside stores that do not match their model. An addition to Apple's
/// API.
///
/// Migrating to a new store, replacing a store, and setting one aside use a directory beside the store,
/// `.Data.sqlite-migration` for `Data.sqlite`, with a journal in it. The new store replaces the old one with an atomic
/// rename, so that one of them is complete at any time. A process that ends partway through leaves the directory
/// behind, and opening the store removes it. So these functions are for tools that inspect or recover a store
/// themselves.
public enum StoreRecovery {
  /// Work that has been started and not finished.
  public struct UnfinishedWork: Hashable, Sendable {
    /// The purpose of the work.
    public enum Purpose: String, Sendable {
      /// Migrating the store by way of a new one.
      case migration
      /// Replacing the store with another.
      case replacement
      /// Setting the store aside, and replacing it with an empty one.
      case settingAside
      /// Restoring a store that was set aside.
      case restoring
      /// Destroying the store.
      case destruction
      /// Writing rows. The writer was killed before the end of its transaction, which SQLite rolls back when the store
      /// is next opened.
      case transaction
    }

    /// The purpose of the work; nil if the process ended before it was recorded.
    public let purpose: Purpose?
    /// The time at which the work began.
    public let started: Date?
    /// The identifier of the process that does, or did, the work.
    public let process: Int?
    /// The name of the version that the store had, if it is being migrated.
    public let source: String?
    /// The name of the version that the store is migrated to.
    public let destination: String?
    /// Whether the process is still at work. Other processes must then leave the store alone.
    public let isRunning: Bool
    /// Whether the new store is already in place, so that only leftovers remain to be removed.
    public let isCommitted: Bool
  }

  /// The result of `recover(storeAt:)`.
  public enum Outcome: String, Hashable, Sendable {
    /// The new store was already in place, and the remaining work has been finished.
    case finished
    /// The old store was still in place, and everything created beside it has been removed.
    case undone
    /// A writer was killed in a transaction, which has been rolled back with its journal. The store is in its state
    /// before that transaction.
    case rolledBack

    init(_ outcome: InterruptedWork.Outcome) {
      switch outcome {
      case .finished: self = .finished
      case .undone: self = .undone
      case .rolledBack: self = .rolledBack
      }
    }
  }
}
