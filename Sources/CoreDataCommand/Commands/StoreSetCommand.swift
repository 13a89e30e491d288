// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataTerminal
import Foundation

/// `coredata store set`
enum StoreSetCommand: Command {
  static let specification = CommandSpecification(
    ["store", "set"], summary: "Change the values of an object.",
    discussion:
      "Values are written as store export writes them: integers, decimals such as 19.90, true or false, dates in ISO "
      + "8601 (2026-03-14T15:09:26Z), UUIDs, URIs, binary data in base64 or as @FILE. null removes a value; a string in "
      + "quotation marks is read as JSON, so that name='\"null\"' sets the text null. An element of a composite attribute "
      + "is address.city=Rome. A relationship takes the identifier of an object, such as customer=Customer/p1; one to "
      + "many takes several, separated by commas, and items+=Item/p7 adds, items-=Item/p7 removes objects. Inverse "
      + "relationships and derived attributes follow.\n\n" + EditableStore.help,
    positionals: [
      .anyStore,
      PositionalSpecification("ID", .one, .none, summary: "The object: its identifier, or Order/p3."),
      PositionalSpecification("KEY=VALUE", .atLeastOne, .none, summary: "A property and its new value."),
    ],
    options: EditableStore.options)

  static func run(_ invocation: CommandInvocation) throws -> ExitStatus {
    let assignments = try invocation.arguments.arguments("KEY=VALUE").map(Assignment.init)
    var paths: Set<[String]> = []
    for assignment in assignments
    where assignment.operation == .set && !paths.insert(assignment.path).inserted {
      throw CommandFailure(
        .usage, "\(assignment.path.joined(separator: ".")) has two values. Name it once. Nothing was changed.")
    }
    return try EditableStore.with(invocation, isDryRun: invocation.arguments.flag("dry-run")) { store in
      let object = try store.object(invocation.arguments.argument("ID"))
      guard let edit = try ObjectEdit(setting: assignments, of: object, in: store) else {
        try write(nil, object, store, invocation)
        return .done
      }
      if !store.isDryRun {
        invocation.result.workDone =
          "\(object.shortID) of \(store.address.name) was changed."
          + (edit.backup.map { " The backup is \($0.path)." } ?? "")
      }
      try write(edit, object, store, invocation)
      return .done
    }
  }

  private static func write(
    _ edit: ObjectEdit?, _ object: NSManagedObject, _ store: EditableStore, _ invocation: CommandInvocation
  ) throws {
    if invocation.options.format == .json {
      return try invocation.write([
        "format": "coredata.store-set/1", "store": .string(store.address.text),
        "id": .string(object.objectID.uriRepresentation().absoluteString), "dryRun": .bool(store.isDryRun),
        "changes": .object((edit?.changes ?? []).map(\.json)), "affected": edit?.affected.json ?? [],
        "backup": .optional(edit?.backup?.path),
      ])
    }
    guard let edit else {
      return try invocation.result.write("\(object.shortID) already has these values. Nothing was changed.\n")
    }
    var report = invocation.report()
    report.line("\(store.isDryRun ? "Would change" : "Changed") \(object.shortID) of \(store.address.name)")
    var table = TextTable([.init("Property"), .init("Before"), .init("After")])
    for change in edit.changes { table.add([change.name, ValueChange.text(change.old), ValueChange.text(change.new)]) }
    report.indented { $0.table(table) }
    if let text = edit.affected.text { report.paragraph("Also changed: \(text)", hanging: 2) }
    report.line(store.closingLine(edit.backup))
    try invocation.write(report)
  }
}
