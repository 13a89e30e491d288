// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataFileSystem
import CoreDataSQLite
import Foundation

/// Recognizes errors of a full disk.
package enum FullDisk {
  /// Whether an operation failed because the disk is full or the user's quota is used up.
  package static func isCause(of error: any Error) -> Bool {
    switch error {
    case let error as SQLiteError: return error.isFull
    case let failure as FileFailure: return [ENOSPC, EDQUOT].contains(failure.number)
    case let failure as SQLiteRollbackFailure: return isCause(of: failure.cause)
    default:
      // Any Swift error type can be bridged to any domain.
      let error = error as NSError
      return error.domain == NSCocoaErrorDomain && error.code == CocoaError.Code.fileWriteOutOfSpace.rawValue
        || error.domain == NSPOSIXErrorDomain && [ENOSPC, EDQUOT].contains(Int32(truncatingIfNeeded: error.code))
    }
  }
}

/// Thrown by a transaction body that cannot run a second time.
package struct CannotRepeat: Error {
  package init() {}
}

extension StoreFile {
  /// How long `makeRoom()` waits for readers and writers, in seconds.
  private static let patience: TimeInterval = 0.25

  /// Returns the space of the write-ahead log to the disk as far as other connections allow. No transaction may be
  /// open.
  package func makeRoom() {
    // If neither is possible the log stays as it was, and the caller's own error says that the disk is full.
    try? connection.trimLog(waiting: Self.patience)
    _ = try? connection.checkpoint(.truncate, waiting: Self.patience)
  }

  /// Runs a transaction; if the disk is full, frees space and runs it once more.
  ///
  /// Inside another transaction the body runs only once: the caller that began the outer transaction repeats all of it.
  ///
  /// - Parameters:
  ///   - prepare: called before space is freed, to end whatever keeps the log from being shortened.
  ///   - body: begins and ends the transaction; throws `CannotRepeat` the second time if it cannot run again.
  /// - Throws: the errors of the body. The space taken by a failed transaction has been returned.
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
