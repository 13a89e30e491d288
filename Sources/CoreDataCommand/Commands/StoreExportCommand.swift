// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataAnalysis
import CoreDataMistakes
import CoreDataTerminal
import Foundation

/// `coredata store export`
enum StoreExportCommand: Command {
  static let specification = CommandSpecification(
    ["store", "export"], summary: "Export objects as JSON lines or CSV.",
    discussion:
      "Writes one object per line, sorted by entity and key: {\"entity\":…,\"id\":…,\"values\":{…}}. Dates are ISO "
      + "8601 in UTC with microseconds; binary data is base64; decimals are strings, so that no reader rounds them; "
      + "UUIDs and URIs are strings; a to-one relationship is an id or null, a to-many relationship is a list of ids, "
      + "sorted by entity and key unless ordered.\n\nA value whose external data file is missing or unreadable is "
      + "null, with a note on standard error; with --strict the export fails with status 4.\n\n" + CSVExport.help
      + "\n\nThe store is opened "
      + "read-only. Neither the store nor any file beside it is changed.",
    positionals: [.anyStore],
    options: [
      OptionSpecification(
        "entity", .text("E"), repeats: true, summary: "Export only objects of exactly this entity; may be repeated."),
      .flag("subentities", summary: "With --entity: also export objects of its subentities."),
      OptionSpecification("limit", .integer("N", minimum: 0), summary: "The maximum number of objects."),
      OptionSpecification(
        "model", .path("MODEL", .input), summary: "Read the store with this model instead of its own."),
      .flag("strict", summary: "Fail if an external data file is missing."),
      .readingProgress,
      CSVExport.directory,
      OptionSpecification(
        "format", .oneOf(["json", "csv"]), summary: "The format of the result: JSON lines, or CSV (default: json)."),
    ])

  static func run(_ invocation: CommandInvocation) throws -> ExitStatus {
    let isCSV = invocation.options.format == .csv
    try CSVExport.check(invocation.arguments, isCSV: isCSV)
    if isCSV { return try CSVExport.run(invocation) }
    let opened = try OpenedStore(invocation)
    opened.remark(invocation)
    var names: [String]?
    let wanted = invocation.arguments.values("entity")
    if !wanted.isEmpty {
      names = try wanted.flatMap { name -> [String] in
        guard let family = opened.reader.family(of: name) else {
          let all = opened.reader.entityNames
          let likely = Likeness.nearest(to: name, among: all).map { " Did you mean \($0)?" } ?? ""
          throw CommandFailure(
            .unreadableStore,
            "\(opened.reader.url.lastPathComponent) has no entity \(name).\(likely) It has \(all.joined(separator: ", "))."
          )
        }
        return invocation.arguments.flag("subentities") ? family : [name]
      }
    }
    let isStrict = invocation.arguments.flag("strict")
    let progress = ReadingProgress(invocation, "Export", writesMeanwhile: true) {
      // The number is needed only for the progress; problems with the rows are reported when they are read.
      let counts = try? opened.reader.rowCounts().filter { names?.contains($0.key) ?? true }
      return counts.map { min($0.values.reduce(0, +), invocation.arguments.integer("limit") ?? .max) }
    }
    defer { progress.finish() }
    try opened.reader.forEachObject(
      of: names, limit: invocation.arguments.integer("limit"), streamsLargeValues: true,
      didMissValue: { problem in
        if isStrict { throw problem }
        invocation.remark("\(problem) It is exported as null.")
      },
      didRead: progress.didRead
    ) { object in
      // The end of the line must not be missing if the next object cannot be read.
      if try ExportText.write(object, { try invocation.result.write(safe: $0) }) { try invocation.result.flush() }
    }
    return .done
  }
}

/// Exported objects as lines of JSON.
enum ExportText {
  /// Writes an object as a line. A streamed value is never loaded whole into memory.
  ///
  /// - Returns: whether the line was written in several parts.
  static func write(_ object: ExportedObject, _ write: (String) throws -> Void) throws -> Bool {
    var parts = 0
    var text = "{\"entity\":" + JSONText.string(object.entity).line() + ",\"id\":" + JSONText.string(object.id).line()
    text += ",\"values\":"
    try append(object.values, to: &text) {
      parts += 1
      try write($0)
    }
    try write(text + "}\n")
    return parts > 0
  }

  /// Appends a JSON object to a string, which is written out before each streamed value.
  private static func append(
    _ values: [(name: String, value: ExportedValue)], to text: inout String, _ write: (String) throws -> Void
  ) throws {
    text += "{"
    for (index, (name, value)) in values.enumerated() {
      text += (index > 0 ? "," : "") + JSONText.string(name).line() + ":"
      switch value {
      case .composite(let parts): try append(parts.map { ($0.name, $0.value) }, to: &text, write)
      case .stream(let stream):
        try write(text + "\"")
        try self.write(stream, write)
        text = "\""
      default: text += json(value).line()
      }
    }
    text += "}"
  }

  private static func write(_ stream: ExportedStream, _ write: (String) throws -> Void) throws {
    if stream.isText {
      try stream.forEachText { part in
        var text = ""
        JSONText.escape(part, to: &text)
        try write(text)
      }
    } else {
      try stream.forEachPart { try write(Data($0).base64EncodedString()) }
    }
  }

  static func json(_ value: ExportedValue) -> JSONText {
    switch value {
    case .null: .null
    case .boolean(let flag): .bool(flag)
    case .integer(let number): .integer(number)
    // JSON cannot represent infinity, and null would lose it.
    case .real(let number): number.isFinite ? .real(number) : .string(number < 0 ? "-Infinity" : "Infinity")
    case .decimal(let text), .string(let text), .reference(let text): .string(text)
    case .date(let seconds): .string(DateText.text(seconds))
    case .binary(let data): .string(data.base64EncodedString())
    case .references(let ids): .array(ids.map { .string($0) })
    case .composite(let parts): .object(parts.map { .init($0.name, json($0.value)) })
    case .stream: trap("A streamed value cannot be one JSON value. Write its object with ExportText.write.")
    }
  }
}
