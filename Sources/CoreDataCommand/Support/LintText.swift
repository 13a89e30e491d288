// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataAnalysis
import CoreDataTerminal
import Foundation

/// Findings about a model in all formats.
struct LintText {
  let model: URL
  /// The findings, worst first.
  let entries: [ModelLint.Entry]
  /// Whether findings at the information level are included.
  let isVerbose: Bool

  private static let width = TextLayout.terminalWidth

  // MARK: Text

  /// Writes the findings by step and version.
  func write(to report: inout TextReport) {
    let shown = entries.filter { isVerbose || $0.finding.level > .information }
    for (title, group) in groups(shown) {
      report.section(title) { report in
        for entry in group { Self.write(entry.finding, to: &report) }
      }
    }
    if !shown.isEmpty { report.line() }
  }

  /// A summary such as `2 errors, 1 warning; 3 more are information (-v shows them).`
  var summary: String {
    let hidden = isVerbose ? 0 : entries.count { $0.finding.level == .information }
    let more = hidden == 0 ? "" : "; \(hidden) more \(hidden == 1 ? "is" : "are") information (-v shows them)"
    return "\(counts)\(more)."
  }

  private var counts: String {
    let errors = entries.count { $0.finding.level == .error }
    let warnings = entries.count { $0.finding.level == .warning }
    return "\(NumberText.counted(errors, "error")), \(NumberText.counted(warnings, "warning"))"
  }

  private func groups(_ entries: [ModelLint.Entry]) -> [(title: String, entries: [ModelLint.Entry])] {
    var order: [String] = []
    var groups: [String: [ModelLint.Entry]] = [:]
    for entry in entries {
      let title = entry.source.map { "\($0) -> \(entry.version)" } ?? entry.version
      if groups[title] == nil { order.append(title) }
      groups[title, default: []].append(entry)
    }
    return order.map { ($0, groups[$0] ?? []) }
  }

  private static func write(_ finding: Finding, to report: inout TextReport) {
    let style = FindingText.style(finding.level)
    let level = TextLayout.padded(finding.level.rawValue, to: 5)
    let lines = TextLayout.wrapped(FindingText.sentence(finding), width: width - 2 - 14)
    for (position, line) in lines.enumerated() {
      guard position == 0 else {
        report.line(String(repeating: " ", count: 14) + line)
        continue
      }
      let first: StyledText = "\(report.styler.style(level, style))  \(finding.code.rawValue)  \(line)"
      report.line(first)
    }
  }

  // MARK: Formats for programs

  var json: JSONText {
    .array(
      entries.map { entry in
        let place = FindingPlace(of: entry, in: model)
        return [
          "code": .string(entry.finding.code.rawValue), "level": .string(entry.finding.level.rawValue),
          "version": .string(entry.version), "from": .optional(entry.source), "entity": .optional(entry.finding.entity),
          "property": .optional(entry.finding.property), "message": .string(entry.finding.message),
          "file": .string(Self.path(place.url)), "line": .integer(place.line),
          "allowedBy": .optional(entry.finding.allowance?.author),
        ]
      })
  }

  var markdown: String {
    var table = TextTable([.init("Level"), .init("Code"), .init("Version"), .init("Finding")])
    for entry in entries where isVerbose || entry.finding.level > .information {
      table.add([
        entry.finding.level.rawValue, entry.finding.code.rawValue, entry.version, FindingText.sentence(entry.finding),
      ])
    }
    return (table.isEmpty ? "" : table.markdown + "\n") + summary + "\n"
  }

  /// Annotations for hosted workflows.
  var annotations: String {
    entries.filter { isVerbose || $0.finding.level > .information }.map { entry in
      let place = FindingPlace(of: entry, in: model)
      let level: WorkflowAnnotation.Level =
        switch entry.finding.level {
        case .error: .error
        case .warning: .warning
        case .information: .notice
        }
      let annotation = WorkflowAnnotation(
        level, FindingText.sentence(entry.finding),
        title: "\(entry.finding.code.rawValue): \(entry.finding.code.page.title)",
        file: Self.path(place.url), line: place.line)
      return annotation.text + "\n"
    }.joined()
  }

  /// Returns the results in the Static Analysis Results Interchange Format (SARIF), version 2.1.0.
  ///
  /// - Parameters:
  ///   - tool: the tool that produced the results.
  ///   - remarks: the remarks of rehearsals.
  func sarif(
    _ tool: ToolSpecification, _ remarks: [(level: Finding.Level, title: String, text: String)] = []
  ) -> JSONText {
    func rule(_ id: String, _ title: String, _ what: String, _ help: String) -> JSONText {
      [
        "id": .string(id), "shortDescription": ["text": .string(title)], "fullDescription": ["text": .string(what)],
        "help": ["text": .string(help)],
      ]
    }
    func result(_ id: String, _ level: Finding.Level, _ text: String, _ url: URL, line: Int) -> JSONText {
      let word =
        switch level {
        case .error: "error"
        case .warning: "warning"
        case .information: "note"
        }
      return [
        "ruleId": .string(id), "level": .string(word), "message": ["text": .string(text)],
        "locations": [
          [
            "physicalLocation": [
              "artifactLocation": ["uri": .string(Self.uri(url))], "region": ["startLine": .integer(line)],
            ]
          ]
        ],
      ]
    }
    var rules = Set(entries.map(\.finding.code)).sorted { $0.rawValue < $1.rawValue }.map { code in
      rule(code.rawValue, code.page.title, code.page.what, "\(code.page.why) \(code.page.cure)")
    }
    let rehearsal = "rehearsal"
    if !remarks.isEmpty {
      rules.append(
        rule(
          rehearsal, "a rehearsed migration", "Stores of every version are made, migrated and compared.",
          "Run coredata migrate rehearse for more, with --keep to look at the stores."))
    }
    let results =
      entries.map { entry in
        let place = FindingPlace(of: entry, in: model)
        return result(
          entry.finding.code.rawValue, entry.finding.level, FindingText.sentence(entry.finding), place.url,
          line: place.line)
      } + remarks.map { result(rehearsal, $0.level, "\($0.title): \($0.text)", model, line: 1) }
    return [
      "$schema": "https://json.schemastore.org/sarif-2.1.0.json", "version": "2.1.0",
      "runs": [
        [
          "tool": [
            "driver": [
              "name": .string(tool.name), "version": .string(tool.version), "rules": .array(rules),
            ]
          ],
          "results": .array(results),
        ]
      ],
    ]
  }

  /// Returns the checks of a model as test cases: one for each family of codes in each step.
  func cases() -> [TestReport.Case] {
    groups(entries).map { title, entries in
      TestReport.Case(
        title,
        failures: entries.filter { $0.finding.level == .error }.map {
          "\($0.finding.code.rawValue) \(FindingText.sentence($0.finding))"
        })
    }
  }

  /// Returns a path relative to the working directory, as used by code review pages.
  static func path(_ url: URL) -> String {
    let base = FileManager.default.currentDirectoryPath
    let path = url.standardizedFileURL.path
    return path.hasPrefix(base + "/") ? String(path.dropFirst(base.count + 1)) : path
  }

  private static func uri(_ url: URL) -> String {
    let path = path(url)
    guard !path.hasPrefix("/") else { return url.absoluteString }
    return path.addingPercentEncoding(withAllowedCharacters: .urlPathAllowed) ?? path
  }
}
