// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataAnalysis
import CoreDataTerminal
import CoreDataTesting
import Foundation

/// A rehearsal in each of the formats.
struct RehearsalText {
  let rehearsal: MigrationRehearsal
  let model: ModelArgument
  /// Whether cases are told that went well.
  let isVerbose: Bool

  init(rehearsal: MigrationRehearsal, model: ModelArgument, _ invocation: CommandInvocation) {
    self.rehearsal = rehearsal
    self.model = model
    isVerbose = invocation.options.isVerbose
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

  /// Writes what there is to say of cases, those that failed first of all.
  func writeNotes(to report: inout TextReport) {
    if !isVerbose {
      for (reason, count) in skipped {
        let text = "\(NumberText.counted(count, "migration")) skipped: \(reason)"
        report.paragraph(text)
      }
    }
    for item in rehearsal.cases where !notes(item).isEmpty && (item.isFailure || isVerbose) {
      report.section(item.name) { report in
        for note in notes(item) { report.paragraph(note) }
      }
    }
  }

  /// The reasons for which migrations were not rehearsed, each once.
  private var skipped: [(reason: String, count: Int)] {
    var counts: [String: Int] = [:]
    for item in rehearsal.cases {
      if case .skipped(let reason) = item.outcome { counts[reason, default: 0] += 1 }
    }
    return counts.sorted { ($1.value, $0.key) < ($0.value, $1.key) }.map { ($0.key, $0.value) }
  }

  var summary: String {
    let words = ["same", "migrated", "refused", "skipped", "failed"]
    let counts = words.map { word in (word, rehearsal.cases.count { self.word($0) == word }) }
    let text = counts.filter { $0.1 > 0 }.map { "\($0.1) \($0.0)" }.joined(separator: ", ")
    let more = isVerbose || counts[2].1 == 0 ? "" : " (-v says why some were refused)"
    return text.isEmpty ? "There is no earlier version." : text + more + "."
  }

  func word(_ item: MigrationRehearsal.Case) -> String {
    switch item.outcome {
    case .same: "same"
    case .migrated: "migrated"
    case .refused: "refused"
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
    return table.markdown + "\n" + summary + "\n"
  }

  // MARK: Programs

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

  /// What there is to say of the rehearsal to programs that show remarks beside the model.
  var remarks: [(level: Finding.Level, title: String, text: String)] {
    let failures = rehearsal.failures.map { item in
      (Finding.Level.error, "Migration \(item.name) failed", notes(item).joined(separator: "\n"))
    }
    let left = skipped.map { reason, count in
      (Finding.Level.warning, "\(NumberText.counted(count, "migration")) not rehearsed", reason)
    }
    return failures + left
  }

  var annotations: String {
    remarks.map { remark in
      let annotation = WorkflowAnnotation(
        remark.level == .error ? .error : .warning, remark.text, title: remark.title, file: LintText.path(model.url),
        line: 1)
      return annotation.text + "\n"
    }.joined()
  }

  /// The exit status of a command that has rehearsed: where nothing could be rehearsed, nothing is known.
  static func status(_ rehearsals: [MigrationRehearsal]) -> ExitStatus {
    if rehearsals.contains(where: { !$0.failures.isEmpty }) { return .no }
    let cases = rehearsals.flatMap(\.cases)
    let areSkipped = cases.allSatisfy { if case .skipped = $0.outcome { true } else { false } }
    return !cases.isEmpty && areSkipped ? .migrationImpossible : .done
  }

  var cases: [TestReport.Case] {
    rehearsal.cases.map { item in
      let skipped: String? = if case .skipped(let reason) = item.outcome { reason } else { nil }
      return TestReport.Case(
        item.name, time: item.seconds, failures: item.isFailure ? notes(item) : [], skipped: skipped)
    }
  }
}
