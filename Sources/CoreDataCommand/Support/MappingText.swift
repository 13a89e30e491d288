// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataAnalysis
import CoreDataModelFiles
import CoreDataTerminal

/// Mapping models as reviewable text and as JSON.
enum MappingText {
  static func write(_ mapping: MappingDescription, to report: inout TextReport) {
    for entity in mapping.entities {
      report.line()
      let ends = [entity.source, entity.destination].compactMap { $0 }.joined(separator: " -> ")
      let title: StyledText = "\(report.styler.style(entity.name, .bold))   \(entity.type)   \(ends)"
      report.line(title)
      report.indented { report in
        for (title, value) in facts(entity) { report.line("\(title)  \(value)") }
        var table = TextTable([.init(), .init(), .init()])
        for property in entity.properties {
          let notes = property.notes.map { "\n\($0.key) = \($0.value)" }.joined()
          table.add([property.name, kind(property), (property.expression ?? "no expression") + notes])
        }
        report.table(table)
      }
    }
  }

  /// Reports the mapping model written by a command.
  static func writeMade(
    _ mapping: MappingDocument, _ format: String, _ file: NewFile, _ invocation: CommandInvocation
  ) throws {
    invocation.result.workDone = "\(file.url.lastPathComponent) was written."
    let description = MappingDescription(mapping)
    guard invocation.options.format == .json else {
      return try invocation.result.write("\(file.url.lastPathComponent): \(count(description))\n")
    }
    try invocation.write(
      .object(
        [.init("format", .string(format)), .init("mapping", .string(file.url.path))] + members(of: description)))
  }

  /// Returns text such as `2 entity mappings`.
  static func count(_ mapping: MappingDescription) -> String {
    NumberText.counted(mapping.entities.count, "entity mapping")
  }

  /// Returns the members of the JSON object for a mapping model.
  static func members(of mapping: MappingDescription) -> [JSONText.Member] {
    [
      .init("from", .optional(mapping.from)), .init("to", .optional(mapping.to)),
      .init("entityMappings", .array(mapping.entities.map { json($0) })),
    ]
  }

  private static func facts(_ entity: MappingDescription.Entity) -> [(String, String)] {
    var facts: [(String, String)] = []
    if let filter = entity.filter { facts.append(("filter", filter)) }
    if let policy = entity.policy { facts.append(("policy", policy)) }
    if let expression = entity.sourceExpression { facts.append(("objects", expression)) }
    if !entity.dropped.isEmpty { facts.append(("drops", entity.dropped.joined(separator: ", "))) }
    return facts + entity.notes.map { ("user info", "\($0.key) = \($0.value)") }
  }

  private static func kind(_ property: MappingDescription.Property) -> String {
    property.isRelationship ? "relationship" : "attribute"
  }

  private static func json(_ entity: MappingDescription.Entity) -> JSONText {
    [
      "name": .string(entity.name), "type": .string(entity.type), "source": .optional(entity.source),
      "sourceHash": .optional(entity.sourceHash.map { NumberText.hexadecimal($0) }),
      "destination": .optional(entity.destination),
      "destinationHash": .optional(entity.destinationHash.map { NumberText.hexadecimal($0) }),
      "filter": .optional(entity.filter), "policy": .optional(entity.policy),
      "sourceExpression": .optional(entity.sourceExpression),
      "dropped": .array(entity.dropped.map { .string($0) }), "userInfo": json(entity.notes),
      "properties": .array(
        entity.properties.map {
          [
            "name": .string($0.name), "kind": .string(kind($0)), "expression": .optional($0.expression),
            "userInfo": json($0.notes),
          ]
        }),
    ]
  }

  private static func json(_ notes: [MappingDescription.Note]) -> JSONText {
    .object(notes.map { .init($0.key, .string($0.value)) })
  }
}
