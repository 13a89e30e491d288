// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import Foundation

/// Migration into a new store, by expressions and by policies like those of an app, compared with a loop over SQLite's
/// C interface. Both are measured from opening the old store to closing the new one.
///
/// Every note's full name is split into first and last name; every attachment is copied with its key.
enum CopyWorkloads {
  static let all = [
    Workload(
      name: "mapping model of expressions", start: .plain, limit: 0.9, library: expressions, byHand: CopyByHand.copy),
    Workload(
      name: "mapping model of expressions, by hand with a log", start: .plain, library: expressions,
      byHand: CopyByHand.copyWithLog),
    Workload(
      name: "policy on notes", start: .plain, limit: 1.5,
      library: { try migrate($0, notes: NotePolicy.self, attachments: nil) }, byHand: CopyByHand.copy),
    Workload(
      name: "policies on notes and attachments", start: .plain, limit: 2.5,
      library: { try migrate($0, notes: NotePolicy.self, attachments: AttachmentPolicy.self) },
      byHand: CopyByHand.copy),
    Workload(
      name: "policy that lists what it has made", start: .plain, limit: 3.5,
      library: { try migrate($0, notes: ListingPolicy.self, attachments: nil, to: NotesModel.splitWithWriters()) },
      byHand: CopyByHand.copy),
  ]

  /// Opens the store with automatic migration, like an app with a mapping model.
  @Sendable private static func expressions(_ place: Workload.Place) throws -> Measurement {
    let mapping = mapping(notes: nil, attachments: nil)
    let model = NotesModel.split()
    return try Measurement.of {
      let coordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
      let store = try coordinator.addPersistentStore(
        type: .sqlite, at: place.store,
        options: [
          NSMigratePersistentStoresAutomaticallyOption: true, MigrationOption.mappings: [mapping],
          MigrationOption.keepsReplacedStore: false,
        ])
      try coordinator.remove(store)
    }
  }

  private static func migrate(
    _ place: Workload.Place, notes: NSEntityMigrationPolicy.Type, attachments: NSEntityMigrationPolicy.Type?,
    to destination: NSManagedObjectModel = NotesModel.split()
  ) throws -> Measurement {
    let mapping = mapping(notes: notes, attachments: attachments)
    let manager = NSMigrationManager(sourceModel: NotesModel.plain(), destinationModel: destination)
    return try Measurement.of {
      try manager.migrateStore(
        from: place.store, type: .sqlite, mapping: mapping, to: place.destination, type: .sqlite)
    }
  }

  private static func mapping(
    notes: NSEntityMigrationPolicy.Type?, attachments: NSEntityMigrationPolicy.Type?
  ) -> NSMappingModel {
    let parts = "FUNCTION($source.fullName, 'componentsSeparatedByString:', ' ')"
    var names = ["firstName": "FUNCTION(\(parts), 'firstObject')", "lastName": "FUNCTION(\(parts), 'lastObject')"]
    if notes != nil { names = [:] }
    let note = entity(
      "Note", notes, plainly(["title", "body", "dateCreated", "displayIndex"]).merging(names) { $1 },
      [:])
    let attachment = entity(
      "Attachment", attachments, plainly(["caption", "width", "height"]),
      [
        "note": "FUNCTION($manager, 'destinationInstancesForEntityMappingNamed:sourceInstances:', 'NoteToNote', "
          + "$source.note)"
      ])
    let model = NSMappingModel()
    model.entityMappings = [note, attachment]
    return model
  }

  private static func plainly(_ names: [String]) -> [String: String] {
    Dictionary(uniqueKeysWithValues: names.map { ($0, "$source.\($0)") })
  }

  private static func entity(
    _ name: String, _ policy: NSEntityMigrationPolicy.Type?, _ attributes: [String: String],
    _ relationships: [String: String]
  ) -> NSEntityMapping {
    let mapping = NSEntityMapping()
    mapping.name = "\(name)To\(name)"
    mapping.mappingType = policy == nil ? .transformEntityMappingType : .customEntityMappingType
    mapping.sourceEntityName = name
    mapping.destinationEntityName = name
    // These are used to find the mapping model for a store.
    mapping.sourceEntityVersionHash = versionHash(of: name, in: NotesModel.plain())
    mapping.destinationEntityVersionHash = versionHash(of: name, in: NotesModel.split())
    mapping.entityMigrationPolicyClassName = policy.map { NSStringFromClass($0) }
    mapping.attributeMappings = properties(attributes)
    mapping.relationshipMappings = properties(relationships)
    mapping.sourceExpression = NSExpression(
      format: "FETCH(FUNCTION($manager, 'fetchRequestForSourceEntityNamed:predicateString:', %@, 'TRUEPREDICATE'), "
        + "$manager.sourceContext, NO)", argumentArray: [name])
    return mapping
  }

  /// Returns an entity's hash. The entity refers to its model weakly, so the model must be kept until the hash is
  /// computed.
  private static func versionHash(of entity: String, in model: NSManagedObjectModel) -> Data? {
    withExtendedLifetime(model) { model.entitiesByName[entity]?.versionHash }
  }

  private static func properties(_ expressions: [String: String]) -> [NSPropertyMapping] {
    expressions.sorted { $0.key < $1.key }.map { name, format in
      let mapping = NSPropertyMapping()
      mapping.name = name
      mapping.valueExpression = NSExpression(format: format)
      return mapping
    }
  }
}

/// Copies every value by key and splits the name.
final class NotePolicy: NSEntityMigrationPolicy {
  override func createDestinationInstances(
    forSource source: NSManagedObject, in mapping: NSEntityMapping, manager: NSMigrationManager
  ) throws {
    let note = NSEntityDescription.insertNewObject(forEntityName: "Note", into: manager.destinationContext)
    for key in ["title", "body", "dateCreated", "displayIndex"] {
      note.setValue(source.value(forKey: key), forKey: key)
    }
    let name = source.value(forKey: "fullName") as? String ?? ""
    if let space = name.firstIndex(of: " ") {
      note.setValue(String(name[..<space]), forKey: "firstName")
      note.setValue(String(name[name.index(after: space)...]), forKey: "lastName")
    }
    manager.associate(sourceInstance: source, withDestinationInstance: note, for: mapping)
  }
}

/// Copies every value by key.
final class AttachmentPolicy: NSEntityMigrationPolicy {
  override func createDestinationInstances(
    forSource source: NSManagedObject, in mapping: NSEntityMapping, manager: NSMigrationManager
  ) throws {
    let attachment = NSEntityDescription.insertNewObject(forEntityName: "Attachment", into: manager.destinationContext)
    for key in ["caption", "width", "height"] {
      attachment.setValue(source.value(forKey: key), forKey: key)
    }
    manager.associate(sourceInstance: source, withDestinationInstance: attachment, for: mapping)
  }
}
