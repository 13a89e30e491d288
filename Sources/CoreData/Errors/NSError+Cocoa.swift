// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataFileSystem
import CoreDataMistakes
import Foundation

/// Core Data's keys for the user info of errors, in addition to Foundation's.
package enum ErrorDetail {
  /// Core Data's own key for the failure reason.
  package static let reason = "reason"
  package static let metadata = "metadata"
  package static let url = "URL"
  package static let sourceURL = "sourceURL"
  package static let destinationURL = "destinationURL"
  package static let entity = "entity"
  package static let property = "property"
  package static let attribute = "attribute"
  /// The stage of a staged migration whose handler has failed.
  package static let stage = "stage"
  package static let sourceModel = "sourceModel"
  package static let destinationModel = "destinationModel"
  /// The version hash of each entity of a store, in hexadecimal. An addition to Core Data's keys.
  package static let storeHashes = "storeVersionHashes"
  /// The file of a mapping model that does not match, and the two hashes of an entity in hexadecimal. Additions to Core
  /// Data's keys.
  package static let mappingModelURL = "mappingModelURL"
  package static let mappingHash = "mappingHash"
  package static let modelHash = "modelHash"

  /// Returns a store's metadata, and its version hashes in hexadecimal.
  package static func store(metadata: [String: Any]) -> [String: Any] {
    var info: [String: Any] = [self.metadata: metadata]
    info[storeHashes] = (metadata[NSStoreModelVersionHashesKey] as? [String: Data])?.mapValues(hex)
    return info
  }

  /// Returns a version hash in hexadecimal.
  package static func hex(_ hash: Data) -> String { hash.map { String(format: "%02x", $0) }.joined() }

  /// Returns the entity and property, if known.
  package static func userInfo(entity: String?, property: String? = nil) -> [String: Any] {
    var info: [String: Any] = [:]
    info[self.entity] = entity
    info[self.property] = property
    return info
  }
}

extension NSError {
  /// Creates an error of Core Data, with what happened, the reason, and what to do.
  package static func cocoa(
    _ code: Int, _ description: String, reason: String, suggestion: String, underlying: (any Error)? = nil,
    _ details: [String: Any] = [:]
  ) -> NSError {
    var info = details
    for key in [ErrorDetail.url, ErrorDetail.sourceURL, ErrorDetail.destinationURL] {
      guard let url = info[key] as? URL, !url.isFileURL else { continue }
      info[key] = url.withoutPassword
      if key == ErrorDetail.url { info[NSFilePathErrorKey] = nil }
    }
    info[NSLocalizedDescriptionKey] = description
    info[NSLocalizedFailureReasonErrorKey] = reason
    info[ErrorDetail.reason] = reason
    info[NSLocalizedRecoverySuggestionErrorKey] = suggestion
    if let underlying { info[NSUnderlyingErrorKey] = underlying }
    return NSError(domain: NSCocoaErrorDomain, code: code, userInfo: info)
  }
}

/// Traps where Apple's API cannot throw, because the error is a mistake in the program.
package enum Misuse {
  /// Runs a closure, and traps with the reason of any error.
  package static func stop<Value>(_ body: () throws -> Value) -> Value {
    do {
      return try body()
    } catch {
      trap((error as NSError).localizedFailureReason ?? "\(error)")
    }
  }
}

/// File system errors of moving, replacing and recovering stores.
package enum FileErrors {
  /// 640 for a full disk, 513 for missing permissions, 642 for a read-only disk, 514 for a path that is too long, 512
  /// for any other failure.
  package static func error(_ failure: FileFailure, store: URL) -> NSError {
    let (code, suggestion) = kind(of: failure)
    let system = NSError(domain: NSPOSIXErrorDomain, code: Int(failure.number))
    return NSError.cocoa(
      code.rawValue, "The files of the persistent store could not be changed.",
      reason: "To \(failure.operation) '\(failure.path)' failed: \(String(cString: strerror(failure.number))).",
      suggestion: suggestion, underlying: system,
      [ErrorDetail.url: store, NSFilePathErrorKey: failure.path])
  }

  /// 134070 for a symbolic link, a device, a FIFO or a directory instead of a file, and for a file that is too large.
  package static func error(_ problem: RegularFile.Problem, store: URL) -> NSError {
    .cocoa(
      NSPersistentStoreOperationError, "A file of the persistent store cannot be used.",
      reason: "\(problem) It was neither read nor changed.",
      suggestion: "Find out where it comes from. Then move it away, or put a regular file or directory in its place.",
      [ErrorDetail.url: store])
  }

  /// Converts an error of Foundation, which names neither the file nor the reason.
  package static func error(_ error: NSError, store: URL) -> NSError {
    let path = (error.userInfo[NSFilePathErrorKey] as? String) ?? (error.userInfo["NSURL"] as? URL)?.path
    guard let system = error.userInfo[NSUnderlyingErrorKey] as? NSError, system.domain == NSPOSIXErrorDomain else {
      return .cocoa(
        error.code, "The files of the persistent store could not be changed.",
        reason: "To use '\(path ?? store.path)' failed.", suggestion: "Remove the cause and try again; no row is lost.",
        underlying: error, [ErrorDetail.url: store])
    }
    return self.error(
      FileFailure(operation: "use", path: path ?? store.path, number: Int32(system.code)), store: store)
  }

  private static func kind(of failure: FileFailure) -> (CocoaError.Code, String) {
    switch failure.number {
    case ENOSPC, EDQUOT:
      (.fileWriteOutOfSpace, "Free some space on the disk and try again; no row is lost.")
    case EACCES, EPERM:
      (.fileWriteNoPermission, "Check the permissions of the store's file and directory; no row is lost.")
    case EROFS:
      (.fileWriteVolumeReadOnly, "Make the disk writable, or open the store read-only; no row is lost.")
    case ENAMETOOLONG:
      (.fileWriteInvalidFileName, "Use a path of at most 503 bytes, with a file name of at most 247; no row is lost.")
    case EMFILE, ENFILE:
      (
        .fileWriteUnknown,
        "Close files that the process does not need, or raise its limit (ulimit -n), and try again; no row is lost."
      )
    default:
      (.fileWriteUnknown, "Remove the cause and try again; no row is lost.")
    }
  }
}

// On Linux, a cast to `CocoaError` succeeds for an `NSError` of any domain, and drops the domain. So errors are
// distinguished by domain and code.
extension NSError {
  /// Whether the error has Cocoa's domain.
  package var isCocoa: Bool { domain == NSCocoaErrorDomain }

  /// Returns whether the error has Cocoa's domain and a code.
  package func isCocoa(_ code: Int) -> Bool { isCocoa && self.code == code }

  /// Whether the error is one of Foundation's about files. These have no reason, whereas those of this framework always
  /// do.
  package var isFoundationFileError: Bool { isCocoa && localizedFailureReason == nil }

  /// Whether the code is one of Foundation's for files, such as 260 or 512.
  package var hasFileCode: Bool { code == 4 || (255...299).contains(code) || (512...699).contains(code) }
}
