// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataAnalysis
import CoreDataModelFiles
import CoreDataTerminal

/// `coredata model show`
enum ModelShowCommand: Command {
  static let specification = CommandSpecification(
    ["model", "show"], summary: "Show entities, properties, validation rules and indexes.",
    positionals: [.model],
    options: [
      OptionSpecification("version", .text("V"), summary: "The version to show (default: the current one)."),
      OptionSpecification("entity", .text("E"), summary: "Show only this entity."),
      .format(.text, .json, .markdown),
    ])

  static func run(_ invocation: CommandInvocation) throws -> ExitStatus {
    let model = try invocation.model()
    let version = try model.version(invocation.arguments.value("version"))
    let description = ModelDescription(version.document)
    var entities = description.entities
    if let wanted = invocation.arguments.value("entity") {
      entities = entities.filter { $0.name == wanted }
      guard !entities.isEmpty else {
        let names = description.entities.map(\.name)
        let likely = Likeness.nearest(to: wanted, among: names).map { " Did you mean \($0)?" } ?? ""
        throw CommandFailure(
          .invalidModel,
          "\(version.name) has no entity \(wanted).\(likely) It has \(names.joined(separator: ", ")).")
      }
    }
    switch invocation.options.format {
    case .json:
      try invocation.write(
        [
          "format": "coredata.model/1", "version": .string(version.name),
          "checksum": .string(description.checksum),
          "identifiers": .array(version.document.versionIdentifiers.map { .string($0) }),
          "entities": .array(entities.map { json($0) }),
        ])
    case .markdown:
      for (position, entity) in entities.enumerated() {
        var table = TextTable([.init("Property"), .init("Kind"), .init("Description")])
        for property in entity.properties { table.add([property.name, property.kind, property.text]) }
        try invocation.result.write((position == 0 ? "" : "\n") + "## \(entity.name)\n\n")
        for remark in entity.remarks { try invocation.result.write("\(remark)  \n") }
        try invocation.result.write((entity.remarks.isEmpty ? "" : "\n") + table.markdown)
      }
    default:
      var report = invocation.report()
      report.line("\(version.name)   \(NumberText.counted(entities.count, "entity", "entities"))")
      for entity in entities {
        report.line()
        report.section(entity.name) { report in
          for remark in entity.remarks { report.line(remark) }
          var table = TextTable([.init(), .init(), .init()])
          for property in entity.properties { table.add([property.name, property.kind, property.text]) }
          report.table(table)
        }
      }
      try invocation.write(report)
    }
    return .done
  }

  private static func json(_ entity: ModelDescription.Entity) -> JSONText {
    [
      "name": .string(entity.name), "parent": .optional(entity.parent), "class": .optional(entity.className),
      "abstract": .bool(entity.isAbstract), "hash": .string(NumberText.hexadecimal(entity.hash)),
      "uniqueness": .array(entity.uniqueness.map { .array($0.map { .string($0) }) }),
      "properties": .array(
        entity.properties.map { property in
          .object(
            [.init("name", .string(property.name)), .init("kind", .string(property.kind))]
              + property.facts.map { .init($0.name, .string($0.value)) })
        }),
    ]
  }
}
