// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Errors of validation: one a rule, and the one that holds several.
internal enum ValidationErrors {
  /// What failed: the property of an object, and its value.
  struct Subject {
    var object: AnyObject
    var entity: String
    var property: String
    var value: Any?
  }

  /// 1570
  static func missingValue(_ subject: Subject) -> NSError {
    error(
      NSValidationMissingMandatoryPropertyError, subject, "\(subject.property) is a required value.",
      reason: "'\(subject.property)' of '\(subject.entity)' has no value, and is not optional.",
      suggestion: "Set a value, give the property a default one, or make it optional.")
  }

  /// 1580
  static func tooFew(_ subject: Subject, count: Int, minimum: Int) -> NSError {
    error(
      NSValidationRelationshipLacksMinimumCountError, subject, "Too few items in \(subject.property).",
      reason: "'\(subject.property)' of '\(subject.entity)' has \(count) objects, at least \(minimum) are wanted.",
      suggestion: "Add objects to the relationship.")
  }

  /// 1590
  static func tooMany(_ subject: Subject, count: Int, maximum: Int) -> NSError {
    error(
      NSValidationRelationshipExceedsMaximumCountError, subject, "Too many items in \(subject.property).",
      reason: "'\(subject.property)' of '\(subject.entity)' has \(count) objects, at most \(maximum) are allowed.",
      suggestion: "Remove objects from the relationship.")
  }

  /// 1600
  static func deniedDelete(_ subject: Subject, count: Int) -> NSError {
    error(
      NSValidationRelationshipDeniedDeleteError, subject,
      "Items cannot be deleted from \(subject.property).",
      reason: "An object of '\(subject.entity)' cannot be deleted while '\(subject.property)' has \(count) objects: "
        + "the deletion rule is deny.",
      suggestion: "Delete those objects first, or take them out of the relationship.")
  }

  /// A rule of the model that was not met.
  ///
  /// - Parameters:
  ///   - code: the rule's code, as 1660 for text that is too long; 1550 where it has none.
  ///   - text: the developer's own words for it.
  ///   - rule: the rule in words, as `length <= 8`.
  static func unmet(
    _ predicate: NSPredicate?, rule: String, code: Int?, text: String?, _ subject: Subject
  ) -> NSError {
    let code = code ?? NSManagedObjectValidationError
    let value = subject.value.map { "\($0)" } ?? "nil"
    return error(
      code, subject, text ?? "\(subject.property) \(words(for: code)).",
      reason: "'\(subject.property)' of '\(subject.entity)' is '\(value.prefix(80))', which does not meet \(rule).",
      suggestion: "Set another value, or change the rule.", predicate: predicate)
  }

  /// Nil for no errors, the error itself for one, 1560 for several.
  static func combined(_ errors: [NSError]) -> NSError? {
    guard errors.count > 1 else { return errors.first }
    return NSError.cocoa(
      NSValidationMultipleErrorsError, "Multiple validation errors occurred.",
      reason: errors.compactMap(\.localizedFailureReason).joined(separator: " "),
      suggestion: "See each error under NSDetailedErrorsKey.", [NSDetailedErrorsKey: errors])
  }

  private static func error(
    _ code: Int, _ subject: Subject, _ description: String, reason: String, suggestion: String,
    predicate: NSPredicate? = nil
  ) -> NSError {
    var info = ErrorDetail.place(entity: subject.entity, property: subject.property)
    info[NSValidationObjectErrorKey] = subject.object
    info[NSValidationKeyErrorKey] = subject.property
    info[NSValidationValueErrorKey] = subject.value
    info[NSValidationPredicateErrorKey] = predicate
    return NSError.cocoa(code, description, reason: reason, suggestion: suggestion, info)
  }

  private static func words(for code: Int) -> String {
    switch code {
    case NSValidationNumberTooLargeError: "is too large"
    case NSValidationNumberTooSmallError: "is too small"
    case NSValidationDateTooLateError: "is too late"
    case NSValidationDateTooSoonError: "is too soon"
    case NSValidationInvalidDateError: "is not a valid date"
    case NSValidationStringTooLongError: "is too long"
    case NSValidationStringTooShortError: "is too short"
    case NSValidationStringPatternMatchingError: "does not match the pattern"
    default: "is not valid"
    }
  }
}
