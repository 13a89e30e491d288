// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataTerminal
import Foundation

/// `coredata store query`
enum StoreQueryCommand: Command {
  static let specification = CommandSpecification(
    ["store", "query"], summary: "Show the objects of an entity that match a predicate.",
    discussion:
      "PREDICATE is written in Core Data's language, such as 'title BEGINSWITH[c] \"a\" AND author.age > 30'. Without one, "
      + "all objects are shown. --show names columns by key paths, also through relationships: title, author.name, "
      + "notes.@count, notes.@max.date.\n\nA table is as wide as the terminal, and shortens long values; JSON lines, as store export writes them, and CSV have "
      + "whole values and identifiers, dates in ISO 8601, and binary data in base64. In CSV a missing value is an empty "
      + "field, and an empty string is quoted.\n\nThe store is opened read-only. Neither the store nor any file beside it is "
      + "changed.",
    positionals: [
      .anyStore,
      PositionalSpecification("ENTITY", .one, .none, summary: "The entity, whose subentities are included."),
      PositionalSpecification("PREDICATE", .optional, .none, summary: "The condition for objects."),
    ],
    options: [
      OptionSpecification(
        "sort", .text("K,-K"), summary: "The key paths to sort by; descending after a minus sign."),
      OptionSpecification("limit", .integer("N", minimum: 0), summary: "The maximum number of objects."),
      OptionSpecification(
        "show", .text("K,K"), summary: "The key paths to show (default: the attributes and to-one relationships)."),
      .flag("count", summary: "Show only the number of objects."),
      OpenedObjects.model,
      .format(.table, .json, .csv, default: .table),
    ])

  static func run(_ invocation: CommandInvocation) throws -> ExitStatus {
    try OpenedObjects.with(invocation) { objects in
      let rows = try rows(objects, invocation)
      if invocation.arguments.flag("count") {
        let count = try rows.count()
        try invocation.result.write(
          safe: invocation.options.format == .json
            ? JSONText.object([.init("count", .integer(count))]).pretty() : "\(count)\n")
        return .done
      }
      switch invocation.options.format {
      case .json: try writeJSON(rows, invocation)
      case .csv: try CSVObjects(rows).write(to: invocation.result, didMiss: remark(invocation))
      default: try QueryTable.write(rows, invocation)
      }
      return .done
    }
  }

  private static func rows(_ objects: OpenedObjects, _ invocation: CommandInvocation) throws -> QueryRows {
    let entity = try objects.entity(named: invocation.arguments.argument("ENTITY"))
    func paths(_ option: String) throws -> [String]? {
      guard let text = invocation.arguments.value(option) else { return nil }
      let paths = text.split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) }.filter { !$0.isEmpty }
      guard !paths.isEmpty else { throw CommandFailure(.usage, "--\(option) names no key path.") }
      return paths
    }
    let columns = try paths("show")?.map { try QueryColumn($0, of: entity) }
    var rows = QueryRows(objects: objects, entity: entity, columns: try columns ?? QueryColumn.all(of: entity))
    if let text = invocation.arguments.optionalArgument("PREDICATE") {
      rows.predicate = try PropertyNames.predicate(text, of: entity)
    }
    rows.sortDescriptors = try (paths("sort") ?? []).map { text in
      let path = text.hasPrefix("-") ? String(text.dropFirst()) : text
      try PropertyNames.check(sortedBy: path, of: entity)
      return NSSortDescriptor(key: path, ascending: !text.hasPrefix("-"))
    }
    rows.limit = invocation.arguments.integer("limit")
    return rows
  }

  /// Reports a value that cannot be read, such as one whose external data file is missing; of many, the first.
  static func remark(_ invocation: CommandInvocation) -> (NSManagedObjectID, String, any Error) -> Void {
    var count = 0
    return { id, path, error in
      count += 1
      if count == 21 { invocation.remark("Other values that cannot be read are not named.") }
      guard count <= 20 else { return }
      invocation.remark("\(OpenedObjects.short(id)): \(CommandFailure(error).message) \(path) is shown as missing.")
    }
  }

  /// Writes an object a line, as `store export` does.
  private static func writeJSON(_ rows: QueryRows, _ invocation: CommandInvocation) throws {
    try rows.forEachPart(didMiss: remark(invocation)) { part in
      for row in part {
        let values = zip(rows.columns, row.values).compactMap { column, value -> JSONText.Member? in
          if case .absent = value { return nil }
          return JSONText.Member(column.path, value.json)
        }
        let object: JSONText = [
          "entity": .string(row.id.entity.name ?? ""), "id": .string(row.id.uriRepresentation().absoluteString),
          "values": .object(values),
        ]
        try invocation.result.write(safe: object.line() + "\n")
      }
    }
  }
}

/// The rows of a query as a table, whose columns are as wide as its first rows need.
private struct QueryTable {
  private let titles: [String]
  private let isNumber: [Bool]
  /// Whether a column has text, of which a part is useful too.
  private let isText: [Bool]
  private var widths: [Int]

  /// The longest text in a cell, in characters.
  private static let longestCell = 60
  private static let leastWidth = 6
  /// The width below which no column is narrowed as long as others can be, or be left out.
  private static let readableWidth = 12
  private static let gap = 2

  static func write(_ rows: QueryRows, _ invocation: CommandInvocation) throws {
    let showsEntity = !rows.entity.subentitiesByName.isEmpty
    var table: QueryTable?
    var (count, hidden) = (0, [String]())
    let width = invocation.result.isTerminal ? max(60, invocation.streams.columns) : nil
    try rows.forEachPart(didMiss: StoreQueryCommand.remark(invocation)) { part in
      let cells = part.map { row in
        [showsEntity ? OpenedObjects.short(row.id) : row.id.uriRepresentation().lastPathComponent]
          + row.values.map { cell($0.text(isExact: false)) }
      }
      if table == nil {
        var made = QueryTable(rows.columns, cells)
        if let width { hidden = made.fit(width, hidesColumns: invocation.arguments.value("show") == nil) }
        try invocation.result.write(safe: made.line(made.titles, invocation.styler) + "\n")
        table = made
      }
      for row in cells { try invocation.result.write(safe: (table?.line(row) ?? "") + "\n") }
      count += cells.count
    }
    guard count > 0 || rows.limit == 0 else { return try invocation.result.write("No objects.\n") }
    if rows.limit == count {
      var all = rows
      all.limit = nil
      let total = try all.count()
      if total > count {
        invocation.remark("\(NumberText.grouped(count)) of \(NumberText.grouped(total)) objects are shown.")
      }
    }
    if !hidden.isEmpty {
      invocation.remark(
        "There is no room for \(hidden.joined(separator: ", ")). Name the columns that you want: --show K,K.")
    }
  }

  /// A value on one line.
  private static func cell(_ text: String) -> String {
    let line = text.split(whereSeparator: \.isNewline).joined(separator: " ")
    return TextLayout.truncated(StyledText(line).text, to: longestCell)
  }

  private init(_ columns: [QueryColumn], _ cells: [[String]]) {
    titles = [CSVObjects.idTitle(columns)] + columns.map(\.path)
    isNumber = [false] + columns.map(\.isNumber)
    isText = [false] + columns.map(\.isText)
    widths = titles.map { TextLayout.width(of: $0) }
    for row in cells {
      for (index, text) in row.enumerated() { widths[index] = max(widths[index], TextLayout.width(of: text)) }
    }
  }

  /// Narrows the widest columns until a line fits, those of text first.
  ///
  /// - Returns: the titles of the last columns, for which there is no room.
  private mutating func fit(_ width: Int, hidesColumns: Bool) -> [String] {
    func total() -> Int { widths.reduce(Self.gap * (widths.count - 1), +) }
    func narrow(_ columns: [Int], to least: Int) {
      while total() > width, let widest = columns.max(by: { widths[$0] < widths[$1] }), widths[widest] > least {
        widths[widest] -= 1
      }
    }
    narrow(widths.indices.filter { isText[$0] }, to: Self.readableWidth)
    narrow(Array(widths.indices), to: hidesColumns ? Self.readableWidth : Self.leastWidth)
    guard hidesColumns, total() > width else { return [] }
    let all = titles.count
    while total() > width, widths.count > 2 { widths.removeLast() }
    return Array(titles[widths.count..<all])
  }

  private func line(_ cells: [String], _ styler: TextStyler? = nil) -> String {
    var line = ""
    for index in widths.indices {
      let text = TextLayout.truncated(cells[index], to: widths[index])
      let isLast = index == widths.count - 1
      var padded = TextLayout.padded(text, to: widths[index], alignment: isNumber[index] ? .trailing : .leading)
      if isLast, !isNumber[index] { padded = text }
      line += (index > 0 ? String(repeating: " ", count: Self.gap) : "") + padded
    }
    while line.last == " " { line.removeLast() }
    return styler.map { $0.style(line, .bold).text } ?? line
  }
}
