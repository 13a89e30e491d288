// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Takes a store from stage to stage when it is opened: the value of `NSPersistentStoreStagedMigrationManagerOptionKey`.
///
/// The stages are a total order of all versions. A migration begins with the first stage that the store's version is of, and
/// ends with the version that the store is opened with. Everything that can be known beforehand is checked before anything
/// is changed: models, the order of the stages, and that each step can be inferred. Each stage is done for good when it is
/// done: what fails later, and what is interrupted, goes on there the next time.
///
/// Mapping models are not used.
open class NSStagedMigrationManager: NSObject, @unchecked Sendable {
  /// The stages, in the order of the versions.
  public let stages: [NSMigrationStage]
  /// While a handler runs, a container that has the store open, with the old model before a step and the new one after it.
  open internal(set) var container: NSPersistentContainer?

  /// Makes a manager.
  ///
  /// Traps when a version is of two stages. Only where one custom stage ends may the next one begin.
  /// - Parameter stages: the stages, in the order of the versions.
  public init(_ stages: [NSMigrationStage]) {
    self.stages = stages
    super.init()
    let repeated = StageOrder(stages).repeated
    precondition(
      repeated.isEmpty,
      "NSStagedMigrationManager: Duplicate version checksums across stages detected: \(repeated.joined(separator: ", ")). "
        + "Give each version one stage.")
  }
}
