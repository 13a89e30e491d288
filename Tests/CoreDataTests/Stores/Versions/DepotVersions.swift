// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreData

/// Two versions of a model. The second gives other numbers to the entities of the first.
enum DepotVersions {
  static var migrating: [AnyHashable: Any] {
    [NSMigratePersistentStoresAutomaticallyOption: true, NSInferMappingModelAutomaticallyOption: true]
  }

  static func first() -> NSManagedObjectModel {
    var builder = ModelBuilder()
    builder.entity("Parcel", [.make("code", .stringAttributeType), .make("photo", .binaryDataAttributeType)])
    builder.entity("Van", [.make("plate", .stringAttributeType)])
    builder.entity("Truck", parent: "Van", [.make("load", .stringAttributeType)])
    builder.relate(.init("Van", "parcels", toMany: true), .init("Parcel", "van"))
    let model = builder.model()
    model.versionIdentifiers = ["V1"]
    return model
  }

  static func second() -> NSManagedObjectModel {
    var builder = ModelBuilder()
    builder.entity("Airway", [.make("name", .stringAttributeType)])
    builder.entity(
      "Parcel",
      [
        .make("code", .stringAttributeType), .make("photo", .binaryDataAttributeType),
        .make("weight", .doubleAttributeType, optional: false, default: 1.5),
      ])
    builder.entity("Van", [.make("plate", .stringAttributeType)])
    builder.entity("Bus", parent: "Van", [.make("seats", .stringAttributeType)])
    builder.entity("Truck", parent: "Van", [.make("load", .stringAttributeType)])
    builder.relate(.init("Van", "parcels", toMany: true), .init("Parcel", "van"))
    let model = builder.model()
    model.versionIdentifiers = ["V2"]
    return model
  }

  /// Saves a van with two parcels, and a truck.
  static func fill(_ context: NSManagedObjectContext) throws {
    let van = context.make("Van", ["plate": "A"])
    for code in ["one", "two"] { context.make("Parcel", ["code": code, "van": van]) }
    context.make("Truck", ["plate": "T", "load": "sand"])
    try context.save()
  }

  /// Migrates the store by opening it with the second version.
  static func migrate(_ store: TemporaryStore) throws -> NSManagedObjectContext {
    try store.context(second(), options: migrating)
  }
}

extension NSError {
  /// Whether the error says that a store was migrated from the first version to the second while it was open.
  var tellsOfMigration: Bool {
    let reason = localizedFailureReason ?? ""
    return domain == NSCocoaErrorDomain && code == NSPersistentStoreIncompatibleVersionHashError
      && reason.contains("While it was open") && reason.contains("'V1'") && reason.contains("'V2'")
      && localizedRecoverySuggestion?.contains("open it again") == true
  }
}
