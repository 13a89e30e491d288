// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataStoreFiles
import Foundation

/// The migration of an XML or binary store. Works like that of a SQLite store, on a `WorkingCopy`.
struct FileStoreMigration: OpeningMigration {
  let kind: FileStore.Type
  let opening: StoreOpening
  let metadata: [String: Any]

  /// - Throws: the errors of `AutomaticMigration.run()` and `StagedMigration.run()`; 134070 if another program has
  ///   changed the store. On an error, the store is unchanged.
  func run() throws {
    let (destination, configuration) = (opening.model, opening.configuration)
    let model = try opening.sourceModel(of: metadata)
    let copy = try WorkingCopy(of: opening.url, kind, model, configuration: configuration)
    defer { copy.remove() }
    let usesMappings = try copy.naming { try migrate(opening.ofCopy(at: copy.url)) }
    let kept = usesMappings && opening.settings.keepsReplacedStore ? try copy.keepOriginal() : nil
    do {
      _ = try copy.replaceOriginal(model: destination, configuration: configuration)
    } catch {
      // The caller needs the reason why the store was not replaced. A leftover file is only a copy of the store.
      if let kept { try? FileManager.default.removeItem(at: kept) }
      throw error
    }
  }

  /// Migrates the copy.
  ///
  /// - Returns: whether a mapping model was used.
  private func migrate(_ copy: StoreOpening) throws -> Bool {
    let metadata = try SQLiteStore.metadataForPersistentStore(with: copy.url)
    if let stages = StagedMigration(opening: copy, metadata: metadata) {
      try stages.run()
      return false
    }
    return try !AutomaticMigration(opening: copy, metadata: metadata).migrate().steps.allSatisfy(\.isInPlace)
  }
}
