// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Errors about persistent history.
package enum HistoryErrors {
  /// 134301
  package static func expired(url: URL?, number: Int64, last: Int64) -> NSError {
    let reason =
      number > last
      ? "The token's transaction is \(number), but the last one of the store is \(last): the store was replaced."
      : "History after the token's transaction, \(number), has been deleted."
    return .cocoa(
      NSPersistentHistoryTokenExpiredError, "The persistent history token has expired.", reason: reason,
      suggestion: "Fetch the objects again, and continue from currentPersistentHistoryToken(fromStores:).",
      url.map { [ErrorDetail.url: $0] } ?? [:])
  }

  /// 134091
  package static func notRecorded(url: URL?) -> NSError {
    .cocoa(
      NSPersistentStoreUnsupportedRequestTypeError, "The store has no persistent history.",
      reason: "The store \(url.map { "at \($0.path) " } ?? "")has never recorded its changes.",
      suggestion: "Open it with NSPersistentHistoryTrackingKey.", url.map { [ErrorDetail.url: $0] } ?? [:])
  }

  /// 134060
  package static func badRequest(_ reason: String, suggestion: String) -> NSError {
    .cocoa(
      NSCoreDataError, "The request for persistent history cannot be executed.", reason: reason,
      suggestion: suggestion)
  }
}
