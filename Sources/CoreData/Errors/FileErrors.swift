// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataFileSystem
import Foundation

/// Errors of the file system when stores are moved, replaced and recovered.
enum FileErrors {
  /// 640 for a full disk, 513 for missing permissions, 642 for a read-only disk, 512 for anything else.
  static func error(_ failure: FileFailure, store: URL) -> NSError {
    let (code, suggestion) = kind(of: failure)
    let system = NSError(domain: NSPOSIXErrorDomain, code: Int(failure.number))
    return NSError.cocoa(
      code.rawValue, "The files of the persistent store could not be changed.",
      reason: "To \(failure.operation) '\(failure.path)' failed: \(String(cString: strerror(failure.number))).",
      suggestion: suggestion, underlying: system,
      [ErrorDetail.url: store, NSFilePathErrorKey: failure.path])
  }

  /// 134070 for a link, a device, a FIFO or a directory where a file is expected, and for a file that is too large.
  static func error(_ problem: RegularFile.Problem, store: URL) -> NSError {
    .cocoa(
      NSPersistentStoreOperationError, "A file of the persistent store cannot be used.",
      reason: "\(problem) It was neither read nor changed.",
      suggestion: "Find out where it comes from. Then move it away, or put a regular file or directory in its place.",
      [ErrorDetail.url: store])
  }

  /// The error for one of Foundation's, which names neither the file nor the reason.
  static func error(_ error: CocoaError, store: URL) -> NSError {
    let error = error as NSError
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
    default:
      (.fileWriteUnknown, "Remove the cause and try again; no row is lost.")
    }
  }
}

extension CocoaError {
  /// Whether the error has no reason. Foundation's errors about files have none; those of this framework always do.
  var localizedFailureReasonIsMissing: Bool { (self as NSError).localizedFailureReason == nil }
}
