// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Core Data's keys of the user info of errors, besides Foundation's.
enum ErrorDetail {
  /// Core Data's own key for the failure reason.
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
  /// The file of a mapping model that does not match, and the two hashes of an entity in hexadecimal. Additions to Core
  /// Data's keys.
  static let mappingModelURL = "mappingModelURL"
  static let mappingHash = "mappingHash"
  static let modelHash = "modelHash"

  /// Returns a store's metadata, and its version hashes in hexadecimal.
  static func store(metadata: [String: Any]) -> [String: Any] {
    var info: [String: Any] = [self.metadata: metadata]
    info[storeHashes] = (metadata[NSStoreModelVersionHashesKey] as? [String: Data])?.mapValues(hex)
    return info
  }

  /// Returns a version hash in hexadecimal.
  static func hex(_ hash: Data) -> String { hash.map { String(format: "%02x", $0) }.joined() }

  /// Returns the entity and property, as far as known.
  static func place(entity: String?, property: String? = nil) -> [String: Any] {
    var info: [String: Any] = [:]
    info[self.entity] = entity
    info[self.property] = property
    return info
  }
}

extension NSError {
  /// Makes an error of Core Data: what happened, why, and what to do.
  static func cocoa(
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

/// Stops the program where Apple's API cannot throw, because the error is a mistake in the program.
enum Misuse {
  /// Runs a closure, and stops the program with the reason of any error.
  static func stop<Value>(_ body: () throws -> Value) -> Value {
    do {
      return try body()
    } catch {
      preconditionFailure((error as NSError).localizedFailureReason ?? "\(error)")
    }
  }
}
