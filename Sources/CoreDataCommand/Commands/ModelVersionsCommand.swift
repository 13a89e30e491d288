// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataAnalysis
import CoreDataModelFiles
import CoreDataTerminal
import Foundation

/// `coredata model versions`
enum ModelVersionsCommand: Command {
  static let specification = CommandSpecification(
    ["model", "versions"],
    summary: "List versions in order, the current one, checksums, and the changes between neighbours.",
    positionals: [.model],
    options: [
      .flag("hashes", summary: "Show the version hash of every entity (JSON has it always, in hexadecimal)."),
      .format(.text, .json, .markdown),
    ])

  static func run(_ invocation: CommandInvocation) throws -> ExitStatus {
    let model = try invocation.model()
    try model.requireNoVersion()
    if let current = model.currentName, !model.names.contains(current) {
      invocation.remark("The version marked as current, \"\(current)\", is missing.")
    }
    let versions = model.versions.map { (version: $0, hashes: VersionHashes($0.document)) }
    let steps = zip(model.versions, model.versions.dropFirst()).map {
      (from: $0.name, to: $1.name, difference: ModelDifference(from: $0.document, to: $1.document))
    }
    if invocation.options.format == .json {
      try invocation.write(
        [
          "format": "coredata.model-versions/1",
          "current": .optional(model.currentName),
          "versions": .array(
            versions.map { version, hashes in
              [
                "name": .string(version.name), "checksum": .string(hashes.checksum),
                "identifiers": .array(version.document.versionIdentifiers.map { .string($0) }),
                "entities": .object(
                  hashes.entities.sorted { $0.key < $1.key }.map {
                    .init($0.key, .string(NumberText.hexadecimal($0.value)))
                  }),
              ]
            }),
          "steps": .array(
            steps.map {
              [
                "from": .string($0.from), "to": .string($0.to),
                "migration": .string($0.difference.migration.rawValue),
                "changes": .integer($0.difference.changes.count),
              ]
            }),
          "warnings": .array(model.allRemarks.map { .string($0) }),
        ])
      return .done
    }

    var table = TextTable([.init(), .init("Version"), .init("Entities", .trailing), .init("Checksum")])
    for (version, hashes) in versions {
      table.add([
        version.name == model.currentName ? "*" : "", version.name, String(version.document.entities.count),
        hashes.checksum,
      ])
    }
    var changes = TextTable([
      .init("From"), .init("To"), .init("Migration"), .init("Changes", .trailing), .init("Entities"),
    ])
    for step in steps {
      changes.add([
        step.from, step.to, step.difference.migration.rawValue, String(step.difference.changes.count),
        Self.capped(step.difference.entities.compactMap { $0 }),
      ])
    }
    var entities = TextTable([.init("Version"), .init("Entity"), .init("Version hash")])
    for (version, hashes) in versions {
      for (name, hash) in hashes.entities.sorted(by: { $0.key < $1.key }) {
        entities.add([version.name, name, hash.base64EncodedString()])
      }
    }
    let showsHashes = invocation.arguments.flag("hashes")
    if invocation.options.format == .markdown {
      try invocation.result.write(table.markdown)
      if !steps.isEmpty { try invocation.result.write("\n" + changes.markdown) }
      if showsHashes { try invocation.result.write("\n" + entities.markdown) }
      return .done
    }
    var report = invocation.report()
    let current = model.currentName.map { "current \($0)" } ?? "none marked as current"
    report.section("\(model.name)  \(NumberText.counted(versions.count, "version")), \(current)") { $0.table(table) }
    if !steps.isEmpty {
      report.line()
      report.section("Between neighbours") { $0.table(changes) }
    }
    if showsHashes {
      report.line()
      report.section("Hashes") { $0.table(entities) }
    }
    try invocation.write(report)
    return .done
  }

  /// Joins as many names as fit on one line.
  private static func capped(_ names: [String]) -> String {
    let shown = names.prefix(6).joined(separator: ", ")
    return names.count > 6 ? "\(shown) and \(names.count - 6) more" : shown
  }
}
