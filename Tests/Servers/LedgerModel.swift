// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataPostgreSQL
import CoreDataTestSupport
import Foundation

/// The model of the stores in which saves are counted.
///
/// Nothing is unique: a save that is repeated although it was committed leaves its rows twice.
enum LedgerModel {
  /// The number of entries in each save.
  static let entries = 2

  static func make() -> NSManagedObjectModel {
    var builder = ModelBuilder()
    let entry = builder.entity(
      "Entry",
      [
        .make("key", .stringAttributeType), .make("tenant", .stringAttributeType),
        .make("part", .integer64AttributeType),
      ])
    builder.entity("Counter", [.make("name", .stringAttributeType), .make("value", .integer64AttributeType)])
    let model = builder.model()
    if let key = entry.propertiesByName["key"] {
      entry.indexes = [
        NSFetchIndexDescription(
          name: "byKey", elements: [NSFetchIndexElementDescription(property: key, collationType: .binary)])
      ]
    }
    return model
  }

  static func open(_ url: URL, _ options: [AnyHashable: Any]) throws -> NSPersistentStoreCoordinator {
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: make())
    try coordinator.addPersistentStore(type: .postgreSQL, at: url, options: options)
    return coordinator
  }
}

extension NSPersistentStoreCoordinator {
  func context() -> NSManagedObjectContext {
    let context = NSManagedObjectContext(.privateQueue)
    context.persistentStoreCoordinator = self
    return context
  }
}
