// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Errors of copies.
package enum CopyErrors {
  /// 134080: a store that contains only a part of another store's rows.
  package static func unfinished(url: URL?, _ progress: CopyProgress?) -> NSError {
    StoreErrors.cannotOpen(
      url: url,
      reason: "The copy of another store into this one was interrupted"
        + (progress.map { " after \($0.digest.count) objects; the UUID of the source is \($0.source)" } ?? "")
        + ". To continue it, copy the same store again. To start over, destroy this store first.")
  }

  /// 134070: a store with an unfinished copy that also has rows of others, which must not be removed unasked.
  package static func hasOtherRows(url: URL?, _ rows: [(entity: String, count: Int)]) -> NSError {
    let words = rows.map { "\($0.count) of '\($0.entity)'" }.joined(separator: ", ")
    let error = StoreErrors.operationFailed(
      url: url,
      reason: "Besides an unfinished copy, the store has rows that were not copied: \(words). Nothing was removed.")
    let counts = Dictionary(uniqueKeysWithValues: rows.map { ($0.entity, $0.count) })
    return NSError(
      domain: error.domain, code: error.code, userInfo: error.userInfo.merging([otherRowsKey: counts]) { $1 })
  }

  /// The user info key of the numbers of rows that were not copied, by entity.
  package static let otherRowsKey = "rowsNotCopied"

  /// 134070: a store that others have created at the location of a copy.
  package static func createdByOthers(url: URL?) -> NSError {
    StoreErrors.operationFailed(
      url: url,
      reason: "Another program has created a store at the new location meanwhile; it was not changed.")
  }

  /// 134030: a server has not answered the commit of a part of a copy.
  package static func unconfirmed(_ cause: any Error) -> NSError {
    let reason = (cause as NSError).localizedFailureReason ?? "\(cause)"
    return .cocoa(
      NSPersistentStoreSaveError, "It is not known whether the last part of the copy was written.", reason: reason,
      suggestion: "Copy the same store again: the copy continues, or is complete.", underlying: cause)
  }

  /// 134070: a copy that cannot be continued.
  package static func cannotContinue(url: URL?, reason: String) -> NSError {
    StoreErrors.operationFailed(
      url: url,
      reason: "The store has only part of the rows of another one, because a copy was interrupted. \(reason) "
        + "Destroy the store to start over.")
  }

  /// 134070: the destination differs from what was copied.
  package static func differs(url: URL?, _ difference: StoreDigest.Difference) -> NSError {
    let (expected, found) = (difference.expected, difference.found)
    let counts =
      expected == found
      ? "\(found) objects, like the source, but with other values" : "\(found) objects, and the source \(expected)"
    return StoreErrors.operationFailed(
      url: url, reason: "The copy differs from its source: of the entity '\(difference.entity)' it has \(counts).")
  }
}
