// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// A series of versions that lead to one another by inferred mappings.
///
/// Differs from Apple: where the way through a stage cannot be inferred in one go, it is gone from each version to the next.
open class NSLightweightMigrationStage: NSMigrationStage, @unchecked Sendable {
  /// The version checksums of the models, in the order of the versions.
  public let versionChecksums: [String]

  /// Makes a stage.
  ///
  /// - Parameter checksums: the `versionChecksum` of each version, in their order.
  public init(_ checksums: [String]) {
    versionChecksums = checksums
  }

  override var checksums: [String] { versionChecksums }
}
