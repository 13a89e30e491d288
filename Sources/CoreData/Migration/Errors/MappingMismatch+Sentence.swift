// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataMigration
import Foundation

extension MappingMismatch {
  /// The mismatch as a sentence.
  var sentence: String {
    let subject = "The mapping '\(mapping)' is for the \(side.rawValue) entity '\(entity)'"
    guard let found else { return "\(subject), which the \(side.rawValue) model does not have." }
    guard let wanted else {
      return "\(subject), but has no version hash for it; the model's is \(ErrorDetail.hex(found))."
    }
    return
      "\(subject) with the version hash \(ErrorDetail.hex(wanted)); the \(side.rawValue) model's is \(ErrorDetail.hex(found))."
  }
}
