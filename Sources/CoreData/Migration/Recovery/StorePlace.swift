// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataFileSystem
import CoreDataSQLite
import Foundation

/// Where the files of a store are, and where work on the store as a whole is done.
///
/// The work folder lies beside the store, on the same file system: what is made there can be given the store's name in
/// one step.
struct StorePlace {
  /// Where the caller says that the store is.
  let url: URL
  /// The database itself: where the caller's path is a symbolic link, what it leads to.
  let file: URL
  /// `.Data.sqlite-migration`, hidden, beside the database.
  let workFolder: URL

  init(_ url: URL) {
    self.url = url
    file = FileCalls.isSymbolicLink(url) ? url.resolvingSymlinksInPath() : url
    workFolder = file.deletingLastPathComponent()
      .appendingPathComponent(".\(file.lastPathComponent)-migration", isDirectory: true)
  }

  /// The folder that the database is in.
  var folder: URL { file.deletingLastPathComponent() }

  /// What SQLite keeps beside the database.
  var companions: [URL] { StorePlace.companionSuffixes.map { StorePlace.url(file, $0) } }

  static let companionSuffixes = ["-wal", "-shm", "-journal"]

  /// A file beside another, named like it with a suffix.
  static func url(_ file: URL, _ suffix: String) -> URL {
    file.deletingLastPathComponent().appendingPathComponent(file.lastPathComponent + suffix)
  }

  /// The folder of the files that values of the store stand in.
  var externalData: URL { StorePlace.externalData(of: url) }

  static func externalData(of store: URL) -> URL {
    StoreFiles.externalData(of: store).appendingPathComponent("_EXTERNAL_DATA", isDirectory: true)
  }

  // MARK: The work folder

  /// The file whose lock says that somebody is at work.
  var lockFile: URL { workFolder.appendingPathComponent("lock") }
  /// What is going on.
  var journalFile: URL { workFolder.appendingPathComponent("journal.json") }
  /// The complete store that is to take the place.
  var newStore: URL { workFolder.appendingPathComponent("new.sqlite") }
  /// A further name of the store whose place is taken.
  var oldStore: URL { workFolder.appendingPathComponent("old.sqlite") }

  /// A store between two steps.
  func intermediateStore(_ number: Int) -> URL { workFolder.appendingPathComponent("step\(number).sqlite") }
}
