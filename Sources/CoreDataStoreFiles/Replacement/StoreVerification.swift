// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataFileSystem
import CoreDataModelFiles
import CoreDataSQLite
import Foundation

/// Verifies a new store before it replaces another.
package struct StoreVerification {
  package let url: URL
  /// The model that the store must fit; nil to check only the file.
  package var model: Model?
  /// Whether the files that rows reference must exist.
  package var requiresExternalData = true

  /// A model that a store must fit.
  package struct Model {
    package let document: ModelDocument
    package let configuration: String?
    /// Whether a store with these metadata fits.
    package let fits: ([String: Any]) -> Bool

    package init(document: ModelDocument, configuration: String?, fits: @escaping ([String: Any]) -> Bool) {
      self.document = document
      self.configuration = configuration
      self.fits = fits
    }
  }

  package init(url: URL, model: Model? = nil) {
    self.url = url
    self.model = model
  }

  /// The content of a verified store.
  package struct Result {
    /// The files of values that rows reference.
    package let external: Set<String>
    /// Rows by entity, without those of sub-entities.
    package let rows: [String: Int]

    package init(
      external: Set<String>, rows: [String: Int]
    ) {
      self.external = external
      self.rows = rows
    }
  }

  /// Checks pages, metadata, tables and files of values, and leaves the store without a log.
  ///
  /// - Parameter journalMode: the journal mode of the store.
  /// - Throws: `Problem`; `SchemaProblem`, `StoreFileProblem`, `SQLiteError`.
  package func carryOut(leaving journalMode: SQLiteJournalMode) throws -> Result {
    let file = try StoreFile.open(url, isReadOnly: false)
    do {
      let result = try check(file)
      try file.connection.setJournalMode(.delete)
      if journalMode == .wal { try file.connection.setJournalMode(.wal) }
      try file.close()
      if let log = StoreLocation(url).companions.first(where: FileCalls.exists) {
        throw Problem(reason: "'\(log.lastPathComponent)' is left beside it.")
      }
      return result
    } catch {
      // Why the store cannot be used is what matters.
      try? file.close()
      throw error
    }
  }

  /// Why a new store cannot be used.
  package struct Problem: Error {
    package let reason: String

    package init(
      reason: String
    ) {
      self.reason = reason
    }
  }

  private func check(_ file: StoreFile) throws -> Result {
    let damage = try file.connection.integrityCheck(quick: true, limit: 3)
    guard damage.isEmpty else { throw Problem(reason: "SQLite finds: \(damage.joined(separator: "; ")).") }
    let external = try ExternalReferences.names(in: file.connection)
    let folder = StoreLocation.externalData(of: url)
    let missing = external.sorted().first { !FileCalls.exists(folder.appendingPathComponent($0)) }
    if requiresExternalData, let missing {
      throw Problem(reason: "The file \(missing) of one of its values is missing.")
    }
    return Result(external: external, rows: try model.map { try rows(file, $0) } ?? [:])
  }

  private func rows(_ file: StoreFile, _ model: Model) throws -> [String: Int] {
    guard try model.fits(file.metadata()) else {
      throw Problem(reason: "Its version hashes are not those of the model.")
    }
    return try Self.rows(
      file, file.schema(for: model.document, configuration: model.document.configuration(model.configuration)))
  }

  /// Rows by entity. No index is used: one that does not fit its table would hide rows.
  package static func rows(_ file: StoreFile, _ schema: StoreSchema) throws -> [String: Int] {
    var counts = Dictionary(schema.entities.map { ($0.name, 0) }) { $1 }
    for table in schema.tables {
      let name = SQLName.quoted(table.name)
      let hierarchy = schema.entities.filter { $0.table == table.name }
      if hierarchy.count == 1, let only = hierarchy.first {
        // Rows inserted by hand may have any number. Besides, this needs no sorting.
        counts[only.name] = Int(try file.connection.scalar("SELECT COUNT(*) FROM \(name) NOT INDEXED")?.integer ?? 0)
        continue
      }
      for row in try file.connection.rows("SELECT Z_ENT, COUNT(*) FROM \(name) NOT INDEXED GROUP BY Z_ENT") {
        let entity = hierarchy.first { Int64($0.number) == row[0].integer }
        if let entity { counts[entity.name, default: 0] += Int(row[1].integer ?? 0) }
      }
    }
    return counts
  }
}
