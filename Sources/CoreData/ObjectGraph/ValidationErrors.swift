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

  /// A value of the wrong class: 1550.
  static func wrongClass(_ subject: Subject, expected: String) -> NSError {
    let found = subject.value.map { String(describing: type(of: $0)) } ?? "nil"
    return error(
      NSManagedObjectValidationError, subject, "\(subject.property) is not valid.",
      reason: "'\(subject.property)' of '\(subject.entity)' takes values of class \(expected), and was given one of "
        + "\(found).",
      suggestion: "Set a value of class \(expected).")
  }

  /// 1610 and 1620, for a whole number that its type cannot hold.
  static func outOfRange(_ subject: Subject, isTooLarge: Bool) -> NSError {
    error(
      isTooLarge ? NSValidationNumberTooLargeError : NSValidationNumberTooSmallError, subject,
      "\(subject.property) is too \(isTooLarge ? "large" : "small").",
      reason:
        "'\(subject.property)' of '\(subject.entity)' is \(subject.value.map { "\($0)" } ?? "nil"), which its type "
        + "cannot hold.",
      suggestion: "Set a smaller number, or give the attribute the type Integer 64.")
  }

  /// A rule of the model that cannot be applied to a value: 1550.
  static func unevaluable(_ subject: Subject, rule: String, _ cause: any Error) -> NSError {
    error(
      NSManagedObjectValidationError, subject, "\(subject.property) cannot be validated.",
      reason: "The rule '\(rule)' of '\(subject.property)' of '\(subject.entity)' cannot be evaluated: \(cause)",
      suggestion: "Correct the rule in the model.")
  }

  /// An object of an entity that a relationship does not lead to: 1550.
  static func wrongEntity(_ subject: Subject, expected: String, found: String) -> NSError {
    error(
      NSManagedObjectValidationError, subject, "\(subject.property) is not valid.",
      reason: "'\(subject.property)' of '\(subject.entity)' leads to objects of '\(expected)', and was given one of "
        + "'\(found)'.",
      suggestion: "Set an object of '\(expected)'.")
  }

  /// An object of another context: 1550.
  static func otherContext(_ subject: Subject) -> NSError {
    error(
      NSManagedObjectValidationError, subject, "\(subject.property) is not valid.",
      reason: "'\(subject.property)' of '\(subject.entity)' cannot lead to an object of another context.",
      suggestion: "Take the object of the same context: object(with:) of its objectID.")
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

  /// 1551
  static func constraint(entity: String, properties: [String], objects: [AnyObject]) -> NSError {
    let names = properties.map { "'\($0)'" }.joined(separator: ", ")
    return NSError.cocoa(
      NSManagedObjectConstraintValidationError, "A uniqueness constraint was violated.",
      reason: "More than one object of '\(entity)' has the same value of \(names).",
      suggestion: "Change or delete one of them, or choose a merge policy that resolves the conflict.",
      [ErrorDetail.entity: entity, NSAffectedObjectsErrorKey: objects])
  }

  /// Nil for no errors, the error itself for one, 1560 for several; those within others are taken out of them.
  static func combined(_ list: [NSError]) -> NSError? {
    guard list.count > 1 else { return list.first }
    let errors = list.flatMap { $0.userInfo[NSDetailedErrorsKey] as? [NSError] ?? [$0] }
    return NSError.cocoa(
      NSValidationMultipleErrorsError, "Multiple validation errors occurred.",
      reason: errors.prefix(5).compactMap(\.localizedFailureReason).joined(separator: " "),
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
