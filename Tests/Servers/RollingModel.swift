// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataPostgreSQL
import CoreDataTestSupport
import Foundation

/// A change of the model with which a new version of a service is deployed.
enum RollingChange: String, CaseIterable {
  case addedOptional, addedRequired, renamed, newEntity, removed, otherType

  static func model(_ change: RollingChange?) -> NSManagedObjectModel {
    var builder = ModelBuilder()
    var attributes: [NSAttributeDescription] = [
      .make("name", .stringAttributeType), .make("number", .integer64AttributeType),
      .make("count", change == .otherType ? .doubleAttributeType : .integer64AttributeType),
    ]
    switch change {
    case .renamed: attributes.append(.make("comment", .stringAttributeType, renamedFrom: "note"))
    case .removed: break
    default: attributes.append(.make("note", .stringAttributeType))
    }
    if change == .addedOptional { attributes.append(.make("extra", .integer32AttributeType)) }
    if change == .addedRequired {
      attributes.append(.make("extra", .integer32AttributeType, optional: false, default: 7))
    }
    let item = builder.entity("Item", attributes)
    builder.entity("Tag", [.make("title", .stringAttributeType)])
    if change == .newEntity { builder.entity("Part", [.make("title", .stringAttributeType)]) }
    builder.relate(.init("Tag", "items", toMany: true), .init("Item", "tag"))
    if change == .newEntity { builder.relate(.init("Item", "parts", toMany: true), .init("Part", "item")) }
    let model = builder.model()
    item.indexes = ["name", "number"].compactMap { key in
      item.propertiesByName[key].map { property in
        NSFetchIndexDescription(
          name: "by_\(key)", elements: [NSFetchIndexElementDescription(property: property, collationType: .binary)])
      }
    }
    model.versionIdentifiers = [change?.rawValue ?? "first"]
    return model
  }

  /// Opens the store with a version of the model.
  static func open(_ url: URL, _ change: RollingChange?, migrates: Bool = false) throws -> NSPersistentStoreCoordinator
  {
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: model(change))
    let options: [AnyHashable: Any] = [
      NSMigratePersistentStoresAutomaticallyOption: migrates, NSInferMappingModelAutomaticallyOption: migrates,
      // No model file has the first version, and one of the changes drops values.
      MigrationOption.allowsDowngrade: true, MigrationOption.allowsLoss: true,
    ]
    try coordinator.addPersistentStore(type: .postgreSQL, at: url, options: migrates ? options : [:])
    return coordinator
  }

  /// The key of the text that each row has.
  var noteKey: String? {
    switch self {
    case .renamed: "comment"
    case .removed: nil
    default: "note"
    }
  }
}
