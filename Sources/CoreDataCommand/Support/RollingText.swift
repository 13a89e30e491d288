// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataAnalysis
import CoreDataMigration
import CoreDataTerminal

/// What programs with the old version can do while a server migrates their store, as text and as JSON.
struct RollingText {
  private let judgement: RollingJudgement
  private let steps: [RollingLint.Step]
  private let target: String

  /// Returns nil if nothing is migrated.
  init?(_ inServer: ServerMigrationPlan, _ plan: MigrationPlan) {
    guard let judgement = inServer.rolling else { return nil }
    self.judgement = judgement
    target = plan.to
    steps = zip(plan.steps, inServer.steps).map { step, statements in
      RollingLint.Step(source: step.from, destination: step.to, judgement: RollingJudgement(statements))
    }
  }

  var lines: [String] {
    steps.count > 1 ? steps.map { "\(Self.title($0))  \(Self.sentence($0.judgement))" } + closing : closing
  }

  /// The lines below those of the steps.
  private var closing: [String] {
    (steps.count > 1 ? ["All steps are one transaction."] : []) + [
      Self.sentence(judgement),
      "Afterwards the next transaction of each gets error 134100 and writes nothing: open the store with \(target).",
    ]
  }

  func write(to report: inout TextReport) {
    if steps.count > 1 { Self.write(steps, to: &report) }
    for line in closing { report.line(line) }
  }

  var json: JSONText {
    [
      "verdict": .string(judgement.verdict.rawValue), "sentence": .string(judgement.sentence),
      "steps": .array(steps.map(Self.json)),
    ]
  }

  // MARK: Steps of a model

  static func write(_ lint: RollingLint, to report: inout TextReport) { write(lint.steps, to: &report) }

  static func json(_ lint: RollingLint) -> JSONText { .array(lint.steps.map(json)) }

  private static func write(_ steps: [RollingLint.Step], to report: inout TextReport) {
    for step in steps { report.entry(title(step), sentence(step.judgement)) }
  }

  private static func title(_ step: RollingLint.Step) -> String { "\(step.source) -> \(step.destination)" }

  private static func sentence(_ judgement: RollingJudgement) -> String {
    "\(judgement.verdict.rawValue): \(judgement.sentence)"
  }

  private static func json(_ step: RollingLint.Step) -> JSONText {
    [
      "from": .string(step.source), "to": .string(step.destination),
      "verdict": .string(step.judgement.verdict.rawValue), "sentence": .string(step.judgement.sentence),
    ]
  }
}
