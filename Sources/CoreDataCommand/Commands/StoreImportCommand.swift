// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataTerminal
import Foundation

/// `coredata store import`
enum StoreImportCommand: Command {
  static let specification = CommandSpecification(
    ["store", "import"], summary: "Insert or update objects from JSON lines or CSV.",
    discussion:
      "FILE has JSON lines as store export writes them, or CSV (RFC 4180) with a header of property names, where an "
      + "element of a composite attribute is address.city, an empty field is null and \"\" is an empty text. Each line is "
      + "a new object. A line's id, in CSV the column id, only names it for the relationships of other lines, which may "
      + "also name objects of the store; the new object gets a number of its own. Properties that a line does not have keep their "
      + "default value, or their value; derived attributes are computed.\n\n"
      + "A directory, such as store export --directory writes, stands for its files named *.csv, *.json and *.jsonl. The "
      + "lines of Order.csv are of the entity Order, unless they name another, and may name those of other files.\n\n"
      + "All lines are imported, in one transaction, or none. Of a file, at most 4,000 lines are in memory; persistent "
      + "history records each such part, and a pipe is read as one. " + EditableStore.help,
    positionals: [
      .anyStore, PositionalSpecification("FILE", summary: "A file with JSON lines, or CSV, or a directory of them."),
    ],
    options: [
      OptionSpecification("entity", .text("E"), summary: "The entity of lines that name none."),
      OptionSpecification(
        "update-by", .text("KEY"),
        summary: "Update the object with the same value of this attribute; insert one if there is none."),
      .readingProgress,
    ] + EditableStore.options)

  static func run(_ invocation: CommandInvocation) throws -> ExitStatus {
    let arguments = invocation.arguments
    let input = try ImportInput(path: arguments.argument("FILE"))
    let name = input.name
    return try EditableStore.with(invocation, isDryRun: invocation.arguments.flag("dry-run")) { store in
      let progress = ReadingProgress(invocation, "Import", writesMeanwhile: false) { nil }
      defer { progress.finish() }
      let work = try StoreImport.run(
        input, into: store, entity: arguments.value("entity"), key: arguments.value("update-by")
      ) { entity in progress.didRead(entity) }
      let (counts, hasChanges) = (work.counts, work.hasChanges)
      let backup = hasChanges ? try store.save(work.lines) : nil
      progress.finish()
      if !store.isDryRun, hasChanges {
        invocation.result.workDone =
          "\(name) was imported into \(store.address.name)." + (backup.map { " The backup is \($0.path)." } ?? "")
      }
      try write(counts, name, hasChanges: hasChanges, backup: backup, store, invocation)
      return .done
    }
  }

  private static func write(
    _ counts: [(entity: String, count: StoreImport.Count)], _ name: String, hasChanges: Bool, backup: URL?,
    _ store: EditableStore, _ invocation: CommandInvocation
  ) throws {
    if invocation.options.format == .json {
      let entities = counts.map { entity, count in
        JSONText.Member(
          entity,
          [
            "inserted": .integer(count.inserted), "updated": .integer(count.updated),
            "unchanged": .integer(count.unchanged),
          ])
      }
      return try invocation.write([
        "format": "coredata.store-import/1", "store": .string(store.address.text), "file": .string(name),
        "dryRun": .bool(store.isDryRun), "entities": .object(entities), "backup": .optional(backup?.path),
      ])
    }
    var report = invocation.report()
    report.line("\(store.isDryRun ? "Would import" : "Imported") \(name) into \(store.address.name)")
    var table = TextTable([
      .init("Entity"), .init("Inserted", .trailing), .init("Updated", .trailing), .init("Unchanged", .trailing),
    ])
    for (entity, count) in counts {
      table.add([
        entity, NumberText.grouped(count.inserted), NumberText.grouped(count.updated),
        NumberText.grouped(count.unchanged),
      ])
    }
    if !table.isEmpty { report.indented { $0.table(table) } }
    report.line(hasChanges ? store.closingLine(backup) : "Nothing was changed.")
    try invocation.write(report)
  }
}
