// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import CoreDataSQLite
import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreData
@testable import CoreDataStoreFiles

/// Four versions of a model of notes, stores of them, and ways from one version to another.
enum RecoverySample {
  /// - Parameter number: 1 to 5. 2 adds an attribute, 3 renames one, 4 adds another, 5 removes the one with files.
  static func model(_ number: Int) -> NSManagedObjectModel {
    var builder = ModelBuilder()
    var folder: [NSAttributeDescription] = [.make("name", .stringAttributeType)]
    if number >= 4 { folder.append(.make("colour", .stringAttributeType, default: "red")) }
    builder.entity("Folder", folder)
    let title: NSAttributeDescription = .make(number >= 3 ? "headline" : "title", .stringAttributeType)
    if number >= 3 { title.renamingIdentifier = "title" }
    var note = [title, .make("body", .stringAttributeType)]
    if number < 5 { note.append(.make("photo", .binaryDataAttributeType, external: true)) }
    if number >= 2 { note.append(.make("stars", .integer16AttributeType, default: 3)) }
    builder.entity("Note", note)
    builder.relate(.init("Folder", "notes", toMany: true), .init("Note", "folder"))
    return builder.model()
  }

  /// Fills a store of version 1.
  static func fill(_ url: URL, rows: Int, photos: Int) throws {
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: model(1))
    let store = try coordinator.addPersistentStore(type: .sqlite, at: url)
    let context = NSManagedObjectContext(.privateQueue)
    context.persistentStoreCoordinator = coordinator
    let folders = (0..<5).map { context.make("Folder", ["name": "Folder \($0)"]) }
    for number in 0..<rows {
      let note = context.make(
        "Note", ["title": "Note \(number)", "body": String(repeating: "text ", count: number % 40)])
      note.setValue(folders[number % 5], forKey: "folder")
      if number < photos {
        note.setValue(Data(repeating: UInt8(number % 251), count: 110_000 + number), forKey: "photo")
      }
    }
    try context.save()
    try coordinator.remove(store)
  }

  /// What a store holds, in words that are the same in all versions; every value is read, those in files too.
  static func content(_ url: URL, options: [AnyHashable: Any]? = nil) throws -> [String] {
    let model = try #require(try SQLiteStore.carriedModel(at: url))
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
    let store = try coordinator.addPersistentStore(type: .sqlite, at: url, options: options)
    let context = NSManagedObjectContext(.privateQueue)
    context.persistentStoreCoordinator = coordinator
    let attributes = model.entitiesByName["Note"]?.attributesByName ?? [:]
    let (isNew, hasPhotos) = (attributes["headline"] != nil, attributes["photo"] != nil)
    let notes = try context.fetch(NSFetchRequest<NSManagedObject>(entityName: "Note"))
    let content = notes.map { note in
      let photo = hasPhotos ? note.value(forKey: "photo") as? Data : nil
      let folder = (note.value(forKey: "folder") as? NSManagedObject)?.value(forKey: "name") as? String
      return [
        note.value(forKey: isNew ? "headline" : "title") as? String, note.value(forKey: "body") as? String, folder,
        photo.map { "\($0.count) \($0.first ?? 0) \($0.last ?? 0)" },
      ].map { $0 ?? "-" }.joined(separator: "|")
    }
    try coordinator.remove(store)
    return content.sorted()
  }

  /// The number of the version that a store has.
  static func version(_ url: URL) throws -> Int? {
    let metadata = try SQLiteStore.metadataForPersistentStore(with: url)
    return (1...5).first { model($0).isConfiguration(withName: nil, compatibleWithStoreMetadata: metadata) }
  }

  /// A migration over versions, each step by copying or in place.
  static func migration(
    _ url: URL, _ steps: [(to: Int, kind: StoreMigration.Step.Kind)], policy: String? = nil,
    timeout: TimeInterval = 0.2
  ) throws -> StoreMigration {
    let metadata = try SQLiteStore.metadataForPersistentStore(with: url)
    var from = 1
    let made = try steps.map { step in
      defer { from = step.to }
      let (source, destination) = (model(from), model(step.to))
      return StoreMigration.Step(
        source: "\(from)", destination: "\(step.to)", kind: step.kind, sourceModel: source,
        destinationModel: destination,
        mappingModel: step.kind == .mapping
          ? mapping(from: from, to: step.to, policy: policy)
          : try NSMappingModel.inferredMappingModel(forSourceModel: source, destinationModel: destination),
        mappingURL: nil, reason: "")
    }
    let last = model(from)
    let planned = try StoreMigration(
      storeAt: url, metadata: metadata, known: ModelVersions(around: last),
      destination: .init(name: "\(from)", model: last), configuration: nil, busyTimeout: timeout, allowsLoss: true)
    return StoreMigration(planned, steps: made, of: url, metadata: metadata)
  }

  /// A mapping model that somebody could have written.
  private static func mapping(from old: Int, to new: Int, policy: String?) -> NSMappingModel {
    func title(_ version: Int) -> String { version >= 3 ? "headline" : "title" }
    let mapping = NSMappingModel()
    mapping.entityMappings = [
      ManagerSample.entity(
        "FolderToFolder", "Folder", "Folder", ["name": "$source.name"],
        ["notes": ManagerSample.of("NoteToNote", "notes")]),
      ManagerSample.entity(
        "NoteToNote", "Note", "Note",
        [title(new): "$source.\(title(old))", "body": "$source.body", "photo": "$source.photo"],
        ["folder": ManagerSample.of("FolderToFolder", "folder")]),
    ]
    for entity in mapping.entityMappings { entity.entityMigrationPolicyClassName = policy }
    return mapping
  }

  /// A step that makes a new store, quickly: rows as they are, files of values under new names.
  static func copyStep(
    _ step: StoreMigration.Step, _ source: URL, _ destination: URL, _ progress: (Int, Int) throws -> Void
  ) throws -> [MappingExecution] {
    try progress(0, 3)
    let connection = try SQLiteConnection(url: source, mode: .readOnly)
    try connection.backup(toPath: destination.path)
    try connection.close()
    try progress(1, 3)
    let file = try StoreFile.open(destination, isReadOnly: false)
    let folder = StoreLocation.externalData(of: destination)
    for name in try ExternalReferences.names(in: file.connection) {
      let new = UUID().uuidString
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
      try FileManager.default.copyItem(
        at: StoreLocation.externalData(of: source).appendingPathComponent(name),
        to: folder.appendingPathComponent(new))
      try file.connection.run(
        "UPDATE ZNOTE SET ZPHOTO = ?1 WHERE ZPHOTO = ?2",
        [.blob(Data([2]) + Data(new.utf8) + Data([0])), .blob(Data([2]) + Data(name.utf8) + Data([0]))])
    }
    let planned = try StoreMigration(
      storeAt: destination, metadata: file.metadata(), known: ModelVersions(around: step.destinationModel),
      destination: .init(name: step.destination, model: step.destinationModel), configuration: nil, allowsLoss: true)
    _ = try InPlaceMigration(
      migration: StoreMigration(
        planned,
        steps: [
          .init(
            source: step.source, destination: step.destination, kind: .inferred, sourceModel: step.sourceModel,
            destinationModel: step.destinationModel, mappingModel: step.mappingModel, mappingURL: nil, reason: "")
        ], of: destination, metadata: file.metadata()), file: file
    ).run { _ in }
    try file.close()
    try progress(3, 3)
    return []
  }

  /// The names of everything in a folder and below, but for values, which are counted.
  static func files(_ folder: URL) throws -> [String] {
    let names = try FileManager.default.subpathsOfDirectory(atPath: folder.path).filter {
      !$0.hasSuffix("_SUPPORT") && !$0.hasSuffix("_EXTERNAL_DATA")
    }
    let values = names.filter { $0.contains("_EXTERNAL_DATA/") }
    let others = names.filter { !$0.contains("_EXTERNAL_DATA/") && !$0.hasSuffix("-wal") && !$0.hasSuffix("-shm") }
    return others.sorted() + (values.isEmpty ? [] : ["\(values.count) values"])
  }
}

/// A policy as somebody could have written it: it has a hand in every object.
final class TorturePolicy: NSEntityMigrationPolicy {
  override func createDestinationInstances(
    forSource sInstance: NSManagedObject, in mapping: NSEntityMapping, manager: NSMigrationManager
  ) throws {
    try super.createDestinationInstances(forSource: sInstance, in: mapping, manager: manager)
    for object in manager.destinationInstances(forEntityMappingName: mapping.name, sourceInstances: [sInstance])
    where object.entity.attributesByName["body"] != nil {
      object.setValue(sInstance.value(forKey: "body"), forKey: "body")
    }
  }
}
