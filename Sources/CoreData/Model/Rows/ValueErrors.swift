// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Errors of attribute values.
enum ValueErrors {
  /// 134060: a value that neither a transformer nor an archive can store.
  static func notArchivable(_ value: Any, _ attribute: NSAttributeDescription, reason: String) -> NSError {
    let entity = attribute.owningEntity?.name ?? ""
    return .cocoa(
      NSCoreDataError, "The value of a transformable attribute cannot be stored.",
      reason: "A \(type(of: value)) in '\(attribute.name)' of '\(entity)' cannot be archived: \(reason).",
      suggestion: "Give the attribute a value transformer that converts such values to Data.",
      ErrorDetail.userInfo(entity: entity, property: attribute.name))
  }
}
