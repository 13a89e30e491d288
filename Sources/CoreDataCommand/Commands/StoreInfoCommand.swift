// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataAnalysis
import CoreDataModelFiles
import CoreDataTerminal
import Foundation

/// `coredata store info`
enum StoreInfoCommand: Command {
  static let specification = CommandSpecification(
    ["store", "info"],
    summary: "Show the type, identifier, model version, rows per entity, size and history of a store.",
    discussion: "The store is opened read-only. Neither the store nor any file beside it is changed.",
    positionals: [.store],
    options: [
      OptionSpecification(
        "model", .path("MODEL", .input), summary: "The model of the store, to name its version and to read it."),
      .format(.text, .json, .markdown),
    ])

  static func run(_ invocation: CommandInvocation) throws -> ExitStatus {
    let opened = try OpenedStore(invocation)
    let reader = opened.reader
    let metadata = reader.metadata
    let rows = try reader.rowCounts()
    let history = try reader.historyCounts()
    let names = reader.entityNames
    let server = try opened.place.serverFacts()
    let (type, size) = (server?.type ?? metadata.type, server?.bytes ?? reader.file.sizes.store)
    let log = server == nil ? reader.file.sizes.log : 0
    let findings = reader.findings(isVersionKnown: opened.versionName != nil).map { (nil as String?, $0) }
    if reader.origin == .tables || metadata.isDerived { opened.remark(invocation) }
    switch invocation.options.format {
    case .json:
      var members: [JSONText.Member] = [
        .init("format", "coredata.store-info/1"), .init("type", .string(type)),
        .init("uuid", .string(metadata.uuid)), .init("checksum", .string(metadata.checksum)),
        .init("version", .optional(opened.versionName)),
        .init("identifiers", .array(metadata.versionIdentifiers.map { .string($0) })),
        .init("frameworkVersion", .optional(metadata.frameworkVersion)),
        .init("model", .string(reader.origin.rawValue)),
        .init(
          "entities",
          .array(
            names.map { name in
              [
                "name": .string(name), "rows": .integer(rows[name] ?? 0),
                "hash": .optional(metadata.hashes[name].map { NumberText.hexadecimal($0) }),
              ]
            })),
        .init("bytes", .integer(size)), .init("logBytes", .integer(log)),
      ]
      if let history {
        let counts: JSONText = [
          "transactions": .integer(history.transactions), "changes": .integer(history.changes),
        ]
        members.append(.init("history", counts))
      }
      members.append(.init("findings", FindingText.json(findings)))
      try invocation.write(.object(members))
    case .markdown:
      try invocation.result.write(table(names, rows, metadata).markdown)
    default:
      var report = invocation.report()
      report.line(invocation.styler.style(reader.url.lastPathComponent, .bold))
      report.indented { report in
        var facts = TextTable([.init(), .init()])
        facts.add(["Type", type])
        facts.add(["Identifier", metadata.uuid])
        facts.add(["Model", modelText(opened)])
        facts.add(["Checksum", metadata.checksum])
        if let version = metadata.frameworkVersion { facts.add(["Framework", String(version)]) }
        let logText = log > 0 ? ", and \(NumberText.bytes(log)) of write-ahead log" : ""
        facts.add(["Size", NumberText.bytes(size) + logText])
        if let history {
          let transactions = NumberText.counted(history.transactions, "transaction")
          facts.add(["History", "\(transactions), \(NumberText.counted(history.changes, "change"))"])
        }
        if !metadata.applicationKeys.isEmpty {
          facts.add(["Metadata", metadata.applicationKeys.joined(separator: ", ")])
        }
        report.table(facts)
      }
      report.line()
      report.indented { $0.table(table(names, rows, metadata)) }
      if !findings.isEmpty { report.line() }
      FindingText.write(findings, to: &report)
      try invocation.write(report)
    }
    return .done
  }

  private static func modelText(_ opened: OpenedStore) -> String {
    let identifiers = opened.reader.metadata.versionIdentifiers.filter { !$0.isEmpty }.joined(separator: ", ")
    let known = opened.versionName ?? (identifiers.isEmpty ? nil : identifiers)
    switch opened.reader.origin {
    case .given: return known ?? "as named"
    case .cache: return (known.map { "\($0), " } ?? "") + "contained in the store"
    case .tables: return (known.map { "\($0), " } ?? "") + "not contained in the store"
    }
  }

  private static func table(_ names: [String], _ rows: [String: Int], _ metadata: StoreFacts) -> TextTable {
    var table = TextTable([.init("Entity"), .init("Rows", .trailing), .init("Version hash")])
    for name in names {
      table.add([
        name, NumberText.grouped(rows[name] ?? 0),
        metadata.hashes[name].map { NumberText.hexadecimal($0) } ?? "unknown",
      ])
    }
    return table
  }
}
