// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataMigration
import CoreDataModelFiles
import CoreDataPostgreSQLClient
import CoreDataStoreFiles

/// Runs inferred migration steps as SQL statements inside the server, in the transaction of a migration.
struct SchemaMigration {
  let schema: SchemaInDatabase
  let configuration: String?

  init(_ schema: SchemaInDatabase, configuration: String?) {
    (self.schema, self.configuration) = (schema, configuration)
  }

  /// Plans all steps from one model to the next.
  ///
  /// - Throws: `ServerStepObstacle` if a step cannot be run as statements; the errors of reading the catalog.
  func steps(through documents: [ModelDocument]) throws -> [ServerStep] {
    guard let first = documents.first else { return [] }
    var layout = try schema.layout(first, configuration: first.configuration(configuration))
    var keys = try schema.primaryKeys()
    var steps: [ServerStep] = []
    for (source, destination) in zip(documents, documents.dropFirst()) {
      let step = try ServerStep(
        from: source, schema: layout, primaryKeys: keys, to: destination, configuration: configuration,
        values: FrameworkValues())
      (layout, keys) = (step.schema, step.primaryKeys)
      steps.append(step)
    }
    return steps
  }

  /// Runs the steps, and writes the metadata and the model of the last version.
  ///
  /// - Parameter lock: Keeps others from writing to the store, and from reading the tables with the given names.
  /// - Returns: false if a step cannot be run as statements. Nothing has been changed then.
  func run(through documents: [ModelDocument], lockingTables lock: (Set<String>) throws -> Void) throws -> Bool {
    guard let last = documents.last else { return false }
    let steps: [ServerStep]
    do {
      steps = try self.steps(through: documents)
    } catch is ServerStepObstacle {
      return false
    }
    // All rows that others write come before the steps or are refused.
    try lock(
      Set(steps.flatMap(\.statements).flatMap(\.locks).filter { $0.mode == .accessExclusive }.map(\.table)))
    let database = schema.database
    for step in steps { try ServerStepRun(step, on: database).run() }
    try database.flush()
    var metadata = try schema.metadata()
    metadata.merge(try StoreMetadata.ofModel(last, configuration: last.configuration(configuration))) { $1 }
    metadata[StoreMetadata.Key.type] = NSPostgreSQLStoreType
    metadata[StoreMetadata.Key.autoVacuum] = nil
    try schema.setMetadata(metadata)
    try schema.setCachedModel(last)
    return true
  }
}
