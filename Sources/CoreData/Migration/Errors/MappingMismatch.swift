// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// An entity whose version hash in a mapping model differs from that in a model.
internal struct MappingMismatch: Hashable, Sendable {
  /// The side of the mapping.
  enum Side: String, Hashable, Sendable {
    case source, destination
  }

  /// The name of the entity mapping.
  var mapping: String
  var side: Side
  /// The entity that the mapping names.
  var entity: String
  /// The version hash in the mapping; nil where it has none.
  var wanted: Data?
  /// The version hash in the model; nil where it does not have the entity.
  var found: Data?

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
