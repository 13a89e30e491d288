// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataFileSystem
import CoreDataSQLite
import Foundation

/// Recognizes errors of a full disk.
package enum FullDisk {
  /// Whether an operation failed because the disk, or the user's share of it, is full.
  package static func isCause(of error: any Error) -> Bool {
    switch error {
    case let error as SQLiteError: return error.isFull
    case let failure as FileFailure: return [ENOSPC, EDQUOT].contains(failure.number)
    case let failure as SQLiteRollbackFailure: return isCause(of: failure.cause)
    default:
      // A type of its own can be bridged to any domain.
      let error = error as NSError
      return error.domain == NSCocoaErrorDomain && error.code == CocoaError.Code.fileWriteOutOfSpace.rawValue
        || error.domain == NSPOSIXErrorDomain && [ENOSPC, EDQUOT].contains(Int32(truncatingIfNeeded: error.code))
    }
  }
}

/// An error of a body that cannot run a second time.
package struct CannotRepeat: Error {
  package init() {}
}

extension StoreFile {
  /// How long `makeRoom()` waits for readers and writers, in seconds.
  private static let patience: TimeInterval = 0.25

  /// Gives the space of the write-ahead log back to the disk, as far as other connections allow it. No transaction may be open.
  package func makeRoom() {
    // If neither is possible, the log stays as it was, and the caller's own error says that the disk is full.
    try? connection.trimLog(waiting: Self.patience)
    _ = try? connection.checkpoint(.truncate, waiting: Self.patience)
  }

  /// Runs a transaction, and if it does not fit on the disk, makes room and runs it once more.
  ///
  /// Inside another transaction the body runs once: the caller that began that transaction repeats all of it.
  ///
  /// - Parameters:
  ///   - prepare: called before room is made, to end what keeps the log from being shortened.
  ///   - body: begins and ends the transaction; throws `CannotRepeat` the second time if it cannot run again.
  /// - Throws: The errors of the body. The space that a failed transaction took has been given back.
  package func repeatingIfFull<Result>(prepare: () -> Void = {}, _ body: () throws -> Result) throws -> Result {
    guard !connection.inTransaction else { return try body() }
    do {
      return try body()
    } catch  where FullDisk.isCause(of: error) {
      let first = error
      guard !connection.inTransaction else { throw first }
      prepare()
      makeRoom()
      do {
        return try body()
      } catch is CannotRepeat {
        throw first
      } catch {
        if FullDisk.isCause(of: error), !connection.inTransaction { makeRoom() }
        throw error
      }
    }
  }
}
