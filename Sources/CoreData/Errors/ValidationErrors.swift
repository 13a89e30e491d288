// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import Foundation

/// Errors of objects that do not meet the rules of their model.
internal enum ValidationErrors {
  static func missingValue(of property: NSPropertyDescription, in object: NSManagedObject) -> NSError {
    error(
      NSValidationMissingMandatoryPropertyError, property, object,
      "'\(property.name)' of '\(object.entity.name ?? "")' is required and has no value.",
      "Set '\(property.name)', give it a default value, or make it optional.")
  }

  static func ruleViolated(
    _ rule: ValidationDocument, value: Any, of property: NSPropertyDescription, in object: NSManagedObject
  ) -> NSError {
    let format = rule.predicate.predicateFormat
    let text: String? =
      if case .string(let warning) = rule.warning { warning } else { nil }
    let code: Int =
      if case .integer(let number) = rule.warning { Int(number) } else { NSManagedObjectValidationError }
    return error(
      code, property, object,
      "'\(property.name)' of '\(object.entity.name ?? "")' is \(value), which does not meet \(format)."
        + (text.map { " \($0)" } ?? ""),
      "Give it a value that meets the rule.",
      [NSValidationValueErrorKey: value, NSValidationPredicateErrorKey: format])
  }

  static func tooFew(
    _ count: Int, minimum: Int, of relationship: NSRelationshipDescription, in object: NSManagedObject
  ) -> NSError {
    error(
      NSValidationRelationshipLacksMinimumCountError, relationship, object,
      "'\(relationship.name)' of '\(object.entity.name ?? "")' has \(count) objects and needs at least \(minimum).",
      "Add objects to '\(relationship.name)'.")
  }

  static func tooMany(
    _ count: Int, maximum: Int, of relationship: NSRelationshipDescription, in object: NSManagedObject
  ) -> NSError {
    error(
      NSValidationRelationshipExceedsMaximumCountError, relationship, object,
      "'\(relationship.name)' of '\(object.entity.name ?? "")' has \(count) objects and may have \(maximum) at most.",
      "Take objects out of '\(relationship.name)'.")
  }

  static func deniedDelete(
    _ relationship: NSRelationshipDescription, members: [NSManagedObject], in object: NSManagedObject
  ) -> NSError {
    error(
      NSValidationRelationshipDeniedDeleteError, relationship, object,
      "A '\(object.entity.name ?? "")' cannot be deleted while '\(relationship.name)' has objects: it has \(members.count).",
      "Delete those first, or take them out of '\(relationship.name)'.",
      [NSValidationValueErrorKey: members])
  }

  private static func error(
    _ code: Int, _ property: NSPropertyDescription, _ object: NSManagedObject, _ reason: String, _ suggestion: String,
    _ details: [String: Any] = [:]
  ) -> NSError {
    var info = ErrorDetail.place(entity: object.entity.name, property: property.name)
    info[NSValidationObjectErrorKey] = object
    info[NSValidationKeyErrorKey] = property.name
    info.merge(details) { $1 }
    return .cocoa(code, "The operation couldn’t be completed: an object is not valid.", reason: reason, suggestion: suggestion, info)
  }
}
