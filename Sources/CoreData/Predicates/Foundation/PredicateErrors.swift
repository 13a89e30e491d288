// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Errors of predicates, expressions and sort descriptors.
enum PredicateErrors {
  static func unreadable(_ kind: String, _ cause: any Error) -> NSError {
    .cocoa(
      NSCoreDataError, "The \(kind) cannot be parsed.", reason: "\(cause)",
      suggestion: "Correct the format, and pass an argument for each %@ and %K.")
  }

  static func unevaluable(_ kind: String, _ format: String, _ cause: any Error) -> NSError {
    .cocoa(
      NSCoreDataError, "The \(kind) cannot be evaluated.", reason: "\(format): \(cause)",
      suggestion: "Use keys that the object has, and pass values for all variables.")
  }
}
