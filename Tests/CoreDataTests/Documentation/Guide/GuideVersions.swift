// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataTestSupport
import Foundation
import Testing

/// The versions of a model as an `.xcdatamodeld`, from the elements that the guide shows, and a store of one of them.
final class GuideVersions {
  private let directory: TemporaryDirectory
  private let names: [String]
  /// The bundle with all versions; the last one is current.
  let modelURL: URL
  /// The location of the store.
  let storeURL: URL

  /// Creates the bundle with the versions `NAME`, `NAME 2` and so on, and no store yet.
  ///
  /// - Parameter versions: the entities of each version, as in its `contents`.
  init(_ name: String, _ versions: [String]) throws {
    directory = try TemporaryDirectory()
    names = versions.indices.map { $0 == 0 ? name : "\(name) \($0 + 1)" }
    modelURL = directory.file("\(name).xcdatamodeld")
    storeURL = directory.file("\(name).sqlite")
    for (version, entities) in zip(names, versions) {
      try directory.write(
        """
        <?xml version="1.0" encoding="UTF-8"?>
        <model type="com.apple.IDECoreDataModeler.DataModel" documentVersion="1.0">
        \(entities)
        </model>
        """, to: "\(name).xcdatamodeld/\(version).xcdatamodel/contents")
    }
    let marker = try PropertyListSerialization.data(
      fromPropertyList: ["_XCCurrentVersionName": "\(names[names.count - 1]).xcdatamodel"], format: .xml, options: 0)
    try directory.write(marker, to: "\(name).xcdatamodeld/.xccurrentversion")
  }

  /// The directory of the model and the store.
  var folder: URL { directory.url }

  /// A version, counted from 1.
  func model(_ number: Int) throws -> NSManagedObjectModel {
    try NSManagedObjectModel.load(contentsOf: modelURL, version: names[number - 1])
  }

  /// Writes a mapping model as text.
  @discardableResult
  func write(_ text: String, to name: String) throws -> URL { try directory.write(text, to: name) }

  /// Creates the store, or adds to it, with a version.
  func fill(_ number: Int = 1, _ body: (NSManagedObjectContext) throws -> Void) throws {
    try open(number) { context in
      try body(context)
      try context.save()
    }
  }

  /// Opens a store with a version, without migrating it.
  @discardableResult
  func open<Result>(
    _ number: Int, at url: URL? = nil, _ body: (NSManagedObjectContext) throws -> Result
  ) throws -> Result {
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: try model(number))
    let store = try coordinator.addPersistentStore(type: .sqlite, at: url ?? storeURL)
    let context = NSManagedObjectContext(.privateQueue)
    context.persistentStoreCoordinator = coordinator
    defer {
      // A store that stays open does no harm to a test.
      try? coordinator.remove(store)
    }
    return try body(context)
  }

  /// The rows of an entity in a version, as the values of keys or key paths, joined by commas and sorted.
  func rows(_ entity: String, _ keys: String..., version number: Int) throws -> [String] {
    try open(number) { context in
      try context.fetch(NSFetchRequest<NSManagedObject>(entityName: entity)).map { object in
        keys.map { Self.text(object.value(forKeyPath: $0)) }.joined(separator: ", ")
      }.sorted()
    }
  }

  private static func text(_ value: Any?) -> String {
    switch value {
    case nil: "nil"
    case let set as Set<AnyHashable>: "{" + set.map { text($0) }.sorted().joined(separator: " ") + "}"
    case let value?: "\(value)"
    }
  }

  /// The number of the version that wrote the store; nil if none did.
  func version() throws -> Int? {
    let metadata = try NSPersistentStoreCoordinator.metadataForPersistentStore(type: .sqlite, at: storeURL)
    return try names.indices.first {
      try model($0 + 1).isConfiguration(withName: nil, compatibleWithStoreMetadata: metadata)
    }.map { $0 + 1 }
  }

  /// Plans and runs the migration to the current version, which must fail with an error and leave the store as it was.
  ///
  /// - Parameter text: the reason, without the sentence about the place of the store; its lines are joined by spaces.
  @discardableResult
  func expectFailure(
    _ code: Int, _ text: String, mappings: [URL] = [], sourceLocation: SourceLocation = #_sourceLocation
  ) throws -> NSError {
    let before = try version()
    let error = try #require(throws: NSError.self, sourceLocation: sourceLocation) {
      _ = try StoreMigration(storeAt: storeURL, modelsAt: modelURL, mappings: mappings).run()
    }
    let reason = (error.localizedFailureReason ?? "").replacingOccurrences(
      of: " The store is '\(storeURL.path)'.", with: "")
    #expect(reason == text.replacingOccurrences(of: "\n", with: " "), sourceLocation: sourceLocation)
    #expect(error.code == code && error.domain == NSCocoaErrorDomain, sourceLocation: sourceLocation)
    #expect(try version() == before, sourceLocation: sourceLocation)
    return error
  }
}
