// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import CoreDataSQLite
import Foundation

/// Findings about the files of a store.
extension StoreReader {
  /// Returns ST604 and ST605, if they apply, worst first.
  ///
  /// - Parameter isVersionKnown: whether a model of the app matches the store, so that its cached model is not needed.
  package func findings(isVersionKnown: Bool) -> [Finding] {
    [logFinding, modelFinding(isVersionKnown: isVersionKnown)].compactMap { $0 }.map(allowed)
      .sorted(by: Finding.areInOrder)
  }

  /// ST602, if it applies.
  package var spaceFinding: Finding? { finding(space) }

  /// Returns ST602 for a migration that needs some space, if it applies.
  func finding(_ space: StoreSpace) -> Finding? { space.finding.map(allowed) }

  /// Returns the finding as information if the store's model allows it.
  private func allowed(_ finding: Finding) -> Finding {
    finding.allowed(by: model.flatMap { .inModel(finding.code, anywhereIn: $0) })
  }

  /// The size of a log without pages, in bytes.
  private static let emptyLog = 32

  private var logFinding: Finding? {
    let size = file.sizes.log
    guard size > Self.emptyLog else { return nil }
    let name = (DatabaseFile.target(of: url.path) as NSString).lastPathComponent
    return finding(
      .unmergedLog, .warning, "\(name)-wal has \(CountText.counted(size, "byte")) that may not be in \(name) yet")
  }

  private func modelFinding(isVersionKnown: Bool) -> Finding? {
    guard metadata.model == nil else { return nil }
    let name = url.lastPathComponent
    let message =
      metadata.modelProblem.map { "the model that \(name) carries cannot be read: \($0)" } ?? "\(name) carries no model"
    return finding(.noModelInStore, isVersionKnown ? .information : .warning, message)
  }

  private func finding(_ code: FindingCode, _ level: Finding.Level, _ message: String) -> Finding {
    Finding(code, level, entity: nil, property: nil, sourceEntity: nil, sourceProperty: nil, message)
  }
}
