// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataStoreFiles
import Foundation

/// Recovers stores after interrupted work, and sets stores aside that do not fit their model. An addition to Apple's
/// interface.
///
/// Migrating to a new store, replacing a store and setting one aside are done in a directory beside the store,
/// `.Data.sqlite-migration` for `Data.sqlite`, with a journal in it. The new store replaces the old one by an atomic rename,
/// so that one of them is whole at any time. A process that ends partway through leaves the directory behind, and opening the
/// store removes it. So these functions are for tools that want to inspect or recover a store themselves.
public enum StoreRecovery {
  /// Work that has begun and has not been finished.
  public struct UnfinishedWork: Hashable, Sendable {
    /// The purpose of the work.
    public enum Purpose: String, Sendable {
      /// The store is migrated by way of a new one.
      case migration
      /// Another store takes its place.
      case replacement
      /// It is set aside, and an empty one takes its place.
      case settingAside
      /// A store that was set aside comes back.
      case restoring
      /// It is destroyed.
      case destruction
      /// Rows are written: the writer was killed before the end of its transaction, which SQLite rolls back when the
      /// store is opened next.
      case transaction
    }

    /// The purpose of the work; nil if the process ended before it was recorded.
    public let purpose: Purpose?
    /// When it began.
    public let started: Date?
    /// The identifier of the process that does, or did, the work.
    public let process: Int?
    /// The name of the version that the store had, where it is migrated.
    public let source: String?
    /// The name of the version that the store gets.
    public let destination: String?
    /// Whether the process is still at work. Other processes must leave the store alone then.
    public let isRunning: Bool
    /// Whether the new store is already in place, so that only leftovers have to be removed.
    public let isCommitted: Bool
  }

  /// What `recover(storeAt:)` has done.
  public enum Outcome: String, Hashable, Sendable {
    /// The new store was in place, and the remaining work has been finished.
    case finished
    /// The old store was in place, and everything made beside it has been removed.
    case undone
    /// A writer of rows was killed in a transaction, which has been rolled back by its journal. The store is as it was
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
