// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import CoreDataTestSupport
import Foundation

@testable import CoreData

/// A change of a model between two versions of an app that are deployed one after the other.
enum RollingChange: String, CaseIterable, Codable, Sendable {
  case entitiesAdded, optionalAttribute, requiredAttribute, attributeRemoved, attributeRenamed, entityRenamed,
    entityRemoved, relationshipAdded, relationshipOrdered, numberWidened, parentAdded, hashOnly

  /// Writes the models of both apps to a folder. That of the second version has both versions.
  func writeModels(to folder: URL) throws {
    let versions: [ModelBundle.Version] = [1, 2].map { ("App \($0).0", model($0).document) }
    try ModelBundle.writeCompiled(Array(versions.prefix(1)), current: "App 1.0", to: Self.bundle(1, in: folder))
    try ModelBundle.writeCompiled(versions, current: "App 2.0", to: Self.bundle(2, in: folder))
  }

  /// The bundle of a version's app.
  static func bundle(_ version: Int, in folder: URL) -> URL { folder.appendingPathComponent("App\(version).momd") }

  /// The model of a version, 1 or 2.
  func model(_ version: Int) -> NSManagedObjectModel {
    let isNew = version == 2
    var builder = ModelBuilder()
    if self == .entitiesAdded, isNew { builder.entity("Airway", [.make("name", .stringAttributeType)]) }
    var attributes: [NSAttributeDescription] = [.make("size", .integer16AttributeType)]
    if self == .numberWidened, isNew { attributes = [.make("size", .integer64AttributeType)] }
    if self == .optionalAttribute, isNew { attributes.append(.make("note", .stringAttributeType)) }
    if self == .requiredAttribute, isNew {
      attributes.append(.make("weight", .doubleAttributeType, optional: false, default: 2.5))
    }
    if self == .attributeRemoved, isNew { attributes = [] }
    attributes.append(
      self == .attributeRenamed && isNew
        ? .make("title", .stringAttributeType, renamedFrom: "name") : .make("name", .stringAttributeType))
    let renamesEntity = self == .entityRenamed && isNew
    if self == .parentAdded, isNew { builder.entity("Base", isAbstract: true) }
    let item = builder.entity(
      entity(version), parent: self == .parentAdded && isNew ? "Base" : nil, renamedFrom: renamesEntity ? "Item" : nil,
      attributes)
    if self == .hashOnly { item.versionHashModifier = "\(version)" }
    builder.entity("Part", parent: entity(version), [.make("code", .stringAttributeType)])
    if !(self == .entityRemoved && isNew) { builder.entity("Legacy", [.make("name", .stringAttributeType)]) }
    builder.entity("List", [.make("name", .stringAttributeType)])
    builder.relate(
      .init("List", "items", toMany: true, ordered: self == .relationshipOrdered && isNew),
      .init(entity(version), "lists", toMany: true))
    if self == .relationshipAdded, isNew {
      builder.relate(.init("List", "first"), .init(entity(version), "firstOf", toMany: true))
    }
    if self == .entitiesAdded, isNew {
      builder.entity("Bus", parent: entity(version), [.make("seats", .integer16AttributeType)])
    }
    let model = builder.model()
    model.versionIdentifiers = ["App \(version).0"]
    return model
  }

  /// The name of the entity that both versions write.
  func entity(_ version: Int) -> String { self == .entityRenamed && version == 2 ? "Article" : "Item" }

  /// The attribute that has the name of an object.
  func key(_ version: Int) -> String { self == .attributeRenamed && version == 2 ? "title" : "name" }

  /// Whether the first version has everything that the second has, so that its app may migrate the store back.
  var goesBack: Bool {
    [.attributeRemoved, .attributeRenamed, .entityRenamed, .entityRemoved, .parentAdded, .hashOnly].contains(self)
  }
}

/// A process of one version of the app, or what stands for it.
final class RollingWorker {
  let change: RollingChange
  let version: Int
  private let name: String
  private let container: NSPersistentContainer
  private var context: NSManagedObjectContext?
  private var count = 0
  /// The objects that it has saved: their names, and the names of their entities without regard to renaming.
  private(set) var saved: [String: String] = [:]
  /// Errors that do not tell of the other version.
  private(set) var unexpected: [String] = []

  /// Opens the store as a container does by default, with the model in the folder of the store.
  init(_ change: RollingChange, _ version: Int, name: String, at url: URL) throws {
    (self.change, self.version, self.name) = (change, version, name)
    let bundle = RollingChange.bundle(version, in: url.deletingLastPathComponent())
    container = NSPersistentContainer(
      name: "App", managedObjectModel: try .load(contentsOf: bundle, version: "App \(version).0"))
    let description = NSPersistentStoreDescription(url: url)
    // The resources of the tests hold models and mapping models too.
    for key in [MigrationOption.models, MigrationOption.mappings] { description.setOption(NSArray(), forKey: key) }
    container.persistentStoreDescriptions = [description]
    var failure: NSError?
    container.loadPersistentStores { failure = $1 as NSError? }
    if let failure {
      note(failure, refusals: [NSMigrationMissingSourceModelError])
    } else {
      context = container.newBackgroundContext()
    }
  }

  var isOpen: Bool { context != nil }

  /// Closes the store, as the end of the process does.
  func end() throws {
    context = nil
    for store in container.persistentStoreCoordinator.persistentStores {
      try container.persistentStoreCoordinator.remove(store)
    }
  }

  /// Saves two objects and reads all; stops working when it is refused.
  func work() {
    guard let context else { return }
    context.performAndWait {
      do {
        count += 1
        let made = [(change.entity(version), "Item"), ("Part", "Part")].map { entity, plain in
          (context.make(entity, [change.key(version): "\(name) \(count) \(plain)"]), plain)
        }
        let list = context.make("List", ["name": "\(name) \(count)"])
        (made[0].0 as NSManagedObject).mutableSetValue(forKey: "lists").add(list)
        try context.save()
        for (object, plain) in made { saved[object.value(forKey: change.key(version)) as? String ?? ""] = plain }
        for (found, plain) in try Self.contents(context, change, version) where !found.hasSuffix(plain) {
          unexpected.append("\(name) read \(found) as \(plain)")
        }
        context.reset()
      } catch {
        note(error as NSError, refusals: [NSPersistentStoreIncompatibleVersionHashError])
        self.context = nil
      }
    }
  }

  /// The names of all objects, with their entities without regard to renaming.
  static func contents(
    _ context: NSManagedObjectContext, _ change: RollingChange, _ version: Int
  ) throws -> [String: String] {
    let objects = try context.all(change.entity(version), by: change.key(version))
    return Dictionary(
      objects.map {
        ($0.value(forKey: change.key(version)) as? String ?? "", $0.entity.name == "Part" ? "Part" : "Item")
      }
    ) { $1 }
  }

  private func note(_ error: NSError, refusals: Set<Int>) {
    let reason = error.localizedFailureReason ?? ""
    let isRefusal =
      error.domain == NSCocoaErrorDomain && refusals.contains(error.code) && reason.contains("App 1.0")
      && reason.contains("App 2.0")
    if !isRefusal { unexpected.append("\(name) (version \(version)): \(error)") }
  }
}
