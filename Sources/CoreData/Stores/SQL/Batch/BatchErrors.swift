// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Errors of batch requests, which then have written nothing.
package enum BatchErrors {
  /// 134060
  package static func badRequest(_ reason: String, entity: String?, property: String? = nil, suggestion: String)
    -> NSError
  {
    .cocoa(
      NSCoreDataError, "The batch request cannot be executed.", reason: reason, suggestion: suggestion,
      ErrorDetail.userInfo(entity: entity, property: property))
  }

  /// 1570
  static func missingValue(_ property: String, of entity: String) -> NSError {
    invalid(
      NSValidationMissingMandatoryPropertyError, property, entity, "\(property) is a required value.",
      reason: "'\(property)' of '\(entity)' would have no value, but is not optional.",
      suggestion: "Give a value, give the property a default value, or make it optional.")
  }

  /// 1550
  static func wrongType(_ value: Any?, _ property: String, of entity: String, expected: String) -> NSError {
    let found = value.map { "\(type(of: $0))" } ?? "nil"
    return invalid(
      NSManagedObjectValidationError, property, entity, "\(property) is not valid.",
      reason: "'\(property)' of '\(entity)' takes \(expected), but was given a value of class \(found).",
      suggestion: "Give a value of the property's type.", value: value)
  }

  /// 1610 or 1620
  static func outOfRange(_ property: String, of entity: String, isTooLarge: Bool) -> NSError {
    invalid(
      isTooLarge ? NSValidationNumberTooLargeError : NSValidationNumberTooSmallError, property, entity,
      "\(property) is too \(isTooLarge ? "large" : "small").",
      reason: "'\(property)' of '\(entity)' would have a number that its type cannot hold.",
      suggestion: "Give a number in the type's range, or give the attribute the type Integer 64.")
  }

  /// 1600
  static func deniedDelete(_ relationship: String, of entity: String) -> NSError {
    invalid(
      NSValidationRelationshipDeniedDeleteError, relationship, entity,
      "Items cannot be deleted from \(relationship).",
      reason: "Objects of '\(entity)' cannot be deleted while '\(relationship)', whose deletion rule is deny, leads to "
        + "objects that the request does not delete.",
      suggestion: "Delete those objects first, or remove them from the relationship.")
  }

  /// 1570: a deletion would clear a required relationship.
  static func mandatoryInverse(_ inverse: String, of entity: String, deleting deleted: String) -> NSError {
    invalid(
      NSValidationMissingMandatoryPropertyError, inverse, entity,
      "Batch delete failed due to mandatory nullify inverse on \(entity)/\(inverse).",
      reason: "Objects of '\(entity)' need an object of '\(deleted)' in '\(inverse)', and would lose it.",
      suggestion: "Delete those objects too, make the relationship optional, or let the deletion cascade.")
  }

  private static func invalid(
    _ code: Int, _ property: String, _ entity: String, _ description: String, reason: String, suggestion: String,
    value: Any? = nil
  ) -> NSError {
    var info = ErrorDetail.userInfo(entity: entity, property: property)
    info[NSValidationKeyErrorKey] = property
    info[NSValidationValueErrorKey] = value
    return .cocoa(code, description, reason: reason, suggestion: suggestion, info)
  }
}
