// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataAnalysis
import CoreDataTerminal
import Foundation

/// Plans as text and as JSON.
enum PlanText {
  static func members(of plan: MigrationPlan) -> [JSONText.Member] {
    [
      .init("format", "coredata.plan/1"), .init("from", .string(plan.from)), .init("to", .string(plan.to)),
      .init("steps", .array(plan.steps.map { json($0) })),
      .init("goesBack", .bool(plan.isDowngrade)),
      .init("explanation", .array(plan.explanation.map { .string($0) })),
      .init("findings", FindingText.json(plan.findings.map { ($0.version, $0.finding) })),
      .init(
        "rows", .object(plan.rows.sorted { $0.key < $1.key }.map { .init($0.key, .integer($0.value)) })),
      .init("bytesNeeded", .optional(plan.space.map { plan.steps.isEmpty ? 0 : $0.needed })),
      .init("bytesFree", .optional(plan.space?.free)),
    ]
  }

  static func json(_ step: MigrationPlan.Step) -> JSONText {
    [
      "from": .string(step.from), "to": .string(step.to), "kind": .string(step.kind),
      "mapping": .optional(step.mapping?.path), "reason": .string(step.reason),
      "inPlace": .bool(step.isInPlace), "rowsTouched": .integer(step.rowsTouched),
      "changes": .array(step.difference.changes.map { ChangeText.json($0) }),
    ]
  }

  static func write(_ plan: MigrationPlan, to report: inout TextReport) {
    guard !plan.steps.isEmpty else {
      report.line("\(plan.store.lastPathComponent) already has version \(plan.to). There is nothing to do.")
      return
    }
    let title = report.styler.style("Plan", .bold)
    let steps = NumberText.counted(plan.steps.count, "step")
    let opening: StyledText = "\(title)  \(plan.from) -> \(plan.to)      \(steps)"
    report.line(opening)
    report.line()
    let width = String(plan.steps.count).count
    for (position, step) in plan.steps.enumerated() {
      report.indented { report in
        let number = String(repeating: " ", count: width - String(position + 1).count) + String(position + 1)
        let rows = NumberText.counted(step.rowsTouched, "row")
        report.line(
          "\(number)  \(step.from) -> \(step.to)   \(kind(step)), \(step.isInPlace ? "in place" : "copy")   "
            + "\(rows) touched")
        report.indented { report in
          if step.reason != StoreMigration.Step.plainReason { report.indented { $0.line(step.reason) } }
          report.indented {
            ChangeText.write(
              step.difference.changes.filter { $0.changesVersionHash || $0.subject == .fetchIndex }, to: &$0)
          }
        }
      }
    }
    report.line()
    if plan.beginsWithOwnModel || plan.steps.contains(where: { $0.kind != "inferred" }) {
      report.indented { report in for sentence in plan.explanation { report.line(sentence) } }
      report.line()
    }
    report.indented { report in
      FindingText.write(plan.findings.map { ($0.version, $0.finding) }, to: &report)
      if let space = plan.space {
        let free = space.free.map { ", \(NumberText.bytes($0)) free" } ?? ""
        report.line("Disk   needs \(NumberText.bytes(space.needed)) beside the store\(free)")
      }
    }
    if plan.isDowngrade {
      report.indented {
        $0.line("Back   \(plan.to) comes before \(plan.from); migrate run requires --allow-downgrade.")
      }
    }
    report.line(summary(plan))
  }

  private static func kind(_ step: MigrationPlan.Step) -> String {
    step.mapping.map { "mapping \($0.lastPathComponent)" } ?? step.kind
  }

  static func markdown(_ plan: MigrationPlan) -> String {
    var steps = TextTable([
      .init("Step", .trailing), .init("From"), .init("To"), .init("Kind"), .init("Rows", .trailing),
    ])
    for (position, step) in plan.steps.enumerated() {
      steps.add([
        String(position + 1), step.from, step.to, kind(step) + (step.isInPlace ? ", in place" : ", copy"),
        NumberText.grouped(step.rowsTouched),
      ])
    }
    var findings = TextTable([.init("Level"), .init("Code"), .init("Place"), .init("Finding"), .init("Version")])
    for (version, finding) in plan.findings {
      findings.add([
        finding.level.rawValue, finding.code.rawValue, finding.place, FindingText.message(finding), version,
      ])
    }
    return "## \(plan.from) -> \(plan.to)\n\n" + steps.markdown
      + (plan.findings.isEmpty ? "" : "\n" + findings.markdown) + "\n\(summary(plan))\n"
  }

  /// Returns the reason `migrate run` would not carry out a plan; nil if it would.
  static func refusal(_ plan: MigrationPlan, allowsDowngrade: Bool = false) -> String? {
    let errors = plan.findings.filter { $0.finding.level == .error }
    let isDowngrade = plan.isDowngrade && !allowsDowngrade
    guard isDowngrade || !errors.isEmpty else { return nil }
    func words(_ list: [(version: String, finding: Finding)]) -> String {
      let shown = list.prefix(4).map { "\($0.finding.code.rawValue) \($0.finding.sentence)" }
      let rest = list.count - shown.count
      return shown.joined(separator: "; ") + (rest > 0 ? "; and \(rest) more (see migrate plan)" : "") + "."
    }
    let losses = errors.filter { $0.finding.code.isLoss && !$0.finding.isFailure }
    let failures = errors.filter { !$0.finding.code.isLoss || $0.finding.isFailure }
    var sentences: [String] = []
    if isDowngrade {
      sentences.append(
        "\(plan.to) comes before \(plan.from) and can hold less. To migrate back, use --allow-downgrade.")
    }
    if !failures.isEmpty {
      let codes = Set(failures.map(\.finding.code.rawValue)).sorted()
      sentences.append(
        "The migration would fail: \(words(failures)) To see what to do, use coredata explain \(codes.joined(separator: " or "))."
      )
    }
    if !losses.isEmpty {
      sentences.append("Data would be lost: \(words(losses)) To accept the loss, use --allow or --allow-loss.")
    }
    return sentences.joined(separator: " ")
  }

  static func summary(_ plan: MigrationPlan) -> String {
    let errors = NumberText.counted(plan.count(of: .error), "error")
    return "\(errors), \(NumberText.counted(plan.count(of: .warning), "warning")). Nothing was changed."
  }
}

/// Changes between versions as text and as JSON.
enum ChangeText {
  /// Writes the changes grouped by entity, one per line with a sign.
  static func write(_ changes: [ModelChange], to report: inout TextReport) {
    var table = TextTable([.init(), .init(), .init(), .init()])
    var last: String??
    for change in changes {
      let title = change.entity ?? "(model)"
      let shown = last == .some(change.entity) ? "" : title
      last = .some(change.entity)
      let note = change.migration == .custom ? "cannot be inferred" : ""
      table.add([shown, sign(change), text(change), note])
    }
    report.table(table)
  }

  /// Returns `+`, `-` or `~`.
  static func sign(_ change: ModelChange) -> String {
    switch change.kind {
    case .added: "+"
    case .removed: "-"
    case .renamed, .moved, .changed: "~"
    }
  }

  /// Returns the text after the sign.
  static func text(_ change: ModelChange) -> String {
    let name = change.property ?? ""
    let prefix = change.subject == .attribute || change.subject == .relationship || name.isEmpty
    let subject = prefix ? name : "\(change.subject.rawValue) \(name)"
    switch change.kind {
    case .added(let description): return [subject.isEmpty ? "new" : subject, description].joined(separator: "  ")
    case .removed: return subject.isEmpty ? "removed" : subject
    case .renamed(let old):
      return "\(old) -> \(change.property ?? change.entity ?? "") (renaming identifier)"
    case .moved(let old, let new): return "\(subject)  moved from \(old) to \(new)"
    case .changed(let aspect, let old, let new):
      return (subject.isEmpty ? "" : "\(subject)  ") + "\(aspect.rawValue): \(old) -> \(new)"
    }
  }

  static func json(_ change: ModelChange) -> JSONText {
    [
      "entity": .optional(change.entity), "property": .optional(change.property),
      "subject": .string(change.subject.rawValue), "change": .string(change.word),
      "from": .optional(change.oldValue), "to": .optional(change.newValue),
      "changesVersionHash": .bool(change.changesVersionHash), "migration": .string(change.migration.rawValue),
      "sentence": .string(change.sentence),
    ]
  }
}
