// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Errors of migration managers about the two stores.
extension MigrationErrors {
  /// 134150
  static func sourceStore(
    url: URL?, destination: URL? = nil, reason: String, underlying: (any Error)? = nil
  ) -> NSError {
    NSError.cocoa(
      NSMigrationManagerSourceStoreError, "Persistent store migration failed, trouble with the source store.",
      reason: reason, suggestion: "Check that the source store exists and can be read.", underlying: underlying,
      stores(url, destination))
  }

  /// 134160
  static func destinationStore(
    url: URL?, source: URL? = nil, reason: String, suggestion: String? = nil, underlying: (any Error)? = nil
  ) -> NSError {
    NSError.cocoa(
      NSMigrationManagerDestinationStoreError, "Persistent store migration failed, trouble with the destination store.",
      reason: reason,
      suggestion: suggestion ?? (underlying as NSError?)?.localizedRecoverySuggestion
        ?? "Check the path of the destination store, and that its directory exists and can be written.",
      underlying: underlying, stores(source, url))
  }

  private static func stores(_ source: URL?, _ destination: URL?) -> [String: Any] {
    var info: [String: Any] = [:]
    info[ErrorDetail.sourceURL] = source
    info[ErrorDetail.destinationURL] = destination
    return info
  }
}
