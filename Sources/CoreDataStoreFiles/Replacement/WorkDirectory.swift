// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataFileSystem
import Foundation

/// The hidden directory `.Data.sqlite-migration` beside a store.
///
/// It may have come with the store, in an archive that somebody has sent. So it is opened once, refused unless it is a
/// directory that this framework could have made, and used through its descriptor from then on.
package enum WorkDirectory {
  /// Something that is not used, and was not changed.
  package struct Refusal: Error {
    package let path: String
    /// Sentences.
    package let reason: String

    package init(
      path: String, reason: String
    ) {
      self.path = path
      self.reason = reason
    }
  }

  /// Opens the work directory; nil where there is none.
  ///
  /// - Parameter folder: the directory that the store is in.
  /// - Throws: `Refusal`; `FileFailure`.
  package static func open(_ place: StoreLocation, in folder: OpenDirectory) throws -> OpenDirectory? {
    let name = place.workFolder.lastPathComponent
    do {
      guard let work = try folder.directoryIfPresent(name) else { return nil }
      try check(work, place, in: folder)
      return work
    } catch let problem as RegularFile.Problem {
      throw Refusal(path: place.workFolder.path, reason: "\(problem) Work on a store is done in a directory.")
    }
  }

  /// Opens the work directory, and makes it where there is none. Nobody but its owner may look into it.
  ///
  /// - Returns: nil where it was removed meanwhile by the process that used it.
  /// - Throws: as `open(_:in:)`.
  package static func make(_ place: StoreLocation, in folder: OpenDirectory) throws -> OpenDirectory? {
    if let work = try open(place, in: folder) { return work }
    do {
      _ = try folder.makeDirectory(place.workFolder.lastPathComponent, mode: 0o700)
    } catch let failure as FileFailure where failure.number == ENOENT {
      // Made and removed by another process.
      return nil
    } catch let problem as RegularFile.Problem {
      throw Refusal(path: place.workFolder.path, reason: "\(problem) Work on a store is done in a directory.")
    }
    return try open(place, in: folder)
  }

  /// Whoever may write the directory decides which files of the store are removed: this user, the owner of the store, or
  /// root; and a group only where it may write the store's own directory as well.
  private static func check(_ work: OpenDirectory, _ place: StoreLocation, in folder: OpenDirectory) throws {
    let (found, outer) = (try work.status(), try folder.status())
    let owners = [geteuid(), 0] + (folder.status(place.file.lastPathComponent).map { [$0.st_uid] } ?? [])
    guard owners.contains(found.st_uid) else {
      throw Refusal(
        path: work.url.path,
        reason: "The directory belongs to the user with the number \(found.st_uid), who is neither the one that runs "
          + "this program nor the owner of the store.")
    }
    let isGroupShared = found.st_gid == outer.st_gid && outer.st_mode & 0o020 != 0
    guard found.st_mode & 0o002 == 0, found.st_mode & 0o020 == 0 || isGroupShared else {
      throw Refusal(path: work.url.path, reason: "Users other than its owner may write to the directory.")
    }
  }
}
