// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataModelFiles
import CoreDataStoreFiles
import Foundation

/// A store on a server, whose rows are counted there with SQL.
package struct ServerRows {
  /// Thrown if another process has migrated the store since its copy was made.
  package struct Changed: Error {}

  private let url: URL
  private let kind: any ServerStore.Type

  package init(of url: URL, _ kind: any ServerStore.Type) { (self.url, self.kind) = (url, kind) }

  /// Runs a body in a snapshot of the store that has the state of its copy.
  func reading<Result>(_ copy: StoreReader, _ body: (any ServerContents) throws -> Result) throws -> Result {
    try kind.reading(at: url) { contents in
      let hashes = try contents.metadata()[StoreMetadata.Key.hashes] as? [String: Data]
      guard hashes == copy.metadata.hashes else { throw Changed() }
      return try body(contents)
    }
  }

  /// Returns the rows of exactly each entity.
  ///
  /// - Parameter model: the model of the store.
  /// - Throws: the errors of the server.
  package func counts(_ model: ModelDocument) throws -> [String: Int] {
    try kind.reading(at: url) { contents in
      let schema = try contents.schema(for: model, configuration: model.configuration(nil))
      return try ServerCounter(database: contents.database, schema: schema, name: url.storeName).rowCounts()
    }
  }
}

/// Counts rows and values on a server.
struct ServerCounter: StoreCounting {
  let database: any SQLDatabase
  let schema: StoreSchema?
  let entities: [ReadableEntity]
  let name: String

  init(database: any SQLDatabase, schema: StoreSchema, name: String) {
    (self.database, self.schema, self.name) = (database, schema, name)
    entities = ReadableEntity.prepared(schema.entities.map { ReadableEntity(layout: $0) })
  }

  /// - Parameter copy: a copy of the store without rows, with the model used for counting.
  /// - Throws: `StoreProblem` if the copy has no model; `SchemaProblem` if the tables on the server do not match it.
  init(_ contents: any ServerContents, of copy: StoreReader) throws {
    guard let document = copy.model else {
      throw StoreProblem(.damaged, "The model of \(copy.name) does not fit its tables.")
    }
    let configuration = StoreMatch.configuration(of: document, matching: copy.metadata.hashes)
    self.init(
      database: contents.database, schema: try contents.schema(for: document, configuration: configuration),
      name: copy.name)
  }

  func reading<Result>(_ body: () throws -> Result) throws -> Result { try body() }

  /// Does nothing, since the layout was already found on the server.
  func checkTables(of entities: [ReadableEntity]) throws {}
}
