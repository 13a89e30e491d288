// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Errors of migration managers: the two stores, and what policies do.
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
    url: URL?, source: URL? = nil, reason: String, underlying: (any Error)? = nil
  ) -> NSError {
    NSError.cocoa(
      NSMigrationManagerDestinationStoreError, "Persistent store migration failed, trouble with the destination store.",
      reason: reason, suggestion: "Check that the folder of the destination store can be written and has room.",
      underlying: underlying, stores(source, url))
  }

  /// 134170: a policy has failed, or cannot be used.
  ///
  /// - Parameters:
  ///   - policy: the name of the policy's class.
  ///   - mapping: the name of the entity mapping.
  ///   - entity: the destination entity, or the source entity where there is none.
  ///   - property: the property whose value was asked for, if any.
  ///   - suggestion: nil for advice about policies in general.
  static func policy(
    _ policy: String, mapping: String, entity: String?, property: String? = nil, reason: String,
    suggestion: String? = nil, source: URL? = nil, destination: URL? = nil, underlying: (any Error)? = nil
  ) -> NSError {
    let place =
      (entity.map { " for entity '\($0)'" } ?? "") + (property.map { ", property '\($0)'" } ?? "")
    return NSError.cocoa(
      NSEntityMigrationPolicyError, "Persistent store migration failed in a migration policy.",
      reason: "The policy '\(policy)' of the entity mapping '\(mapping)'\(place): \(reason)",
      suggestion: suggestion ?? "See what the policy has said, mend it or the data it met, and migrate again.",
      underlying: underlying,
      stores(source, destination).merging(ErrorDetail.place(entity: entity, property: property)) { $1 })
  }

  private static func stores(_ source: URL?, _ destination: URL?) -> [String: Any] {
    var info: [String: Any] = [:]
    info[ErrorDetail.sourceURL] = source
    info[ErrorDetail.destinationURL] = destination
    return info
  }
}
