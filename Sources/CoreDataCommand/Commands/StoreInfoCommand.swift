// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataAnalysis
import CoreDataModelFiles
import CoreDataStoreFiles
import CoreDataTerminal
import Foundation

/// `coredata store info`
enum StoreInfoCommand: Command {
  static let specification = CommandSpecification(
    ["store", "info"],
    summary: "Show the type, identifier, model version, rows per entity, size and history of a store.",
    discussion: "The store is opened read-only. Neither the store nor any file beside it is changed.",
    positionals: [.anyStore],
    options: [
      OptionSpecification(
        "model", .path("MODEL", .input), summary: "The model of the store, to name its version and to read it."),
      .format(.text, .json, .markdown),
    ])

  /// The facts shown by the command.
  private struct Facts {
    let name: String
    let type: String
    let uuid: String
    let checksum: String
    let versionName: String?
    let identifiers: [String]
    let frameworkVersion: Int?
    /// The source of names and types, as in JSON.
    let origin: String
    /// The source of names and types as text, with the version.
    let model: String
    /// The number of rows of each entity; sorted by name in JSON and in the table.
    let rows: [String: Int]
    let hashes: [String: Data]
    let size: Int
    var logSize = 0
    var history: (transactions: Int, changes: Int)?
    let applicationKeys: [String]
    var findings: [Finding] = []

    /// Collects the facts of a store that has been opened.
    init(_ opened: OpenedStore) throws {
      let (reader, metadata) = (opened.reader, opened.reader.metadata)
      let server = try opened.address.serverFacts()
      name = reader.url.lastPathComponent
      type = opened.summary?.type.rawValue ?? server?.type ?? metadata.type
      (uuid, checksum) = (metadata.uuid, metadata.isMissing ? "" : metadata.checksum)
      (versionName, identifiers) = (opened.versionName, metadata.versionIdentifiers)
      frameworkVersion = (opened.summary?.metadata ?? metadata.dictionary)[StoreInfoCommand.frameworkKey] as? Int
      origin = reader.origin.rawValue
      model = StoreInfoCommand.modelText(reader.origin, opened.versionText, metadata.versionIdentifiers)
      let counts = try reader.rowCounts()
      rows = Dictionary(uniqueKeysWithValues: reader.entityNames.map { ($0, counts[$0] ?? 0) })
      hashes = metadata.hashes
      size = opened.summary?.size ?? server?.bytes ?? reader.file.sizes.store
      logSize = opened.summary == nil && server == nil ? reader.file.sizes.log : 0
      history = try reader.historyCounts()
      applicationKeys = metadata.applicationKeys
      findings = reader.findings(isVersionKnown: opened.versionName != nil)
    }

    /// Collects the facts available from an XML or binary store without a model.
    init(_ summary: FileStoreSummary, name: String) {
      let metadata = summary.metadata
      self.name = name
      type = summary.type.rawValue
      uuid = metadata[NSStoreUUIDKey] as? String ?? ""
      hashes = metadata[NSStoreModelVersionHashesKey] as? [String: Data] ?? [:]
      checksum = hashes.isEmpty ? "" : VersionHashes.checksum(of: hashes)
      versionName = nil
      identifiers = (metadata[NSStoreModelVersionIdentifiersKey] as? [Any] ?? []).map { String(describing: $0) }
      frameworkVersion = metadata[StoreInfoCommand.frameworkKey] as? Int
      origin = StoreReader.ModelOrigin.tables.rawValue
      model = StoreInfoCommand.modelText(.tables, nil, identifiers)
      rows = hashes.mapValues { _ in 0 }.merging(summary.objectCounts) { $1 }
      size = summary.size
      applicationKeys = StoreMetadata.applicationKeys(metadata)
    }
  }

  private static let frameworkKey = "NSPersistenceFrameworkVersion"

  static func run(_ invocation: CommandInvocation) throws -> ExitStatus {
    let address = try StoreAddress(invocation.arguments.argument("STORE"))
    let facts: Facts
    if case .file(let url) = address, invocation.arguments.value("model") == nil,
      let summary = try FileStoreSummary(of: url)
    {
      facts = Facts(summary, name: url.lastPathComponent)
    } else {
      let opened = try OpenedStore(invocation)
      facts = try Facts(opened)
      if opened.reader.origin == .tables || opened.reader.metadata.isDerived { opened.remark(invocation) }
    }
    try write(facts, invocation)
    return .done
  }

  private static func write(_ facts: Facts, _ invocation: CommandInvocation) throws {
    let findings = facts.findings.map { (nil as String?, $0) }
    switch invocation.options.format {
    case .json:
      var members: [JSONText.Member] = [
        .init("format", "coredata.store-info/1"), .init("type", .string(facts.type)),
        .init("uuid", .string(facts.uuid)), .init("checksum", .string(facts.checksum)),
        .init("version", .optional(facts.versionName)),
        .init("identifiers", .array(facts.identifiers.map { .string($0) })),
        .init("frameworkVersion", .optional(facts.frameworkVersion)),
        .init("model", .string(facts.origin)),
        .init(
          "entities",
          .array(
            facts.rows.sorted { $0.key < $1.key }.map { name, rows in
              [
                "name": .string(name), "rows": .integer(rows),
                "hash": .optional(facts.hashes[name].map { NumberText.hexadecimal($0) }),
              ]
            })),
        .init("bytes", .integer(facts.size)), .init("logBytes", .integer(facts.logSize)),
      ]
      if let history = facts.history {
        let counts: JSONText = [
          "transactions": .integer(history.transactions), "changes": .integer(history.changes),
        ]
        members.append(.init("history", counts))
      }
      members.append(.init("findings", FindingText.json(findings)))
      try invocation.write(.object(members))
    case .markdown:
      try invocation.result.write(table(facts).markdown)
    default:
      var report = invocation.report()
      report.line(invocation.styler.style(facts.name, .bold))
      report.indented { report in
        var list = TextTable([.init(), .init()])
        list.add(["Type", facts.type])
        list.add(["Identifier", facts.uuid])
        list.add(["Model", facts.model])
        list.add(["Checksum", facts.checksum.isEmpty ? "unknown" : facts.checksum])
        if let version = facts.frameworkVersion { list.add(["Framework", String(version)]) }
        let logText = facts.logSize > 0 ? ", and \(NumberText.bytes(facts.logSize)) of write-ahead log" : ""
        list.add(["Size", NumberText.bytes(facts.size) + logText])
        if let history = facts.history {
          let transactions = NumberText.counted(history.transactions, "transaction")
          list.add(["History", "\(transactions), \(NumberText.counted(history.changes, "change"))"])
        }
        if !facts.applicationKeys.isEmpty {
          list.add(["Metadata", facts.applicationKeys.joined(separator: ", ")])
        }
        report.table(list)
      }
      report.line()
      report.indented { $0.table(table(facts)) }
      if !findings.isEmpty { report.line() }
      FindingText.write(findings, to: &report)
      try invocation.write(report)
    }
  }

  private static func modelText(
    _ origin: StoreReader.ModelOrigin, _ version: String?, _ identifiers: [String]
  ) -> String {
    let named = identifiers.filter { !$0.isEmpty }.joined(separator: ", ")
    let known = version ?? (named.isEmpty ? nil : named)
    switch origin {
    case .given: return known ?? "as named"
    case .cache: return (known.map { "\($0), " } ?? "") + "contained in the store"
    case .tables: return (known.map { "\($0), " } ?? "") + "not contained in the store"
    }
  }

  private static func table(_ facts: Facts) -> TextTable {
    var table = TextTable([.init("Entity"), .init("Rows", .trailing), .init("Version hash")])
    for (name, rows) in facts.rows.sorted(by: { $0.key < $1.key }) {
      table.add([
        name, NumberText.grouped(rows), facts.hashes[name].map { $0.base64EncodedString() } ?? "unknown",
      ])
    }
    return table
  }
}
