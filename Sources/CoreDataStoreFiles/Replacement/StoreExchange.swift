// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataFileSystem
import CoreDataSQLite
import Foundation

/// Puts the complete store of the work folder in the place of another, in one step.
///
/// A store is its database and the files of large values. Those files never change, and have names that no other has. So
/// the new ones are put beside the old ones first; then the new database gets the store's name, which the file system does
/// in one moment; then what only the old store needed is removed. Whoever opens the store, by whatever tool, sees the old
/// one before that moment, and the new one after it.
package struct StoreExchange {
  package let lock: MigrationLock
  /// The store that is there, which nobody else can write; nil where there is none, or one that SQLite cannot open.
  package let hold: StoreWriteLock?
  package var journal: WorkJournal

  package init(
    lock: MigrationLock, hold: StoreWriteLock?, journal: WorkJournal
  ) {
    self.lock = lock
    self.hold = hold
    self.journal = journal
  }

  private var place: StoreLocation { lock.place }

  /// What has become of the old store, and of the work.
  package struct Outcome {
    /// Where the old store is kept; nil where it is not.
    package var kept: URL?
    /// Why the work folder could not be cleared; the next who opens the store does it.
    package var leftover: (any Error)?
    /// What became of unfinished work that was found before.
    package var recovered: InterruptedWork.Outcome?

    package init(
      kept: URL? = nil, leftover: (any Error)? = nil, recovered: InterruptedWork.Outcome? = nil
    ) {
      self.kept = kept
      self.leftover = leftover
      self.recovered = recovered
    }
  }

  /// Does it. The new store must be complete, and closed.
  ///
  /// - Parameters:
  ///   - external: the files of values that the new store's rows name.
  ///   - keptAt: where the old store is to stay; nil where it is not to.
  /// - Throws: `FileFailure`, `SQLiteError`, `StoreWriteLock.Intrusion`; the old store is untouched then, and nothing is left.
  package func carryOut(external: Set<String>, keptAt: URL?) throws -> Outcome {
    var exchange = self
    do {
      try exchange.prepare(external: external, keptAt: keptAt)
      try exchange.commit()
    } catch {
      hold?.giveBack()
      // What cannot be undone now is undone by the next who opens the store; why it had to be is what matters.
      try? InterruptedWork(lock: lock, journal: exchange.journal).undo()
      throw error
    }
    hold?.letGo()
    do {
      return Outcome(
        kept: try InterruptedWork(lock: lock, journal: exchange.journal).finish(), recovered: lock.settled)
    } catch {
      // The new store is in its place, whole. What remains is to clear up.
      return Outcome(kept: keptAt, leftover: error, recovered: lock.settled)
    }
  }

  /// Writes down what is going to be done, and puts the new store's files of values beside the old ones.
  private mutating func prepare(external: Set<String>, keptAt: URL?) throws {
    let work = lock.work
    let present = try place.support.names()
    let old = try hold.map { try ExternalReferences.presentNames(in: $0.connection, among: present) }
    journal.added = external.subtracting(present).sorted()
    journal.obsolete = (old ?? []).subtracting(external).sorted()
    if let keptAt {
      // Of a store that cannot be read nobody knows what it needs.
      journal.kept = (old ?? present.filter(ExternalData.isFileName)).sorted()
      journal.keptAt = try relativePath(of: keptAt)
    }
    journal.phase = .exchanging
    try FileCalls.takePermissions(of: place.file, for: place.newStore)
    try work.synchronize(StoreLocation.newName)
    let values = try work.directoryIfPresent(SupportDirectory(store: place.newStore).url.lastPathComponent)?
      .directoryIfPresent(SupportDirectory.valuesName)
    for name in journal.added { try values?.synchronize(name) }
    try journal.write(work)
    guard !journal.added.isEmpty, let values else { return }
    let target = try place.support.make()
    for name in journal.added { _ = try values.link(name, to: target, name) }
    try place.support.synchronize()
  }

  private func commit() throws {
    let (folder, work, name) = (lock.folder, lock.work, place.file.lastPathComponent)
    if let hold {
      try hold.takeAlone()
    } else if !FileCalls.exists(place.file) {
      try StoreFiles.setDeadLogsAside(of: place.file)
    } else {
      // What lies beside a file that SQLite cannot open must not be taken for that of the new one.
      for suffix in StoreLocation.companionSuffixes where folder.exists(name + suffix) {
        try folder.rename(name + suffix, to: work, StoreLocation.oldName + suffix)
      }
    }
    if let found = folder.status(name) {
      try RegularFile.check(found, place.file)
      if journal.keptAt != nil {
        _ = try folder.link(name, to: work, StoreLocation.oldName) { try DatabaseFile(path: $0.path).copy(to: $1.path) }
      }
    }
    try work.synchronize()
    try folder.synchronize()
    try work.rename(StoreLocation.newName, to: folder, name)
  }

  /// A journal names files as seen from the store's folder, which may be moved as a whole.
  private func relativePath(of url: URL) throws -> String {
    let base = place.folder.standardizedFileURL.path + "/"
    let path = url.standardizedFileURL.path
    guard path.hasPrefix(base) else {
      throw FileFailure(operation: "keep a store outside of the folder of the one it was", path: path, number: EXDEV)
    }
    return String(path.dropFirst(base.count))
  }
}
