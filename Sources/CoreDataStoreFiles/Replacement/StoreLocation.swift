// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataFileSystem
import CoreDataSQLite
import Foundation

/// Where the files of a store are, and where work on the store as a whole is done.
///
/// The work folder lies beside the store, on the same file system: what is made there can be given the store's name in
/// one step.
package struct StoreLocation {
  /// Where the caller says that the store is.
  package let url: URL
  /// The database itself: where the caller's path is a symbolic link, what it leads to.
  package let file: URL
  /// `.Data.sqlite-migration`, hidden, beside the database.
  package let workFolder: URL

  package init(_ url: URL) {
    self.url = url
    file = FileCalls.isSymbolicLink(url) ? url.resolvingSymlinksInPath() : url
    workFolder = file.deletingLastPathComponent()
      .appendingPathComponent(".\(file.lastPathComponent)-migration", isDirectory: true)
  }

  /// The folder that the database is in.
  package var folder: URL { file.deletingLastPathComponent() }

  /// What SQLite keeps beside the database.
  package var companions: [URL] { StoreLocation.companionSuffixes.map { StoreLocation.url(file, $0) } }

  package static let companionSuffixes = ["-wal", "-shm", "-journal"]

  /// A file beside another, named like it with a suffix.
  package static func url(_ file: URL, _ suffix: String) -> URL {
    file.deletingLastPathComponent().appendingPathComponent(file.lastPathComponent + suffix)
  }

  /// The directory of the files of values.
  package var support: SupportDirectory { SupportDirectory(store: url) }
  package var externalData: URL { support.values }

  package static func externalData(of store: URL) -> URL { SupportDirectory(store: store).values }

  /// Throws where something else than a regular file has the store's name: that is never replaced or removed.
  ///
  /// - Throws: `RegularFile.Problem.notRegular`.
  package func checkFile() throws {
    if FileCalls.isSymbolicLink(file) {
      throw RegularFile.Problem.notRegular(path: file.path, kind: "a symbolic link that leads nowhere")
    }
    try RegularFile.check(file)
  }

  // MARK: The work folder

  package static let (lockName, journalName, newName, oldName) = ("lock", "journal.json", "new.sqlite", "old.sqlite")

  /// The file whose lock says that somebody is at work.
  package var lockFile: URL { workFolder.appendingPathComponent(Self.lockName) }
  /// What is going on.
  package var journalFile: URL { workFolder.appendingPathComponent(Self.journalName) }
  /// The complete store that is to take the place.
  package var newStore: URL { workFolder.appendingPathComponent(Self.newName) }
  /// A hard link to the store whose place is taken.
  package var oldStore: URL { workFolder.appendingPathComponent(Self.oldName) }

  /// Whether a name in the work directory is one that this framework gives there: what has another belongs to somebody
  /// else, and stays.
  package static func isOwn(_ name: String) -> Bool {
    let bare = name.hasPrefix(".") ? name.dropFirst() : name[...]
    if bare == lockName || bare.hasPrefix(journalName) { return true }
    var stem = bare.prefix { $0 != "." && $0 != "_" }
    guard stem.count < bare.count else { return false }
    if stem.hasPrefix("step") { stem = stem.dropFirst(4).allSatisfy(\.isNumber) ? "step" : stem }
    return ["new", "old", "step"].contains(stem)
  }

  /// Whether a path leads into the work directory, or among the files of values.
  package func holds(_ other: URL) -> Bool {
    var path = other.resolvingSymlinksInPath()
    while path.path != "/", path.path != path.deletingLastPathComponent().path {
      let outer = path.deletingLastPathComponent()
      for own in [workFolder, support.url.resolvingSymlinksInPath()]
      where own.lastPathComponent == path.lastPathComponent {
        if outer.path == own.deletingLastPathComponent().resolvingSymlinksInPath().path { return true }
        if let identity = FileCalls.identity(own), identity == FileCalls.identity(path) { return true }
      }
      path = outer
    }
    return false
  }

  /// A store between two steps.
  package func intermediateStore(_ number: Int) -> URL { workFolder.appendingPathComponent("step\(number).sqlite") }
}
