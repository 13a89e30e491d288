// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataFileSystem
import CoreDataStoreFiles
import CoreDataTesting
import Foundation
import SwiftData

/// A store in a temporary directory, which only the user of this process may read.
struct TestStore {
  private let directory: PrivateDirectory
  let url: URL

  private init(_ name: String) throws {
    directory = try PrivateDirectory.make(
      prefix: "OpenCoreData-plan-", in: FileManager.default.temporaryDirectory)
    url = directory.url.appendingPathComponent(name)
  }

  /// Copies a store. The original is only read.
  static func copy(of store: URL) throws -> TestStore {
    guard FileCalls.exists(store), !FileCalls.isDirectory(store) else {
      throw NSError(
        domain: NSCocoaErrorDomain, code: NSFileReadNoSuchFileError,
        userInfo: [
          NSLocalizedDescriptionKey:
            "There is no store at \(store.path). Commit stores of shipped versions, and name their directory."
        ])
    }
    let copy = try TestStore(store.lastPathComponent)
    try copy.fill(from: store)
    return copy
  }

  private func fill(from store: URL) throws {
    try FileCalls.makePrivateFile(url)
    let file = try StoreFile.openUntouched(store)
    try file.connection.backup(toPath: url.path)
    try file.close()
    try StoreFiles.linkValues(of: store, to: url)
  }

  /// Makes a store of a version with sample rows.
  static func made(_ version: PlanRehearsal.Version, _ kind: ModelFilling.Kind, seed: Int) throws -> TestStore {
    let store = try TestStore("\(version.name).store")
    do {
      _ = try ModelContainer(for: version.schema, configurations: ModelConfiguration(url: store.url))
      var filling = ModelFilling(version.model.document, kind, first: seed * 1000, keepsRules: true)
      let attributes = version.schema.storedAttributes
      // Each kind of rows begins with other cases of enums.
      let offset = 4 * (ModelFilling.Kind.allCases.firstIndex(of: kind) ?? 0) + seed - 1
      filling.sample = { entity, name, number, row in
        try attributes[entity]?[name]?.sampleStored(number, row: row + offset) { SampleLeaf.value($0, number) }
      }
      try store.withContext(version) { try filling.fill($0) }
      return store
    } catch {
      store.remove()
      throw error
    }
  }

  /// Calls a function with the location, and removes the store.
  func with<Result>(_ body: (URL) throws -> Result) throws -> Result {
    defer { remove() }
    return try body(url)
  }

  func remove() {
    // What is left is private, and the system clears the temporary directory.
    try? directory.remove()
  }

  /// Calls a function with a context over the store, which has a version.
  func withContext<Result>(
    _ version: PlanRehearsal.Version, _ body: (NSManagedObjectContext) throws -> Result
  ) throws -> Result {
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: version.model)
    let store = try coordinator.addPersistentStore(
      type: .sqlite, at: url, options: [NSPersistentHistoryTrackingKey: true])
    let context = NSManagedObjectContext(.privateQueue)
    context.persistentStoreCoordinator = coordinator
    let result = try context.performAndWait { try body(context) }
    try coordinator.remove(store)
    return result
  }

  /// Copies the store as it is to a directory for failures, and returns the copy's location.
  func keep(as name: String) throws -> URL {
    let place = FileManager.default.temporaryDirectory.appendingPathComponent("FailedMigrations", isDirectory: true)
    try FileManager.default.createDirectory(at: place, withIntermediateDirectories: true)
    // Tests of several plans run at the same time.
    let file = place.appendingPathComponent(
      name.map { $0.isLetter || $0.isNumber ? String($0) : "-" }.joined() + "-\(UUID().uuidString.prefix(8)).store")
    try FileManager.default.copyItem(at: url, to: file)
    return file
  }
}

extension Schema {
  /// The attributes of each entity by name, including inherited ones.
  fileprivate var storedAttributes: [String: [String: Attribute]] {
    func all(_ entity: Entity) -> [Attribute] { Array(entity.attributes) + (entity.superentity.map(all) ?? []) }
    return Dictionary(
      entities.map { entity in
        (entity.name, Dictionary(all(entity).map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first }))
      }, uniquingKeysWith: { first, _ in first })
  }
}

/// Values for the parts of structs in sample rows.
private enum SampleLeaf {
  static func value(_ type: NSAttributeType, _ number: Int) -> Any? {
    switch type {
    case .integer64AttributeType: NSNumber(value: number)
    case .doubleAttributeType, .floatAttributeType: NSNumber(value: Double(number) + 0.25)
    case .stringAttributeType: "text \(number)"
    case .dateAttributeType: Date(timeIntervalSinceReferenceDate: Double(number) + 0.5)
    default: nil
    }
  }
}

/// Files beside a test's source file.
enum TestFile {
  static func url(_ path: String, beside testFile: StaticString) -> URL {
    if path.hasPrefix("/") { return URL(fileURLWithPath: path) }
    return URL(fileURLWithPath: "\(testFile)").deletingLastPathComponent().appendingPathComponent(path)
  }
}
