// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataFileSystem
import CoreDataTerminal
import Foundation

/// The result of `store export --format csv`: one entity as text, or a directory with a file for each entity.
struct CSVExport {
  private let invocation: CommandInvocation
  private let objects: OpenedObjects

  /// The paragraphs for the help of the command.
  static let help =
    "--format csv writes the objects of one --entity as CSV (RFC 4180), as store query does, or with --directory a file for "
    + "each entity, such as Order.csv: store import takes the file, or the directory, and makes the same objects. The "
    + "column id has the identifiers that relationships name; a missing value is an empty field, and an empty string is "
    + "quoted; the elements of a composite attribute are a JSON object. A to-many relationship has a column if it is ordered "
    + "or has no to-one inverse; others follow from that.\n\nCSV does not carry the numbers of objects, the metadata of the "
    + "store, persistent history and its model; dates have microseconds, in JSON too."

  /// The options of the command for CSV.
  static let directory = OptionSpecification(
    "directory", .path("DIR", .outputDirectory), summary: "With --format csv: a directory for a file for each entity.")

  /// - Throws: `CommandFailure` for options that contradict each other.
  static func check(_ arguments: ParsedCommand, isCSV: Bool) throws {
    guard isCSV else {
      guard !arguments.flag("directory") else {
        throw CommandFailure(
          .usage, "--directory is for --format csv. JSON lines of all entities are one file: --output FILE.")
      }
      return
    }
    if arguments.flag("directory") {
      guard arguments.value("output") == nil else {
        throw CommandFailure(.usage, "--directory and --output cannot be used together.")
      }
    } else if Set(arguments.values("entity")).count != 1 {
      throw CommandFailure(
        .usage,
        "A CSV file has the objects of one entity. Name it with --entity E, or a directory for a file for each: "
          + "--directory DIR.")
    }
  }

  /// Writes the CSV.
  static func run(_ invocation: CommandInvocation) throws -> ExitStatus {
    try OpenedObjects.with(invocation) { objects in
      let export = CSVExport(invocation: invocation, objects: objects)
      if let path = invocation.arguments.value("directory") {
        try export.write(to: URL(fileURLWithPath: path, isDirectory: true))
      } else {
        try export.writeEntity()
      }
    }
    return .done
  }

  private var limit: Int? { invocation.arguments.integer("limit") }

  private func didMiss() -> (NSManagedObjectID, String, any Error) throws -> Void {
    guard invocation.arguments.flag("strict") else { return StoreQueryCommand.remark(invocation) }
    return { id, path, error in
      throw CommandFailure(
        .unreadableStore, "\(OpenedObjects.short(id)): \(CommandFailure(error).message) \(path) cannot be exported.")
    }
  }

  private func rows(of entity: NSEntityDescription, includesSubentities: Bool) throws -> QueryRows {
    var rows = QueryRows(
      objects: objects, entity: entity,
      columns: try QueryColumn.stored(of: entity, includesSubentities: includesSubentities))
    rows.includesSubentities = includesSubentities
    return rows
  }

  /// Writes the objects of one entity to the result.
  private func writeEntity() throws {
    let entity = try objects.entity(named: invocation.arguments.values("entity").first ?? "")
    var rows = try rows(of: entity, includesSubentities: invocation.arguments.flag("subentities"))
    rows.limit = limit
    let progress = ReadingProgress(invocation, "Export", writesMeanwhile: true) {
      // The number is needed only for the progress; problems with the rows are reported when they are read.
      try? rows.count()
    }
    defer { progress.finish() }
    try CSVObjects(rows).write(to: invocation.result, didMiss: didMiss(), didWrite: progress.didRead)
  }

  /// The entities to export, each with its own file.
  private func entities() throws -> [NSEntityDescription] {
    let wanted = invocation.arguments.values("entity")
    guard !wanted.isEmpty else { return objects.entities.filter { !$0.isAbstract } }
    let named = try wanted.flatMap { name -> [NSEntityDescription] in
      let entity = try objects.entity(named: name)
      guard invocation.arguments.flag("subentities") else { return [entity] }
      return objects.entities.filter { $0.isKind(of: name) }
    }
    return objects.entities.filter { named.contains($0) && !$0.isAbstract }
  }

  /// Writes a file for each entity. All files appear when all are complete.
  private func write(to directory: URL) throws {
    let all = try entities()
    try makeDirectory(directory)
    let tables = try all.map { try rows(of: $0, includesSubentities: false) }
    let progress = ReadingProgress(invocation, "Export", writesMeanwhile: false) {
      // As above.
      try? tables.reduce(0) { $0 + (try $1.count()) }
    }
    defer { progress.finish() }
    let didMiss = didMiss()
    var rest = limit
    var files: [(name: String, count: Int, writer: ResultWriter)] = []
    for var rows in tables {
      let name = "\(rows.entity.name ?? "").csv"
      // A model can come from anywhere, and its names must not lead out of the directory.
      guard !name.contains("/"), !name.hasPrefix(".") else {
        throw CommandFailure(
          .failed,
          "\(JSONText.string(name).line()) cannot be the name of a file. Export this entity with --entity and --output."
        )
      }
      rows.limit = rest
      let writer = try invocation.writer(to: directory.appendingPathComponent(name).path)
      let count = try CSVObjects(rows).write(to: writer, didMiss: didMiss, didWrite: progress.didRead)
      try writer.flush()
      files.append((name, count, writer))
      rest = rest.map { $0 - count }
    }
    for file in files { try file.writer.commit() }
    progress.finish()
    invocation.result.workDone = "\(objects.address.name) was exported to \(directory.path)."
    var report = invocation.report()
    report.line("Exported \(objects.address.name) to \(directory.relativePath)")
    var table = TextTable([.init("File"), .init("Objects", .trailing)])
    for file in files { table.add([file.name, NumberText.grouped(file.count)]) }
    if !table.isEmpty { report.indented { $0.table(table) } }
    try invocation.write(report)
  }

  private func makeDirectory(_ url: URL) throws {
    do {
      try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    } catch {
      throw CommandFailure(
        .failed, "The directory \(url.path) cannot be created: \(CommandFailure(error).message) Name another one.")
    }
  }
}
