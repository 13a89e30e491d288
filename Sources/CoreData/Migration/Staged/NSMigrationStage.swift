// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// A part of a staged migration; see `NSLightweightMigrationStage` and `NSCustomMigrationStage`.
open class NSMigrationStage: NSObject, @unchecked Sendable {
  /// A name for debugging; empty by default. Errors contain it.
  ///
  /// Differs from Apple: it is not recorded in the store's history.
  open var label: String! = ""

  /// The version checksums of the stage, in order.
  var checksums: [String] { [] }

  /// The stage's name in errors.
  var title: String {
    let label = label ?? ""
    return label.isEmpty ? "from \(checksums.joined(separator: " to "))" : "'\(label)'"
  }
}
