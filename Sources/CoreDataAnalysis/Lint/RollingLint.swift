// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataMigration
import CoreDataModelFiles

/// What programs with the old version can do while a server migrates their store, for the steps between the versions of
/// a model.
package struct RollingLint {
  package struct Step {
    package let source: String
    package let destination: String
    package let judgement: RollingJudgement

    package init(source: String, destination: String, judgement: RollingJudgement) {
      (self.source, self.destination, self.judgement) = (source, destination, judgement)
    }
  }

  package let steps: [Step]

  /// Whether there is a step for which programs with the old version have to be stopped first.
  package var hasStops: Bool { steps.contains { $0.judgement.verdict == .stopFirst } }

  /// Judges the step that leads to the current version.
  ///
  /// - Parameter includesAllSteps: whether every step up to it is judged.
  package init(_ known: ModelVersions, includesAllSteps: Bool) {
    let versions = known.versions
    let end = (versions.lastIndex { $0.name == known.currentName }).map { $0 + 1 } ?? versions.count
    let all = Array(zip(versions[..<end], versions[..<end].dropFirst()))
    steps = (includesAllSteps ? all : Array(all.suffix(1))).map { old, new in
      Step(source: old.name, destination: new.name, judgement: Self.judgement(from: old.document, to: new.document))
    }
  }

  private static func judgement(from old: ModelDocument, to new: ModelDocument) -> RollingJudgement {
    do {
      return try RollingJudgement(from: old, to: new, values: FrameworkValues())
    } catch let failure as InferenceFailure {
      let obstacles = failure.obstacles.map(\.reason).joined(separator: " ")
      return RollingJudgement(copiedBecause: "it needs a mapping model. \(obstacles)")
    } catch {
      // The findings of the step say why it fails.
      return RollingJudgement(copiedBecause: "it cannot be run in the server")
    }
  }
}
