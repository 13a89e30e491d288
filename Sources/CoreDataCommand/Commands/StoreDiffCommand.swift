// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataAnalysis
import CoreDataTerminal
import Foundation

/// `coredata store diff`
enum StoreDiffCommand: Command {
  static let specification = CommandSpecification(
    ["store", "diff"], summary: "Compare the rows and values of two stores, after a migration too.",
    discussion:
      "Entities and properties are matched by their names, or by renaming identifiers where the stores have different "
      + "versions of a model; numbers of different types are equal if their values are. What only one version has is "
      + "not compared, but named.\n\nObjects are matched by their keys if the stores have the same identifier, as a store "
      + "and its backup do, or else by their values and those of the objects that they lead to. Neither store, nor any file beside them, is changed.",
    positionals: [
      PositionalSpecification("A", summary: "The older store."),
      PositionalSpecification("B", summary: "The newer store."),
    ],
    options: [
      OptionSpecification(
        "match", .oneOf(StoreDifference.Matching.allCases.map(\.rawValue)),
        summary: "How objects are matched (default: by key if the identifiers of the stores are equal)."),
      OptionSpecification(
        "limit", .integer("N", minimum: 0), summary: "How many objects to list for each entity (default: 20)."),
      OptionSpecification("model", .path("MODEL", .input), summary: "Read both stores with versions of this model."),
      .flag("exit-code", summary: "Exit with status 1 if there are differences."),
      .readingProgress,
      .format(.text, .json),
    ])

  private static let defaultLimit = 20

  static func run(_ invocation: CommandInvocation) throws -> ExitStatus {
    let arguments = invocation.arguments
    let model = arguments.value("model")
    let old = try OpenedStore(invocation, arguments.argument("A"), model: model)
    let new = try OpenedStore(invocation, arguments.argument("B"), model: model)
    old.remark(invocation)
    new.remark(invocation)
    let matching = arguments.choice("match") ?? StoreDifference.Matching.suitable(old.reader, new.reader)
    let progress = ReadingProgress(invocation, "Compare", writesMeanwhile: false) {
      guard matching == .key else { return nil }
      // As for an export: the number is needed only for the progress.
      let counts = [old, new].compactMap { try? $0.reader.rowCounts().values.reduce(0, +) }
      return counts.count == 2 ? counts[0] + counts[1] : nil
    }
    let difference = try StoreDifference(
      from: old.reader, to: new.reader, matching: matching, limit: arguments.integer("limit") ?? defaultLimit,
      didMissValue: { invocation.remark("\($0) It is compared as if it had no value.") }, didRead: progress.didRead)
    progress.finish()
    if invocation.options.format == .json {
      try invocation.write(json(difference, old, new))
    } else {
      var report = invocation.report()
      write(difference, old, new, to: &report)
      try invocation.write(report)
    }
    return arguments.flag("exit-code") && !difference.isEqual ? .no : .done
  }

  // MARK: Text

  private static func write(
    _ difference: StoreDifference, _ old: OpenedStore, _ new: OpenedStore, to report: inout TextReport
  ) {
    var stores = TextTable([.init(), .init(), .init()])
    for (letter, store) in [("A", old), ("B", new)] {
      stores.add([letter, store.reader.url.lastPathComponent, store.versionName ?? ""])
    }
    report.table(stores)
    report.line("Objects are matched by \(difference.matching == .key ? "their keys" : "their values").")
    report.line()
    var table = TextTable(
      [.init("Entity")] + ["A", "B", "Same", "Changed", "Only A", "Only B"].map { .init($0, .trailing) })
    for entity in difference.entities {
      let numbers = [
        entity.rowsBefore, entity.rowsAfter, entity.same, entity.changed, entity.onlyBefore, entity.onlyAfter,
      ]
      table.add([entity.title] + numbers.map { NumberText.grouped($0) })
    }
    report.indented { $0.table(table) }
    for entity in difference.entities where !entity.isEqual || !notes(entity).isEmpty {
      report.line()
      report.section(entity.title) { report in
        for note in notes(entity) { report.paragraph(note, hanging: 2) }
        for example in entity.examples { write(example, to: &report) }
        let more = entity.changed + entity.onlyBefore + entity.onlyAfter - entity.examples.count
        if more > 0 { report.line("… and \(NumberText.grouped(more)) more.") }
      }
    }
    report.line()
    report.line(summary(difference))
  }

  private static func notes(_ entity: StoreDifference.Entity) -> [String] {
    guard entity.source != nil else { return ["Only B has this entity."] }
    guard entity.destination != nil else { return ["Only A has this entity."] }
    var notes: [String] = []
    if !entity.removedProperties.isEmpty {
      notes.append("Not compared, only in A: \(entity.removedProperties.joined(separator: ", "))")
    }
    if !entity.addedProperties.isEmpty {
      notes.append("Not compared, only in B: \(entity.addedProperties.joined(separator: ", "))")
    }
    return notes
  }

  private static func write(_ example: StoreDifference.Example, to report: inout TextReport) {
    switch example {
    case .onlyBefore(let key): report.line("- p\(key)  only in A")
    case .onlyAfter(let key): report.line("+ p\(key)  only in B")
    case .changed(let key, let values):
      report.line("~ p\(key)")
      report.indented { report in
        for value in values {
          report.paragraph("\(value.property): \(text(value.before)) -> \(text(value.after))", hanging: 2)
        }
      }
    }
  }

  private static let longestValue = 60

  private static func text(_ value: ExportedValue) -> String {
    switch value {
    case .null: "none"
    case .binary(let data): NumberText.bytes(data.count)
    default: TextLayout.truncated(ExportText.json(value).line(), to: longestValue)
    }
  }

  private static func summary(_ difference: StoreDifference) -> String {
    let sums = difference.entities.reduce(into: (changed: 0, before: 0, after: 0)) { sums, entity in
      sums.changed += entity.changed
      sums.before += entity.onlyBefore
      sums.after += entity.onlyAfter
    }
    if difference.isEqual { return "No differences." }
    return "\(NumberText.counted(sums.changed, "row")) changed, \(NumberText.grouped(sums.before)) only in A, "
      + "\(NumberText.grouped(sums.after)) only in B."
  }

  // MARK: JSON

  private static func json(_ difference: StoreDifference, _ old: OpenedStore, _ new: OpenedStore) -> JSONText {
    [
      "format": "coredata.store-diff/1", "a": .string(old.address.text), "b": .string(new.address.text),
      "matching": .string(difference.matching.rawValue), "isEqual": .bool(difference.isEqual),
      "entities": .array(
        difference.entities.map { entity in
          [
            "a": .optional(entity.source), "b": .optional(entity.destination), "same": .integer(entity.same),
            "changed": .integer(entity.changed), "onlyA": .integer(entity.onlyBefore),
            "onlyB": .integer(entity.onlyAfter),
            "propertiesOnlyA": .array(entity.removedProperties.map { .string($0) }),
            "propertiesOnlyB": .array(entity.addedProperties.map { .string($0) }),
            "examples": .array(entity.examples.map(json)),
          ]
        }),
    ]
  }

  private static func json(_ example: StoreDifference.Example) -> JSONText {
    switch example {
    case .onlyBefore(let key): ["kind": "onlyA", "key": .integer(key)]
    case .onlyAfter(let key): ["kind": "onlyB", "key": .integer(key)]
    case .changed(let key, let values):
      [
        "kind": "changed", "key": .integer(key),
        "values": .array(
          values.map {
            [
              "property": .string($0.property), "a": ExportText.json($0.before), "b": ExportText.json($0.after),
            ]
          }),
      ]
    }
  }
}
