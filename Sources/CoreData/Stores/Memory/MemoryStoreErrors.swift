// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Errors of stores that are kept in memory.
package enum MemoryStoreErrors {
  /// 133021: duplicate values under a uniqueness constraint.
  package static func notUnique(entity: String, properties: [String], ids: [NSManagedObjectID], url: URL?) -> NSError {
    var details: [String: Any] = ErrorDetail.userInfo(entity: entity, property: properties.first ?? "")
    details[ErrorDetail.url] = url
    return .cocoa(
      NSManagedObjectConstraintMergeError, "A uniqueness constraint is violated.",
      reason: "\(ids.count) objects of '\(entity)' have the same \(properties.joined(separator: ", ")): "
        + ids.map { $0.uriRepresentation().absoluteString }.joined(separator: ", ") + ".",
      suggestion: "Change the values, or delete one of the objects.", details)
  }
}
