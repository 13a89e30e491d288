// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataStoreFiles
import Foundation

/// A store that can record persistent history.
///
/// The coordinator's lock is held during all calls.
package protocol HistoryStore: RowStore {
  /// The author and context to record for the next changes.
  var origin: HistoryOrigin { get set }
  /// Whether changes are recorded.
  var recordsHistory: Bool { get }
  /// Whether there is history to read, even if changes are not being recorded.
  var hasHistory: Bool { get }

  /// Returns the number of the last transaction; nil for a store without history.
  func lastTransaction() throws -> Int64?

  /// Calls a closure with the transactions of a range and, if wanted, their changes.
  ///
  /// - Throws: 134301 if transactions of the range have been deleted.
  func readHistory(
    _ range: HistoryReader.Range, withChanges: Bool,
    _ body: (HistoryTransaction, [ObjectHistoryChange]) throws -> Void
  ) throws

  /// Calls a closure with the last transactions before a number, the latest first: with the number of changes of each, and
  /// with the first changes.
  ///
  /// - Parameters:
  ///   - count: the maximum number of transactions.
  ///   - changeLimit: the maximum number of changes for each.
  func readHistory(
    before number: Int64, count: Int, changeLimit: Int,
    _ body: (HistoryTransaction, Int, [ObjectHistoryChange]) throws -> Void
  ) throws

  /// Deletes the transactions before a position.
  ///
  /// - Returns: the number of deleted transactions.
  func deleteHistory(before limit: HistoryLimit) throws -> Int
}

/// A change in a store's history, resolved to the object and the properties of the model.
package struct ObjectHistoryChange {
  package let stored: HistoryChange
  package let id: NSManagedObjectID
  /// The properties that an update has changed; nil for other changes.
  package let properties: Set<NSPropertyDescription>?
  /// The preserved values of a deleted object; nil if there are none.
  package let tombstone: [AnyHashable: Any]?
}

/// A store whose history can be copied to another store in which objects have the same numbers.
package protocol HistoryCopying: HistoryStore {
  /// Calls a closure with all stored transactions and their changes, and with the number of the last transaction, even
  /// if that has been deleted.
  ///
  /// - Parameter body: also receives the name of each change's entity. Changes of entities that the store no longer has
  ///   are left out.
  func readStoredHistory(
    _ body: (HistoryTransaction, [(change: HistoryChange, entity: String)]) throws -> Void
  ) throws -> Int64

  /// Adds a transaction of another store, with its original numbers and time. Transactions must come in the order of
  /// their numbers.
  func insertHistory(_ transaction: HistoryTransaction, _ changes: [(change: HistoryChange, entity: String)]) throws

  /// Makes new transactions get numbers greater than the given one.
  func continueHistory(after number: Int64) throws
}

/// The position up to which history is deleted.
package enum HistoryLimit {
  case number(Int64)
  /// A time, in seconds since the reference date.
  case time(Double)
}

extension HistoryOrigin {
  /// Creates the origin of changes made by this program.
  package init(ofProgramWithContextName contextName: String?, author: String? = nil) {
    let process = ProcessInfo.processInfo.processName
    self.init(
      author: author, contextName: contextName, bundle: Bundle.main.bundleIdentifier ?? process, process: process)
  }
}
