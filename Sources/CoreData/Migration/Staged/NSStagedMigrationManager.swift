// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Migrates a store in stages when it is opened: the value of `NSPersistentStoreStagedMigrationManagerOptionKey`.
///
/// The stages put all versions in one order. A migration begins at the first stage that has the store's version, and ends at
/// the version that the store is opened with. Models, the order of the stages, and whether each step can be inferred are
/// checked before anything changes. Each finished stage is final: after a failure or an interruption the next migration
/// continues from there.
///
/// Mapping models are not used.
open class NSStagedMigrationManager: NSObject, @unchecked Sendable {
  /// The stages, in the order of the versions.
  public let stages: [NSMigrationStage]
  /// While a handler runs, a container with the open store; it has the old model before a step, and the new one afterwards.
  open internal(set) var container: NSPersistentContainer?

  /// Makes a manager.
  ///
  /// Traps when two stages have the same version, except that a custom stage may begin where the previous one ends.
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
