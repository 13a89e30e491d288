// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

extension FileCalls {
  /// Gives a file a name that nothing has yet. What has the name already is never replaced.
  ///
  /// - Returns: false where something has that name.
  /// - Throws: `FileFailure`.
  package static func renameToNew(_ old: URL, to new: URL) throws -> Bool {
    if Foundation.link(old.path, new.path) == 0 {
      try removeFile(old)
      return true
    }
    switch errno {
    case EEXIST: return false
    case EPERM, EMLINK, EOPNOTSUPP, ENOTSUP, ENOSYS:
      // A file system without hard links has no such call.
      if exists(new) { return false }
      try rename(old, to: new)
      return true
    default: throw FileFailure(operation: "name '\(new.lastPathComponent)'", path: old.path, number: errno)
    }
  }

  /// Makes an empty file that only its owner can read.
  ///
  /// - Throws: `FileFailure`, also where something has that name, be it a symbolic link that leads nowhere.
  package static func makePrivateFile(_ url: URL) throws {
    let descriptor = open(url.path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw FileFailure(operation: "make", path: url.path, number: errno) }
    close(descriptor)
  }

  /// Whether a name is that of a regular file; a symbolic link to one is none.
  package static func isRegular(_ url: URL) -> Bool {
    var found = stat()
    return lstat(url.path, &found) == 0 && found.st_mode & S_IFMT == S_IFREG
  }

  /// Whether a name is that of a directory; a symbolic link to one is none.
  package static func isDirectory(_ url: URL) -> Bool {
    var found = stat()
    return lstat(url.path, &found) == 0 && found.st_mode & S_IFMT == S_IFDIR
  }

  /// The size of a file in bytes; 0 where there is none.
  package static func size(_ url: URL) -> Int {
    var found = stat()
    return lstat(url.path, &found) == 0 ? Int(found.st_size) : 0
  }
}
