// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataAnalysis
import CoreDataTerminal
import Foundation

/// `coredata doctor`
enum DoctorCommand: Command {
  static let specification = CommandSpecification(
    ["doctor"], summary: "Find out why a store does not open, and what to do about it.",
    discussion:
      "Examines the system, and with STORE the store: its file, interrupted work, permissions, disk space, metadata and "
      + "content. With MODEL, also its version and the way to the current one. Of the URL of a store in a database server: "
      + "the server's settings, connections and long transactions, the rights of the role, and the tables, without reading "
      + "rows. Nothing is changed. Exits with status 1 if it finds a problem.",
    positionals: [
      PositionalSpecification(
        "STORE", .optional,
        summary: "A store that does not open, or that may not: a file, or the URL of one in a database server."),
      PositionalSpecification("MODEL", .optional, summary: "The model of the app, with all its versions."),
    ],
    options: [.mappings, .policies, .format(.text, .json)])

  static func run(_ invocation: CommandInvocation) throws -> ExitStatus {
    var parts: [(title: String, checkup: Checkup)] = [("System", .ofSystem())]
    if invocation.arguments.optionalArgument("STORE") != nil {
      let argument = invocation.arguments.argument("STORE")
      let address = try StoreAddress(argument)
      let checkup = try invocation.arguments.optionalArgument("MODEL").map { path in
        try invocation.withModel(path) { model in
          let current = try model.version(nil).name
          let known = Checkup.Model(path: path, versions: try model.modelVersions(), current: current)
          return self.checkup(of: address, argument, known, invocation)
        }
      }
      parts.append((address.name, checkup ?? self.checkup(of: address, argument, nil, invocation)))
    }
    let isHealthy = parts.allSatisfy(\.checkup.isHealthy)
    if invocation.options.format == .json {
      try invocation.write(json(parts, isHealthy))
    } else {
      var report = invocation.report()
      for part in parts {
        report.section(part.title) { report in
          for item in part.checkup.items { write(item, to: &report) }
        }
        report.line()
      }
      report.line(isHealthy ? "No problems." : problems(parts))
      try invocation.write(report)
    }
    return isHealthy ? .done : .no
  }

  private static func checkup(
    of address: StoreAddress, _ argument: String, _ model: Checkup.Model?, _ invocation: CommandInvocation
  ) -> Checkup {
    switch address {
    case .file(let url):
      Checkup.ofFileStore(url, model: model, mappings: invocation.mappings) {
        try invocation.located(argument, orOneOf: model?.path).file
      } ?? .ofStore(url, model: model, mappings: invocation.mappings)
    case .server(let url, let kind):
      .ofServerStore(url, kind, model: model, mappings: invocation.mappings) {
        try invocation.located(argument, orOneOf: model?.path, hasRows: false).file
      }
    }
  }

  private static func problems(_ parts: [(title: String, checkup: Checkup)]) -> String {
    let count = parts.flatMap(\.checkup.items).count { $0.level == .problem }
    return "\(NumberText.counted(count, "problem")). Begin with the first."
  }

  private static func write(_ item: Checkup.Item, to report: inout TextReport) {
    let words = [item.finding, item.level == .ok ? nil : item.cure].compactMap { $0 }.joined(separator: " ")
    let code = item.code.map { " (\($0.rawValue))" } ?? ""
    let lines = TextLayout.wrapped("\(item.subject)\(code): \(words)", width: TextLayout.terminalWidth - 2 - margin)
    for (number, line) in lines.enumerated() {
      report.line(TextLayout.padded(number == 0 ? item.level.rawValue : "", to: margin) + line)
    }
    if let command = item.command { report.line(TextLayout.padded("", to: margin + 2) + command) }
  }

  /// The width of the words for levels.
  private static let margin = 9

  private static func json(_ parts: [(title: String, checkup: Checkup)], _ isHealthy: Bool) -> JSONText {
    [
      "format": "coredata.doctor/1", "isHealthy": .bool(isHealthy),
      "parts": .array(
        parts.map { part in
          [
            "title": .string(part.title),
            "items": .array(
              part.checkup.items.map {
                [
                  "level": .string($0.level.rawValue), "subject": .string($0.subject), "finding": .string($0.finding),
                  "cure": .optional($0.cure), "command": .optional($0.command),
                  "code": .optional($0.code?.rawValue),
                ]
              }),
          ]
        }),
    ]
  }
}
