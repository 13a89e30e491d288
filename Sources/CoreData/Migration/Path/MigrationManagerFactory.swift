// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// A factory for the migration managers of an automatic migration. An addition to Apple's API.
///
/// Each step by a mapping model gets its own manager. This may be an instance of a subclass, for example to pass data
/// to policies in its `userInfo`, to observe the migration, or to cancel it. Inferred steps use no manager.
///
///     options[MigrationOption.managerFactory] = MigrationManagerFactory {
///       LibraryMigrationManager(sourceModel: $0, destinationModel: $1)
///     }
///
/// A manager's `progressHandler` is called as in a migration that the program runs itself.
public final class MigrationManagerFactory: NSObject, Sendable {
  private let make: @Sendable (NSManagedObjectModel, NSManagedObjectModel) -> NSMigrationManager

  /// Creates a factory.
  ///
  /// - Parameter make: returns a manager for the source and the destination model.
  public init(_ make: @escaping @Sendable (NSManagedObjectModel, NSManagedObjectModel) -> NSMigrationManager) {
    self.make = make
  }

  /// - Throws: 134110 if the manager was created with other models.
  func manager(for step: StoreMigration.Step, of url: URL) throws -> NSMigrationManager {
    let manager = make(step.sourceModel, step.destinationModel)
    let pairs = [(manager.sourceModel, step.sourceModel), (manager.destinationModel, step.destinationModel)]
    for (found, wanted) in pairs where found.entityVersionHashesByName != wanted.entityVersionHashesByName {
      throw MigrationErrors.failed(
        url: url,
        reason: "The migration manager for the step from '\(step.source)' to '\(step.destination)' was made with other "
          + "models than those of the step.",
        suggestion: "Have the MigrationManagerFactory make managers of the two models that it is given.")
    }
    return manager
  }
}
