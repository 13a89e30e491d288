// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import CoreDataSQLite
import Foundation

/// The three tables by which a store knows itself: `Z_PRIMARYKEY`, `Z_METADATA` and `Z_MODELCACHE`.
struct StoreHousekeeping {
  private let connection: SQLiteConnection

  init(_ connection: SQLiteConnection) {
    self.connection = connection
  }

  // MARK: Entities

  /// The rows of `Z_PRIMARYKEY`, by number.
  func primaryKeys() throws -> [PrimaryKeyRow] {
    try connection.rows("SELECT Z_ENT, Z_NAME, Z_SUPER, Z_MAX FROM Z_PRIMARYKEY ORDER BY Z_ENT").map { row in
      PrimaryKeyRow(
        number: Int(row[0].integer ?? 0), name: row[1].text ?? "", parentNumber: Int(row[2].integer ?? 0),
        maximum: row[3].integer ?? 0)
    }
  }

  /// Puts other rows in the place of all but those of persistent history, which are numbered from 16001.
  func replacePrimaryKeys(_ rows: [PrimaryKeyRow]) throws {
    try connection.run("DELETE FROM Z_PRIMARYKEY WHERE Z_ENT < 16001")
    for row in rows {
      try connection.run(
        "INSERT INTO Z_PRIMARYKEY (Z_ENT, Z_NAME, Z_SUPER, Z_MAX) VALUES (?, ?, ?, ?)",
        [.integer(Int64(row.number)), .text(row.name), .integer(Int64(row.parentNumber)), .integer(row.maximum)])
    }
  }

  // MARK: Metadata

  /// The metadata as the store keeps them, with type and UUID.
  ///
  /// - Throws: `StoreDamage` where the table or its property list is not what Core Data writes.
  func metadata() throws -> [String: Any] {
    guard try connection.hasTable("Z_METADATA") else {
      throw StoreDamage(
        reason: "It is a SQLite database, but has no table Z_METADATA, so Core Data has not made it.")
    }
    guard let row = try connection.rows("SELECT Z_UUID, Z_PLIST FROM Z_METADATA LIMIT 1").first else {
      throw StoreDamage(reason: "Its table Z_METADATA is empty.")
    }
    var metadata: [String: Any] = [:]
    if let plist = row[1].blob {
      do {
        let decoded = try PropertyListSerialization.propertyList(from: plist, options: [], format: nil)
        guard let dictionary = decoded as? [String: Any] else {
          throw StoreDamage(reason: "The property list in its table Z_METADATA is not a dictionary.")
        }
        metadata = dictionary
      } catch let error as NSError {
        throw StoreDamage(reason: "The property list in its table Z_METADATA cannot be read: \(error.localizedDescription)")
      }
    }
    metadata[NSStoreUUIDKey] = row[0].text
    metadata[NSStoreTypeKey] = metadata[NSStoreTypeKey] ?? NSSQLiteStoreType
    return metadata
  }

  /// Writes all metadata; the UUID goes into its own column.
  func setMetadata(_ metadata: [String: Any]) throws {
    var plist = metadata
    let uuid = plist.removeValue(forKey: NSStoreUUIDKey) as? String ?? UUID().uuidString
    let data = try PropertyListSerialization.data(fromPropertyList: plist, format: .binary, options: 0)
    try connection.run("DELETE FROM Z_METADATA")
    try connection.run(
      "INSERT INTO Z_METADATA (Z_VERSION, Z_UUID, Z_PLIST) VALUES (1, ?, ?)", [.text(uuid), .blob(data)])
  }

  // MARK: The model

  /// The model that the store carries; nil for stores of systems before 2012, and for those whose cache is empty.
  ///
  /// - Throws: `ModelFileError` when there is one and it cannot be read.
  func cachedModel() throws -> ModelDocument? {
    guard try connection.hasTable("Z_MODELCACHE"),
      let content = try connection.scalar("SELECT Z_CONTENT FROM Z_MODELCACHE LIMIT 1")?.blob
    else { return nil }
    return try ModelCache.decode(content)
  }

  /// Writes what the store says of its model: hashes, digest, checksum, identifiers, and the model itself.
  func adopt(_ model: NSManagedObjectModel, configuration: String?) throws {
    var metadata = try metadata()
    for (key, value) in ModelMetadata.entries(of: model, configuration: configuration) { metadata[key] = value }
    try setMetadata(metadata)
    if try !connection.hasTable("Z_MODELCACHE") { try connection.run("CREATE TABLE Z_MODELCACHE (Z_CONTENT BLOB)") }
    try connection.run("DELETE FROM Z_MODELCACHE")
    try connection.run(
      "INSERT INTO Z_MODELCACHE (Z_CONTENT) VALUES (?)", [.blob(try ModelCache.encode(model.document))])
  }
}

/// Why a file is no store, or a damaged one.
struct StoreDamage: Error {
  let reason: String
}

/// The metadata that follow from a model.
enum ModelMetadata {
  /// The framework version whose layout and metadata are written; that of the newest stores that were looked at.
  static let frameworkVersion = 1526
  /// The version of the way in which hashes are computed.
  static let hashesVersion = 3

  static func entries(of model: NSManagedObjectModel, configuration: String?) -> [String: Any] {
    let members = Set((model.entities(forConfigurationName: configuration) ?? model.entities).compactMap(\.name))
    let hashes = model.entityVersionHashesByName.filter { members.contains($0.key) }
    return [
      NSStoreTypeKey: NSSQLiteStoreType,
      "NSPersistenceFrameworkVersion": frameworkVersion,
      "NSPersistenceMaximumFrameworkVersion": frameworkVersion,
      NSStoreModelVersionHashesKey: hashes,
      "NSStoreModelVersionHashesVersion": hashesVersion,
      "NSStoreModelVersionHashesDigest": VersionHashes.digest(of: hashes),
      NSPersistentStoreModelVersionChecksumKey: VersionHashes.checksum(of: hashes),
      NSStoreModelVersionIdentifiersKey: model.versionIdentifiers.compactMap { $0.base as? String }.sorted(),
      "_NSAutoVacuumLevel": "2",
    ]
  }
}
