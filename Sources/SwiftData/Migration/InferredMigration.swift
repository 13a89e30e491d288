// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataMigration
import Foundation

/// The migration of a store without a plan: its own model and the container's are compared, and the step is inferred.
///
/// Content that the container's types lack is dropped only with permission.
struct InferredMigration {
  private let opening: ContainerMigration

  private var url: URL { opening.url }

  init(_ opening: ContainerMigration) { self.opening = opening }

  func run(_ metadata: [String: Any]) throws {
    if let mark = StageMark(metadata) {
      if mark.isAfterStep(metadata) { throw opening.unfinished(mark, "The container has no migration plan.") }
      try StageMark.set(nil, at: url)
    }
    let (model, options) = (opening.model, opening.options)
    if let stored = SchemaWords.identifier(metadata), stored > opening.schema.version, options.allowedLosses == .none {
      throw opening.backward(metadata, stored, latest: "the container's schema, \(opening.schema.version)")
    }
    let label = "\(SchemaWords.identifier(metadata)?.description ?? "old version") to \(opening.schema.version)"
    do {
      let versions = ModelVersions([ModelVersion(name: "the container's schema", model: model)])
      let migration = try StoreMigration(
        storeAt: url, known: versions, version: nil, isProgressive: false, allowsLoss: options.allowedLosses)
      guard migration.isNeeded else { return }
      if options.allowedLosses != .all, let carried = SchemaWords.carriedModel(url) {
        try DroppedParts(from: carried, to: model, at: url).check(options.allowedLosses, opening)
      }
      var tracker = StageProgress(opening, [label])
      tracker.backup = try opening.backUp { try tracker.report(.backup, 0) }
      try migration.run { try tracker.report(.step, $0.fractionCompleted) }
    } catch let cancellation as ContainerMigration.Cancellation {
      throw opening.cancelled(cancellation.cause, "It is unchanged.")
    } catch let error where error.isCancellation {
      throw opening.cancelled(error, "It is unchanged.")
    } catch let error as SwiftDataError {
      throw error
    } catch {
      throw failure(error)
    }
  }

  private func failure(_ error: any Error) -> SwiftDataError {
    let hint = SchemaWords.carriedModel(url).map { SchemaWords.renamingHint($0, opening.model) } ?? ""
    let advice = CoreDataAdvice.text(for: error as NSError) ?? ""
    let words = ["It is unchanged.", advice, hint].filter { !$0.isEmpty }.joined(separator: " ")
    return SwiftDataError(
      .loadIssueModelContainer,
      "The store \(opening.place) could not be migrated to the container's schema. \(words)", cause: error,
      isAdvised: true)
  }
}
