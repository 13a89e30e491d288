// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Errors about models that contradict themselves: all `NSCoreDataError`, with entity and property.
internal enum ModelError {
  static func namelessEntity() -> NSError {
    invalid("An entity has no name.", suggestion: "Give every entity of the model a name.")
  }

  static func duplicateEntity(_ name: String) -> NSError {
    invalid(
      "Two entities are named '\(name)'.", suggestion: "Rename or remove one of them.", entity: name)
  }

  static func duplicateProperty(_ name: String, entity: String) -> NSError {
    invalid(
      "Entity '\(entity)' has two properties named '\(name)'.", suggestion: "Rename or remove one of them.",
      entity: entity, property: name)
  }

  static func missingSuperentity(_ name: String, entity: String) -> NSError {
    invalid(
      "Entity '\(entity)' inherits from '\(name)', which the model does not have.",
      suggestion: "Add the entity '\(name)', or choose another parent entity for '\(entity)'.", entity: entity)
  }

  static func circularHierarchy(_ names: [String]) -> NSError {
    let circle = (names + names.prefix(1)).joined(separator: " -> ")
    return invalid(
      "Entity '\(names.first ?? "")' inherits from itself: \(circle).",
      suggestion: "Change the parent entity of one of them.", entity: names.first)
  }

  static func missingDestination(_ name: String, relationship: String, entity: String) -> NSError {
    invalid(
      "The relationship '\(relationship)' of entity '\(entity)' leads to entity '\(name)', which the model does not have.",
      suggestion: "Add the entity '\(name)', or choose another destination.", entity: entity, property: relationship)
  }

  static func missingInverse(
    _ name: String, destination: String, relationship: String, entity: String
  ) -> NSError {
    invalid(
      "The relationship '\(relationship)' of entity '\(entity)' has the inverse '\(name)', "
        + "which entity '\(destination)' does not have.",
      suggestion: "Add the relationship '\(name)' to '\(destination)', or choose another inverse.",
      entity: entity, property: relationship)
  }

  static func unknownIndexProperty(_ name: String, index: String, entity: String) -> NSError {
    invalid(
      "The index '\(index)' of entity '\(entity)' names the property '\(name)', which the entity does not have.",
      suggestion: "Remove the element from the index, or add the property.", entity: entity, property: name)
  }

  static func mixedIndex(_ index: String, entity: String) -> NSError {
    invalid(
      "The index '\(index)' of entity '\(entity)' mixes binary elements with those of a range tree.",
      suggestion: "Make two indexes of it.", entity: entity)
  }

  static func unknownConfigurationEntity(_ name: String, configuration: String) -> NSError {
    invalid(
      "The configuration '\(configuration)' names the entity '\(name)', which the model does not have.",
      suggestion: "Remove the entity from the configuration, or add it to the model.", entity: name)
  }

  private static func invalid(
    _ reason: String, suggestion: String, entity: String? = nil, property: String? = nil
  ) -> NSError {
    NSError.cocoa(
      NSCoreDataError, "The managed object model is not valid.", reason: reason, suggestion: suggestion,
      ErrorDetail.place(entity: entity, property: property))
  }
}
