// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

/// A transaction whose commit was sent to a server that has not answered.
package protocol UnconfirmedCommit: AnyObject, Sendable {
  /// Asks the server whether the transaction was committed.
  ///
  /// - Throws: 134030 if the server cannot be asked, or cannot tell.
  func isCommitted() throws -> Bool
}

/// What is known of a store's part in a failed save or batch request.
enum InterruptedCommit {
  /// The store has committed its part. Another store, or a later step, has failed.
  case committed
  case unconfirmed(any UnconfirmedCommit)

  /// Returns whether the part was committed. Asks the server if necessary.
  ///
  /// - Throws: 134030 if the server cannot be asked, or cannot tell.
  func isCommitted() throws -> Bool {
    switch self {
    case .committed: true
    case .unconfirmed(let commit): try commit.isCommitted()
    }
  }
}

/// The error of a save or batch request that some of its stores have committed, or may have committed.
struct InterruptedWrite: Error {
  /// The error to throw to the program.
  let cause: any Error
  /// The stores that have committed their part, or may have, by number.
  let commits: [UInt32: InterruptedCommit]

  /// Returns the error of a failed write, as an `InterruptedWrite` if a store may have committed its part.
  ///
  /// - Parameter committed: the numbers of the stores that have committed.
  static func error(_ cause: any Error, stores: [any RowStore], committed: Set<UInt32>) -> any Error {
    var commits: [UInt32: InterruptedCommit] = [:]
    for store in stores {
      if let commit = store.takeUnconfirmedCommit() {
        commits[store.number] = .unconfirmed(commit)
      } else if committed.contains(store.number) {
        commits[store.number] = .committed
      }
    }
    return commits.isEmpty ? cause : InterruptedWrite(cause: cause, commits: commits)
  }
}
