// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataFileSystem
import CoreDataSQLite
import Foundation

/// The paths of a store's files, and of the work directory for replacing the store.
///
/// The work directory is beside the store, on the same file system, so that a file in it can be renamed to the store's
/// name atomically.
package struct StoreLocation {
  /// The URL given by the caller.
  package let url: URL
  /// The database itself: the target if the caller's URL is a symbolic link.
  package let file: URL
  /// `.Data.sqlite-migration`, hidden, beside the database.
  package let workFolder: URL

  package init(_ url: URL) {
    self.url = url
    file = FileCalls.isSymbolicLink(url) ? url.resolvingSymlinksInPath() : url
    workFolder = file.deletingLastPathComponent()
      .appendingPathComponent(".\(file.lastPathComponent)-migration", isDirectory: true)
  }

  /// The directory that contains the database.
  package var folder: URL { file.deletingLastPathComponent() }

  /// SQLite's companion files beside the database.
  package var companions: [URL] { StoreLocation.companionSuffixes.map { StoreLocation.url(file, $0) } }

  package static let companionSuffixes = ["-wal", "-shm", "-journal"]

  /// Returns the URL of a file beside another, with a suffix added to its name.
  package static func url(_ file: URL, _ suffix: String) -> URL {
    file.deletingLastPathComponent().appendingPathComponent(file.lastPathComponent + suffix)
  }

  /// The directory of the external data files.
  package var support: SupportDirectory { SupportDirectory(store: url) }
  package var externalData: URL { support.values }

  package static func externalData(of store: URL) -> URL { SupportDirectory(store: store).values }

  /// Throws if the store's name belongs to anything but a regular file. Such files are never replaced or removed.
  ///
  /// - Throws: `RegularFile.Problem.notRegular`.
  package func checkFile() throws {
    if FileCalls.isSymbolicLink(file) {
      throw RegularFile.Problem.notRegular(path: file.path, kind: "a broken symbolic link")
    }
    try RegularFile.check(file)
  }

  // MARK: The work directory

  package static let (lockName, journalName, newName, oldName) = ("lock", "journal.json", "new.sqlite", "old.sqlite")

  /// The file locked by `MigrationLock`.
  package var lockFile: URL { workFolder.appendingPathComponent(Self.lockName) }
  package var journalFile: URL { workFolder.appendingPathComponent(Self.journalName) }
  /// The new store.
  package var newStore: URL { workFolder.appendingPathComponent(Self.newName) }
  /// A hard link to the replaced store.
  package var oldStore: URL { workFolder.appendingPathComponent(Self.oldName) }

  /// Whether this framework uses a name in the work directory. Other files are not ours, and stay.
  package static func isOwn(_ name: String) -> Bool {
    let bare = name.hasPrefix(".") ? name.dropFirst() : name[...]
    if bare == lockName || bare.hasPrefix(journalName) { return true }
    var stem = bare.prefix { $0 != "." && $0 != "_" }
    guard stem.count < bare.count else { return false }
    if stem.hasPrefix("step") { stem = stem.dropFirst(4).allSatisfy(\.isNumber) ? "step" : stem }
    return ["new", "old", "step"].contains(stem)
  }

  /// Whether a path is inside the work directory or the support directory.
  package func holds(_ other: URL) -> Bool {
    var path = other.resolvingSymlinksInPath()
    while path.path != "/" {
      let outer = path.deletingLastPathComponent()
      // Foundation cannot shorten paths of more than 1,024 bytes.
      guard outer.path.utf8.count < path.path.utf8.count else { return false }
      for own in [workFolder, support.url.resolvingSymlinksInPath()]
      where own.lastPathComponent == path.lastPathComponent {
        if outer.path == own.deletingLastPathComponent().resolvingSymlinksInPath().path { return true }
        if let identity = FileCalls.identity(own), identity == FileCalls.identity(path) { return true }
      }
      path = outer
    }
    return false
  }

  /// Returns the location of an intermediate store between two migration steps.
  package func intermediateStore(_ number: Int) -> URL { workFolder.appendingPathComponent("step\(number).sqlite") }
}

/// The hidden directory `.Data.sqlite-migration` beside a store.
///
/// It may come from an untrusted archive that contained the store. So it is opened once, rejected unless this framework
/// could have created it, and accessed only through its descriptor from then on.
package enum WorkDirectory {
  /// The reason the directory is not used. Nothing was changed.
  package struct Refusal: Error {
    package let path: String
    /// One or more sentences.
    package let reason: String
  }

  /// Opens the work directory; nil if there is none.
  ///
  /// - Parameter folder: the directory that contains the store.
  /// - Throws: `Refusal`; `FileFailure`.
  package static func open(_ location: StoreLocation, in folder: OpenDirectory) throws -> OpenDirectory? {
    let name = location.workFolder.lastPathComponent
    do {
      guard let work = try folder.directoryIfPresent(name) else { return nil }
      try check(work, location, in: folder)
      return work
    } catch let problem as RegularFile.Problem {
      throw Refusal(path: location.workFolder.path, reason: "\(problem) Work on a store is done in a directory.")
    }
  }

  /// Opens the work directory, creating it if it does not exist. Only its owner can read it.
  ///
  /// - Returns: nil if the process that used it has removed it meanwhile.
  /// - Throws: the same errors as `open(_:in:)`.
  package static func make(_ location: StoreLocation, in folder: OpenDirectory) throws -> OpenDirectory? {
    if let work = try open(location, in: folder) { return work }
    do {
      _ = try folder.makeDirectory(location.workFolder.lastPathComponent, mode: 0o700)
    } catch let failure as FileFailure where failure.number == ENOENT {
      // Another process has created and removed it.
      return nil
    } catch let problem as RegularFile.Problem {
      throw Refusal(path: location.workFolder.path, reason: "\(problem) Work on a store is done in a directory.")
    }
    return try open(location, in: folder)
  }

  /// Throws unless the directory is safe to use. A user who can write to it decides which files of the store are
  /// removed. So only this user, the owner of the store and root may be able to, and a group only if it can write to
  /// the store's own directory too.
  private static func check(_ work: OpenDirectory, _ location: StoreLocation, in folder: OpenDirectory) throws {
    let (found, outer) = (try work.status(), try folder.status())
    let owners = [geteuid(), 0] + (folder.status(location.file.lastPathComponent).map { [$0.st_uid] } ?? [])
    guard owners.contains(found.st_uid) else {
      throw Refusal(
        path: work.url.path,
        reason: "The directory belongs to the user with the ID \(found.st_uid), who is neither the one that runs "
          + "this program nor the owner of the store.")
    }
    let isGroupShared = found.st_gid == outer.st_gid && outer.st_mode & 0o020 != 0
    guard found.st_mode & 0o002 == 0, found.st_mode & 0o020 == 0 || isGroupShared else {
      throw Refusal(path: work.url.path, reason: "Users other than its owner may write to the directory.")
    }
  }
}
