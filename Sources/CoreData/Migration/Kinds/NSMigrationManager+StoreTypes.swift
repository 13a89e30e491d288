// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

extension NSMigrationManager {
  /// Migrates a store by way of working copies, if the source or the destination is not a SQLite database.
  ///
  /// - Throws: as `migrateStore(from:type:options:mapping:to:type:options:)`.
  func migrateByCopies(
    from sourceURL: URL, _ sourceKind: FileStore.Type?, _ sourceOptions: [AnyHashable: Any]?,
    by mapping: NSMappingModel, to destinationURL: URL, _ destinationKind: FileStore.Type?,
    _ destinationOptions: [AnyHashable: Any]?
  ) throws {
    try MappingResolver.check(mapping, from: sourceModel, to: destinationModel)
    try Self.checkDifferent(sourceURL, destinationURL)
    let source = try sourceKind.map { kind in
      try Self.sourceErrors(sourceURL) { try Self.copy(of: sourceURL, kind, sourceModel) }
    }
    defer { source?.remove() }
    let destination = try destinationKind.map { kind in
      try Self.destinationErrors(destinationURL) {
        kind.hasContents(at: destinationURL)
          ? try Self.copy(of: destinationURL, kind, destinationModel) : try WorkingCopy(for: destinationURL, kind)
      }
    }
    defer { destination?.remove() }
    func naming(_ body: () throws -> Void) throws {
      try source.map { try $0.naming(body) } ?? body()
    }
    let earlier = associationMark
    try naming {
      func migrate() throws {
        try self.migrate(
          from: source?.url ?? sourceURL, sourceOptions, by: mapping, to: destination?.url ?? destinationURL,
          destinationOptions, isDraft: false)
      }
      if let destination { try destination.naming(migrate) } else { try migrate() }
    }
    guard let destination else { return }
    do {
      let keepsNumbers = try Self.destinationErrors(destinationURL) {
        let metadata = try SQLiteStore.metadataForPersistentStore(with: destination.url)
        let configuration = destinationModel.configurationNames(fitting: metadata).first ?? nil
        return try destination.replaceOriginal(model: destinationModel, configuration: configuration)
      }
      // Associations refer to objects by their numbers.
      if !keepsNumbers { reset() }
    } catch {
      forgetAssociations(since: earlier)
      throw error
    }
  }

  private static func copy(
    of url: URL, _ kind: FileStore.Type, _ model: NSManagedObjectModel
  ) throws -> WorkingCopy {
    let metadata = try kind.metadataForPersistentStore(with: url)
    guard let configuration = model.configurationNames(fitting: metadata).first else {
      throw StoreCompatibility.error(metadata: metadata, model: model, configuration: nil, url: url)
    }
    return try WorkingCopy(of: url, kind, model, configuration: configuration)
  }

  private static func sourceErrors<Result>(_ url: URL, _ body: () throws -> Result) throws -> Result {
    do {
      return try body()
    } catch {
      throw MigrationErrors.unusableSource(url: url, error as NSError)
    }
  }

  private static func destinationErrors<Result>(_ url: URL, _ body: () throws -> Result) throws -> Result {
    do {
      return try body()
    } catch {
      throw MigrationErrors.unusableDestination(url: url, error as NSError)
    }
  }
}
