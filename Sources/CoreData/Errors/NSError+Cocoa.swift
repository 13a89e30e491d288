// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The keys, beside Foundation's, under which Core Data says what an error is about.
internal enum ErrorDetail {
  /// The reason once more, under the key that Core Data uses.
  static let reason = "reason"
  static let metadata = "metadata"
  static let url = "URL"
  static let sourceURL = "sourceURL"
  static let destinationURL = "destinationURL"
  static let entity = "entity"
  static let property = "property"
  static let attribute = "attribute"
  static let sourceModel = "sourceModel"
  static let destinationModel = "destinationModel"
  /// The version hash of each entity of a store, in hexadecimal; an addition of ours.
  static let storeHashes = "storeVersionHashes"
  /// The file of a mapping model that does not fit, and the two hashes of an entity, in hexadecimal; additions of ours.
  static let mappingModelURL = "mappingModelURL"
  static let mappingHash = "mappingHash"
  static let modelHash = "modelHash"

  /// A store's metadata, and its version hashes as text that can be read and compared.
  static func store(metadata: [String: Any]) -> [String: Any] {
    var info: [String: Any] = [self.metadata: metadata]
    info[storeHashes] = (metadata[NSStoreModelVersionHashesKey] as? [String: Data])?.mapValues(hex)
    return info
  }

  /// A version hash as people write it.
  static func hex(_ hash: Data) -> String { hash.map { String(format: "%02x", $0) }.joined() }

  /// The entity and property, as far as known.
  static func place(entity: String?, property: String? = nil) -> [String: Any] {
    var info: [String: Any] = [:]
    info[self.entity] = entity
    info[self.property] = property
    return info
  }
}

extension NSError {
  /// An error of Core Data: what happened, why, and what to do.
  internal static func cocoa(
    _ code: Int, _ description: String, reason: String, suggestion: String, underlying: (any Error)? = nil,
    _ details: [String: Any] = [:]
  ) -> NSError {
    var info = details
    info[NSLocalizedDescriptionKey] = description
    info[NSLocalizedFailureReasonErrorKey] = reason
    info[ErrorDetail.reason] = reason
    info[NSLocalizedRecoverySuggestionErrorKey] = suggestion
    if let underlying { info[NSUnderlyingErrorKey] = underlying }
    return NSError(domain: NSCocoaErrorDomain, code: code, userInfo: info)
  }
}
