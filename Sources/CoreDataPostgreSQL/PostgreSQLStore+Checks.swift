// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataModelFiles
import CoreDataPostgreSQLClient
import CoreDataStoreFiles

extension PostgreSQLStore {
  /// Returns the layout of a model's entities, without the indexes that the server lacks. Checks when the store is opened
  /// that the server declares its tables as this framework needs them.
  ///
  /// What makes reads or writes wrong, or makes them fail, is an error; what others may do to rows that are written is a
  /// warning; what only makes the store slow is left to `coredata store verify`.
  ///
  /// - Parameter metadata: The metadata of the store.
  /// - Throws: 513 for missing privileges; 134020 for other changes; the errors of `SchemaInDatabase.layout`.
  func checkedLayout(
    of document: ModelDocument, _ schema: SchemaInDatabase, _ metadata: [String: Any]
  ) throws -> StoreSchema {
    // A migration compares the tables itself, and the constraints of an unfinished copy are created at its end.
    guard borrowed == nil, metadata[StoreMetadata.Key.unfinishedCopy] == nil, !StoreOptions(options).ignoresVersioning
    else { return try schema.layout(document, configuration: customConfigurationName) }
    let facts = try SchemaFacts(schema.connection, schema: schema.address.schema)
    let layout = try schema.layout(document, configuration: customConfigurationName, keepsMissingIndexes: true)
    try refuse(SchemaCheck(facts, layout, recordsHistory: StoreOptions(options).tracksHistory), schema)
    return layout.withIndexes { facts.indexes.contains($0) }
  }

  private func refuse(_ check: SchemaCheck, _ schema: SchemaInDatabase) throws {
    let findings = check.findings
    if findings.allSatisfy({ $0.harm == .none }) { return }
    let isReadOnly = try isReadOnly || schema.connection.isReadOnlyServer()
    let allowsMissingPrivileges = StoreOptions(options).flag(PostgreSQLMissingPrivilegesOption)
    var serious = findings.filter { finding in
      switch finding.harm {
      case .reading: true
      case .writing: !isReadOnly && !(allowsMissingPrivileges && finding.problem.kind == .privilege)
      case .doubtful, .none: false
      }
    }
    if serious.contains(where: { $0.problem.kind == .constraint }) {
      // A model with other delete rules has the same version hashes, and needs other foreign keys. The server has those
      // of the model that created the tables.
      let recorded = try schema.cachedModel().map { document in
        try schema.layout(
          document, configuration: customConfigurationName, allowsMissing: true, keepsMissingIndexes: true)
      }
      let known = Set((recorded.map { SchemaCheck(check.facts, $0).findings } ?? []).map(\.problem))
      serious.removeAll { $0.problem.kind == .constraint && !known.contains($0.problem) }
    }
    let isReadable = !serious.contains { $0.harm == .reading }
    let (missing, changed) = (
      serious.map(\.problem).filter { $0.kind == .privilege }, serious.map(\.problem).filter { $0.kind != .privilege }
    )
    if !changed.isEmpty { throw PostgreSQLStoreErrors.changedTables(url: url, changed, isReadable: isReadable) }
    if !missing.isEmpty { throw PostgreSQLStoreErrors.missingPrivileges(url: url, missing, isReadable: isReadable) }
    for finding in findings where finding.harm == .doubtful && !isReadOnly {
      Warnings.printOnce("\(finding.problem.text) \(finding.problem.cure)")
    }
  }
}
