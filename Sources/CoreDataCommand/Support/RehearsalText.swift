// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataAnalysis
import CoreDataFileSystem
import CoreDataTerminal
import CoreDataTesting
import Foundation

/// A rehearsal in all formats.
struct RehearsalText {
  let rehearsal: MigrationRehearsal
  let model: ModelArgument
  /// The reasons the rehearsal is unsuccessful, besides failed migrations.
  let problems: [MigrationRehearsal.Problem]
  /// Whether successful cases are included.
  let isVerbose: Bool

  /// - Parameter problems: the problems that count; nil for all of the rehearsal's.
  init(
    rehearsal: MigrationRehearsal, problems: [MigrationRehearsal.Problem]? = nil, model: ModelArgument,
    _ invocation: CommandInvocation
  ) {
    self.rehearsal = rehearsal
    self.problems = problems ?? rehearsal.problems
    self.model = model
    isVerbose = invocation.options.isVerbose
  }

  /// Returns the sentences of a problem, with what to do.
  private func text(of problem: MigrationRehearsal.Problem) -> String {
    guard problem.isRefusal, let version = problem.version else { return problem.text }
    return "\(problem.text) If this is intended: --allow-refusal \(ShellWord.quoted(version))."
  }

  // MARK: Text

  func write(to report: inout TextReport) {
    report.line("\(model.name)  \(NumberText.counted(rehearsal.cases.count, "migration")), seed \(rehearsal.seed)")
    report.line()
    var table = TextTable([
      .init("From"), .init("Steps", .trailing), .init("Content"), .init("Rows", .trailing), .init("Time", .trailing),
      .init("Result"),
    ])
    for item in rehearsal.cases {
      let style: TextStyle? = item.isFailure ? .red : word(item) == "same" ? nil : .dim
      table.add([
        StyledText(item.source), StyledText(String(max(0, item.path.count - 1))), StyledText(item.content),
        StyledText(NumberText.grouped(item.rows.values.reduce(0) { $0 + $1.before })),
        StyledText(Self.milliseconds(item.seconds)),
        style.map { report.styler.style(word(item), $0) } ?? StyledText(word(item)),
      ])
    }
    report.indented { $0.table(table) }
    report.line()
    writeNotes(to: &report)
    report.line(summary)
  }

  /// Writes remarks on the cases, beginning with those that failed.
  func writeNotes(to report: inout TextReport) {
    if !isVerbose {
      for (reason, count) in skipped {
        let text = "\(NumberText.counted(count, "migration")) skipped: \(reason)"
        report.paragraph(text)
      }
    }
    // What keeps all versions from a migration is said once.
    var groups: [(notes: [String], names: [String])] = []
    for item in rehearsal.cases where item.isFailure || isVerbose {
      let notes = notes(item)
      if notes.isEmpty { continue }
      if let position = groups.firstIndex(where: { $0.notes == notes }) {
        groups[position].names.append(item.name)
      } else {
        groups.append((notes, [item.name]))
      }
    }
    for (notes, names) in groups {
      for name in names { report.line(report.styler.style(name, .bold)) }
      report.indented { report in
        for note in notes { report.paragraph(note) }
      }
    }
    for problem in problems { report.paragraph("error: \(text(of: problem))") }
  }

  /// The reasons migrations were not rehearsed, without duplicates.
  private var skipped: [(reason: String, count: Int)] {
    var counts: [String: Int] = [:]
    for item in rehearsal.cases {
      if case .skipped(let reason) = item.outcome { counts[reason, default: 0] += 1 }
    }
    return counts.sorted { ($1.value, $0.key) < ($0.value, $1.key) }.map { ($0.key, $0.value) }
  }

  var summary: String {
    let words = ["same", "migrated", "current", "refused", "refused as expected", "skipped", "failed"]
    let counts = words.map { word in (word, rehearsal.cases.count { self.word($0) == word }) }.filter { $0.1 > 0 }
    var parts = counts.map { "\($0.1) \($0.0)" }
    guard !parts.isEmpty else {
      return problems.isEmpty ? "There is no earlier version." : NumberText.counted(problems.count, "problem") + "."
    }
    if !problems.isEmpty { parts.append(NumberText.counted(problems.count, "problem")) }
    let areRefused = counts.contains { $0.0.hasPrefix("refused") }
    let more = isVerbose || !areRefused ? "" : " (-v says why some were refused)"
    return parts.joined(separator: ", ") + more + "."
  }

  func word(_ item: MigrationRehearsal.Case) -> String {
    if item.isCurrent, !item.isFailure { return "current" }
    return switch item.outcome {
    case .same: "same"
    case .migrated: "migrated"
    case .refused: item.isExpected ? "refused as expected" : "refused"
    case .skipped: "skipped"
    case .failed: "failed"
    }
  }

  func notes(_ item: MigrationRehearsal.Case) -> [String] {
    switch item.outcome {
    case .same, .migrated: []
    case .refused(let reason), .skipped(let reason): [reason]
    case .failed(let texts):
      Array(texts.prefix(20)) + (texts.count > 20 ? ["\(texts.count - 20) more differences"] : [])
        + (item.kept.map { ["The store is kept: \($0.path)"] } ?? [])
    }
  }

  static func milliseconds(_ seconds: Double) -> String { "\(Int((seconds * 1000).rounded())) ms" }

  var markdown: String {
    var table = TextTable([.init("From"), .init("To"), .init("Content"), .init("Rows", .trailing), .init("Result")])
    for item in rehearsal.cases {
      table.add([
        item.source, item.destination, item.content,
        NumberText.grouped(item.rows.values.reduce(0) { $0 + $1.before }),
        ([word(item)] + notes(item)).joined(separator: ": "),
      ])
    }
    return table.markdown + "\n" + problems.map { "**\(text(of: $0))**\n\n" }.joined() + summary + "\n"
  }

  // MARK: Formats for programs

  var problemsJSON: [JSONText] {
    problems.map { ["version": .optional($0.version), "text": .string(text(of: $0))] }
  }

  var json: JSONText {
    .array(
      rehearsal.cases.map { item in
        [
          "from": .string(item.source), "to": .string(item.destination), "content": .string(item.content),
          "path": .array(item.path.map { .string($0) }), "outcome": .string(word(item)),
          "notes": .array(notes(item).map { .string($0) }), "seconds": .real(item.seconds),
          "kept": .optional(item.kept?.path),
          "rows": .object(
            item.rows.sorted { $0.key < $1.key }.map {
              .init($0.key, ["before": .integer($0.value.before), "after": .integer($0.value.after)])
            }),
        ]
      })
  }

  /// Remarks on the rehearsal, for programs that show remarks beside the model.
  var remarks: [(level: Finding.Level, title: String, text: String)] {
    let failures = rehearsal.failures.map { item in
      (Finding.Level.error, "Migration \(item.name) failed", notes(item).joined(separator: "\n"))
    }
    let left = skipped.map { reason, count in
      (Finding.Level.warning, "\(NumberText.counted(count, "migration")) not rehearsed", reason)
    }
    let whole = problems.map { problem in
      (Finding.Level.error, "Rehearsal of \(problem.version ?? model.name)", text(of: problem))
    }
    return failures + whole + left
  }

  var annotations: String {
    remarks.map { remark in
      let annotation = WorkflowAnnotation(
        remark.level == .error ? .error : .warning, remark.text, title: remark.title, file: LintText.path(model.url),
        line: 1)
      return annotation.text + "\n"
    }.joined()
  }

  /// Returns the exit status of a command after its rehearsals. If nothing could be rehearsed, the result is unknown.
  static func status(_ texts: [RehearsalText]) -> ExitStatus {
    if texts.contains(where: { !$0.rehearsal.failures.isEmpty }) { return .no }
    guard texts.contains(where: { !$0.problems.isEmpty }) else { return .done }
    let isNothing = texts.flatMap(\.rehearsal.cases).allSatisfy { item in
      if case .skipped = item.outcome { true } else { item.isCurrent }
    }
    let areAllNothing = texts.flatMap(\.problems).allSatisfy { $0.kind == .skipped || $0.kind == .nothing }
    return isNothing && areAllNothing ? .migrationImpossible : .no
  }

  var cases: [TestReport.Case] {
    let own = rehearsal.cases.map { item in
      let skipped: String? = if case .skipped(let reason) = item.outcome { reason } else { nil }
      return TestReport.Case(
        item.name, time: item.seconds, failures: item.isFailure ? notes(item) : [], skipped: skipped)
    }
    return own
      + problems.map { problem in
        TestReport.Case(
          "Rehearsal of \(problem.version ?? model.name)", time: 0, failures: [text(of: problem)], skipped: nil)
      }
  }
}
