// OpenCoreData
// SPDX-License-Identifier: Apache-2.0


import Foundation

/// Errors of the file system, where stores are moved, replaced and recovered.
internal enum FileErrors {
  /// 640 for a full disk, 513 for missing rights, 642 for a disk that is read-only, 512 for anything else.
  static func error(_ failure: FileFailure, store: URL) -> NSError {
    let (code, suggestion) = kind(of: failure)
    let system = NSError(domain: NSPOSIXErrorDomain, code: Int(failure.number))
    return NSError.cocoa(
      code.rawValue, "The files of the persistent store could not be changed.",
      reason: "To \(failure.operation) '\(failure.path)' failed: \(String(cString: strerror(failure.number))).",
      suggestion: suggestion, underlying: system,
      [ErrorDetail.url: store, NSFilePathErrorKey: failure.path])
  }

  private static func kind(of failure: FileFailure) -> (CocoaError.Code, String) {
    switch failure.number {
    case ENOSPC, EDQUOT:
      (.fileWriteOutOfSpace, "Free some space on the disk and try again; no row is lost.")
    case EACCES, EPERM:
      (.fileWriteNoPermission, "Check the permissions of the store's file and folder; no row is lost.")
    case EROFS:
      (.fileWriteVolumeReadOnly, "Make the disk writable, or open the store read-only; no row is lost.")
    default:
      (.fileWriteUnknown, "Remove the cause and try again; no row is lost.")
    }
  }
}
