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
    let parts = steps.count > 1 ? steps.map(Self.line) + ["All steps are one transaction."] : []
    return parts + [
      "\(judgement.verdict.rawValue): \(judgement.sentence)",
      "Afterwards the next transaction of each gets error 134100 and writes nothing: open the store with \(target).",
    ]
  }

  var json: JSONText {
    [
      "verdict": .string(judgement.verdict.rawValue), "sentence": .string(judgement.sentence),
      "steps": .array(steps.map(Self.json)),
    ]
  }

  // MARK: Steps of a model

  static func lines(_ lint: RollingLint) -> [String] { lint.steps.map(line) }

  static func json(_ lint: RollingLint) -> JSONText { .array(lint.steps.map(json)) }

  private static func line(_ step: RollingLint.Step) -> String {
    "\(step.source) -> \(step.destination)  \(step.judgement.verdict.rawValue): \(step.judgement.sentence)"
  }

  private static func json(_ step: RollingLint.Step) -> JSONText {
    [
      "from": .string(step.source), "to": .string(step.destination),
      "verdict": .string(step.judgement.verdict.rawValue), "sentence": .string(step.judgement.sentence),
    ]
  }
}
