// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataTerminal
import Foundation

/// `coredata store delete`
enum StoreDeleteCommand: Command {
  static let specification = CommandSpecification(
    ["store", "delete"], summary: "Delete objects.",
    discussion:
      "The deletion rules of the model apply: Cascade deletes the objects of a relationship too, Nullify removes the "
      + "deleted object from its inverse, Deny refuses the deletion. The result says which objects they concern.\n\n"
      + EditableStore.help,
    positionals: [
      .anyStore,
      PositionalSpecification("ID", .atLeastOne, .none, summary: "An object: its identifier, or Order/p3."),
    ],
    options: EditableStore.options)

  /// The maximum number of objects in a text.
  private static let maxCount = 20

  static func run(_ invocation: CommandInvocation) throws -> ExitStatus {
    try EditableStore.with(invocation, isDryRun: invocation.arguments.flag("dry-run")) { store in
      let named = Set(try invocation.arguments.arguments("ID").map(store.object))
      let deletion = try ObjectDeletion(of: named, in: store)
      let backup = try store.save()
      let (deleted, affected) = (deletion.deleted, deletion.affected)
      if !store.isDryRun {
        invocation.result.workDone =
          "\(NumberText.counted(deleted.count, "object")) of \(store.address.name) \(deleted.count == 1 ? "was" : "were") "
          + "deleted." + (backup.map { " The backup is \($0.path)." } ?? "")
      }
      try write(deleted, affected, backup: backup, store, invocation)
      return .done
    }
  }

  private static func write(
    _ deleted: [ObjectDeletion.Deleted], _ affected: AffectedObjects, backup: URL?, _ store: EditableStore,
    _ invocation: CommandInvocation
  ) throws {
    if invocation.options.format == .json {
      func ids(_ objects: [ObjectDeletion.Deleted]) -> JSONText { .array(objects.map { .string($0.uri) }) }
      return try invocation.write([
        "format": "coredata.store-delete/1", "store": .string(store.address.text), "dryRun": .bool(store.isDryRun),
        "deleted": ids(deleted.filter(\.isNamed)), "cascaded": ids(deleted.filter { !$0.isNamed }),
        "affected": affected.json, "backup": .optional(backup?.path),
      ])
    }
    var report = invocation.report()
    report.line("\(store.isDryRun ? "Would delete" : "Deleted") from \(store.address.name)")
    var table = TextTable([.init("Entity"), .init("Named", .trailing), .init("Cascaded", .trailing)])
    for (entity, objects) in Dictionary(grouping: deleted, by: \.entity).sorted(by: { $0.key < $1.key }) {
      let count = objects.count { $0.isNamed }
      table.add([entity, NumberText.grouped(count), NumberText.grouped(objects.count - count)])
    }
    report.indented { $0.table(table) }
    let cascaded = deleted.filter { !$0.isNamed }
    if !cascaded.isEmpty {
      let rest = cascaded.count - maxCount
      report.paragraph(
        "Cascaded: " + cascaded.prefix(maxCount).map(\.id).joined(separator: ", ")
          + (rest > 0 ? " and \(NumberText.grouped(rest)) more" : ""), hanging: 2)
    }
    if let text = affected.text { report.paragraph("Also changed: \(text)", hanging: 2) }
    report.line(store.closingLine(backup))
    try invocation.write(report)
  }
}
