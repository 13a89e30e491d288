// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// One part of a staged migration; see `NSLightweightMigrationStage` and `NSCustomMigrationStage`.
open class NSMigrationStage: NSObject, @unchecked Sendable {
  /// A name for people who debug; empty unless set. Errors name the stage by it.
  ///
  /// Differs from Apple: it is not recorded in the store's history.
  open var label: String! = ""

  /// The version checksums that the stage is for, in order.
  var checksums: [String] { [] }

  /// What the stage is called in errors.
  var title: String {
    let label = label ?? ""
    return label.isEmpty ? "from \(checksums.joined(separator: " to "))" : "'\(label)'"
  }
}
