// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData

/// A way to migrate a store by an inferred mapping model.
enum MigrationWay: CaseIterable {
  /// By the options of opening it.
  case opening
  /// By a migration manager, into a new store.
  case manager

  static let automatic: [AnyHashable: Any] = [
    NSMigratePersistentStoresAutomaticallyOption: true, NSInferMappingModelAutomaticallyOption: true,
  ]

  /// Makes a store of one model, migrates it to another, and opens the result.
  func migrate(
    _ before: NSManagedObjectModel, to after: NSManagedObjectModel,
    filling: (NSManagedObjectContext) throws -> Void
  ) throws -> Stack {
    let stack = try Stack(before)
    try stack.run { context in
      try filling(context)
      try context.save()
    }
    try stack.close()
    switch self {
    case .opening:
      return try Stack(after, in: stack.directory, options: Self.automatic)
    case .manager:
      let mapping = try NSMappingModel.inferredMappingModel(forSourceModel: before, destinationModel: after)
      let target = try StoreDirectory()
      let manager = NSMigrationManager(sourceModel: before, destinationModel: after)
      try manager.migrateStore(
        from: stack.url, type: .sqlite, options: nil, mapping: mapping,
        to: target.store(), type: .sqlite, options: nil)
      return try Stack(after, in: target)
    }
  }

  /// Checks a migration that drops values or rows: OpenCoreData refuses it where only the store has the model that it was
  /// written with.
  func dropping(_ body: () throws -> Void) rethrows {
    guard self == .opening else { return try body() }
    try deviation("OpenCoreData drops nothing (Automatic migration in DEVIATIONS.md)", body)
  }
}
