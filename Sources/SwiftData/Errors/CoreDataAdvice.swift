// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import Foundation

/// What a SwiftData program can do about an error of Core Data.
///
/// Core Data's own advice is about mapping models, options of stores and of the tool, which have no place in such a
/// program.
enum CoreDataAdvice {
  /// Returns the advice for an error; nil if there is none.
  static func text(for error: NSError) -> String? {
    guard error.domain == NSCocoaErrorDomain else { return error.localizedRecoverySuggestion }
    return migration(error) ?? error.localizedRecoverySuggestion.flatMap(withoutCoreDataTerms)
  }

  private static func migration(_ error: NSError) -> String? {
    let entity = error.userInfo[ErrorDetail.entity] as? String
    switch error.code {
    case NSMigrationMissingSourceModelError:
      return entity == nil
        ? "Add a VersionedSchema of the version that wrote the store to the migration plan, and a stage from it."
        : "Write a migration plan whose schemas say what is removed, or allow the loss with "
          + "ModelConfiguration.migration.allowedLosses."
    case NSInferredMappingModelError:
      return "Write a migration plan. Give the new property a name of its own there, and set it from the old one in "
        + "the didMigrate of a custom stage."
    case NSMigrationConstraintViolationError:
      return "Remove the duplicates in the willMigrate of a custom stage, or remove .unique."
    case NSMigrationError:
      // Rows without a value of a required property.
      guard let property = error.userInfo[ErrorDetail.attribute] as? String, let entity else { return nil }
      return "Give '\(entity).\(property)' an initial value, or make it optional. If the old version has the property, "
        + "the willMigrate of a custom stage can set the values."
    case NSManagedObjectModelReferenceNotFoundError:
      return "Add a VersionedSchema of that version to the migration plan, and a stage from it."
    case NSPersistentStoreIncompatibleVersionHashError:
      return "Another program has changed the version of the store: make the container again."
    default: return nil
    }
  }

  /// Words that a SwiftData program has no use for.
  private static let terms = [
    "--allow", "MigrationOption.", "NSMigrate", "NSInfer", "NSReadOnlyPersistentStoreOption", "mapping model",
    "model bundle", "coredata explain",
  ]

  /// Returns the sentences that have none of the terms.
  private static func withoutCoreDataTerms(_ text: String) -> String? {
    guard terms.contains(where: { text.contains($0) }) else { return text }
    let sentences = text.split(separator: ". ").filter { sentence in !terms.contains { sentence.contains($0) } }
    guard let last = sentences.last else { return nil }
    return sentences.joined(separator: ". ") + (last.hasSuffix(".") ? "" : ".")
  }
}
