// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// A series of versions connected by inferred mappings.
///
/// Differs from Apple: where a stage cannot be inferred as one step, it is migrated version by version.
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
