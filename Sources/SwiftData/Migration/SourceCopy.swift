// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataStoreFiles
import Foundation

extension MigrationStage {
  /// A step with code before it, and code after it that reads the models of both versions. An addition to Apple's API.
  ///
  /// ```swift
  /// MigrationStage.custom(fromVersion: ShopV1.self, toVersion: ShopV2.self, willMigrate: nil) { source, destination in
  ///   for old in try source.fetch(FetchDescriptor<ShopV1.Item>()) {
  ///     guard let new = destination.model(for: old.persistentModelID) as? ShopV2.Item else { continue }
  ///     new.price = Decimal(string: old.priceText) ?? 0
  ///   }
  /// }
  /// ```
  ///
  /// The rows are copied before the step, and the copy is removed when `didMigrate` has finished: the directory of the
  /// store needs as much space again. A process that is killed in `didMigrate` leaves the copy, and the code runs again
  /// with it.
  ///
  /// - Parameters:
  ///   - fromVersion: the old version.
  ///   - toVersion: the new version.
  ///   - willMigrate: the code before the step; nil for none.
  ///   - didMigrate: the code after the step. The source has the rows and classes of the old version, as `willMigrate`
  ///     has left them, and cannot be saved. A row that both versions have has the same `persistentModelID` in both;
  ///     a stage that gives classes a common superclass, which changes identifiers, is refused.
  public static func custom(
    fromVersion: any VersionedSchema.Type, toVersion: any VersionedSchema.Type,
    willMigrate: ((ModelContext) throws -> Void)?,
    didMigrate: @escaping (_ source: ModelContext, _ destination: ModelContext) throws -> Void
  ) -> MigrationStage {
    .customReadingSource(
      fromVersion: fromVersion, toVersion: toVersion, willMigrate: willMigrate, didMigrate: didMigrate)
  }
}

/// The copy of a store as it was before the step of a stage, beside the store: `.Items.store-source`.
///
/// It is complete before the step begins, and stays until what `didMigrate` has saved is in the store.
struct SourceCopy {
  private let store: URL
  private let directory: URL

  init(of store: URL) {
    // The next process to open the store may use another name.
    let store = StoreLocation(store).file
    self.store = store
    directory = store.deletingLastPathComponent()
      .appendingPathComponent(".\(store.lastPathComponent)-source", isDirectory: true)
  }

  var exists: Bool { FileManager.default.fileExists(atPath: directory.path) }

  /// The name that a backup has in a directory without any.
  private var file: URL {
    let (name, ending) = (store.deletingPathExtension().lastPathComponent, store.pathExtension)
    return directory.appendingPathComponent(ending.isEmpty ? "\(name)~" : "\(name)~.\(ending)")
  }

  /// Makes the copy. One that a process left which was killed before its step is replaced.
  func make() throws {
    if exists { try FileManager.default.removeItem(at: directory) }
    _ = try StoreBackup.make(of: store, in: directory)
  }

  func discard() {
    // What stays is removed when the store is next opened.
    try? FileManager.default.removeItem(at: directory)
  }

  /// Opens the copy for reading.
  ///
  /// - Throws: `SwiftDataError.loadIssueModelContainer` if it is missing, or is not of this store and version.
  func open(_ version: PlannedVersion, configuration: String?, label: String) throws -> SourceStore {
    do {
      let expected = try NSPersistentStoreCoordinator.metadataForPersistentStore(type: .sqlite, at: store)
      let found = try NSPersistentStoreCoordinator.metadataForPersistentStore(type: .sqlite, at: file)
      guard found[NSStoreUUIDKey] as? String == expected[NSStoreUUIDKey] as? String,
        version.wrote(found, configuration)
      else {
        throw SwiftDataError(.loadIssueModelContainer, "The copy is of another store, or of another version.")
      }
      return try SourceStore(version, at: file, configuration: configuration)
    } catch {
      throw SwiftDataError(
        .loadIssueModelContainer,
        "The store \(store.path) was migrated by the stage \(label), whose didMigrate has not finished and needs the "
          + "copy of the rows of \(version.name), \(file.path), which cannot be read. Put the copy back, or restore a "
          + "backup of the store.", cause: error)
    }
  }
}

/// A store of the old version, which is open for reading while `didMigrate` runs.
final class SourceStore {
  let context: ModelContext
  private let coordinator: NSPersistentStoreCoordinator
  private let store: NSPersistentStore

  init(_ version: PlannedVersion, at url: URL, configuration: String?) throws {
    coordinator = NSPersistentStoreCoordinator(managedObjectModel: version.model)
    store = try coordinator.addPersistentStore(
      type: .sqlite, configuration: configuration, at: url, options: [NSReadOnlyPersistentStoreOption: true])
    context = ModelContext(ModelContainer(version.schema, over: coordinator))
  }

  func close() throws { try coordinator.remove(store) }
}
