// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Makes the migration managers of an automatic migration. An addition to Apple's interface.
///
/// Each step by a mapping model gets a manager of its own, which may be of a subclass: to give policies something in its
/// `userInfo`, to follow what is done, or to cancel. Steps that can be inferred need none, and do not ask for one.
///
///     options[MigrationOption.managerFactory] = MigrationManagerFactory {
///       LibraryMigrationManager(sourceModel: $0, destinationModel: $1)
///     }
///
/// A manager's `progressHandler` is called as it is where the program migrates by itself.
public final class MigrationManagerFactory: NSObject, Sendable {
  private let make: @Sendable (NSManagedObjectModel, NSManagedObjectModel) -> NSMigrationManager

  /// Makes a factory.
  ///
  /// - Parameter make: makes a manager of the models that it is given, the source's first.
  public init(_ make: @escaping @Sendable (NSManagedObjectModel, NSManagedObjectModel) -> NSMigrationManager) {
    self.make = make
  }

  /// - Throws: 134110 where the manager is for other models than it was to be for.
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
