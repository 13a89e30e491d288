// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Errors of predicates, expressions and sort descriptors.
internal enum PredicateErrors {
  static func unreadable(_ kind: String, _ cause: any Error) -> NSError {
    .cocoa(
      NSCoreDataError, "The \(kind) cannot be read.", reason: "\(cause)",
      suggestion: "Correct the text, and give an argument for each %@ and %K.")
  }

  static func unevaluable(_ kind: String, _ format: String, _ cause: any Error) -> NSError {
    .cocoa(
      NSCoreDataError, "The \(kind) cannot be evaluated.", reason: "\(format): \(cause)",
      suggestion: "Use keys that the object has, and give values for all variables.")
  }
}
