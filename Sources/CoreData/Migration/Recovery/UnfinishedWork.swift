// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataFileSystem
import CoreDataSQLite
import Foundation

/// Work on a store that is to be finished or undone: by who does it, or by who comes after a process that has ended in the
/// midst of it. Both may end in the midst again; every part can be done twice.
struct UnfinishedWork {
  let lock: MigrationLock
  let journal: WorkJournal

  private var place: StorePlace { lock.place }

  /// What became of the work.
  enum Outcome: Hashable {
    case finished
    case undone
  }

  // MARK: Finding

  /// Finishes or undoes what another process has left behind, before a store is opened.
  ///
  /// A transaction in which a writer was killed is rolled back, too. Where there is nothing this costs one question to the file system or two. Work of a process that still runs is left
  /// alone; so is what may not be changed, since the store is whole at every moment and can be read.
  ///
  /// - Throws: `SQLiteError`, and as `settle(_:)`.
  static func settle(beforeOpening url: URL) throws {
    let place = StorePlace(url)
    try SQLiteStoreErrors.translating(url: url, isOpening: true) { _ = try StoreFile.rollBackHotJournal(place.file) }
    guard FileCalls.exists(place.workFolder) else { return }
    do {
      _ = try settle(MigrationLock.take(place))
    } catch is MigrationLock.Held {
      return
    } catch let failure as FileFailure where failure.isAboutPermissions {
      return
    }
  }

  /// Takes the lock, after what another process has left behind has been finished or undone.
  ///
  /// - Throws: `MigrationLock.Held`, and as `settle(_:)`.
  static func takeSettled(_ place: StorePlace, timeout: TimeInterval) throws -> MigrationLock {
    while true {
      let lock = try MigrationLock.take(place, timeout: timeout)
      if try FileCalls.names(in: place.workFolder) == [place.lockFile.lastPathComponent] { return lock }
      _ = try settle(lock)
    }
  }

  /// Finishes or undoes what another process has left behind.
  ///
  /// - Returns: nil where there was nothing.
  /// - Throws: `FileFailure`; `WorkJournal.Unreadable`.
  static func settle(_ lock: MigrationLock) throws -> Outcome? {
    let place = lock.place
    guard let journal = try WorkJournal.read(place) else {
      // Ended before it said what it was: nothing but the work folder was touched.
      let isEmpty = try FileCalls.names(in: place.workFolder) == [place.lockFile.lastPathComponent]
      try lock.removeWorkFolder()
      return isEmpty ? nil : .undone
    }
    let work = UnfinishedWork(lock: lock, journal: journal)
    guard journal.isCommitted(place) else {
      try work.undo()
      return .undone
    }
    _ = try work.finish(isLate: true)
    return .finished
  }

  // MARK: Undoing

  /// Removes what has been made; the old store is in its place, and untouched.
  func undo() throws {
    for suffix in StorePlace.companionSuffixes {
      let moved = StorePlace.url(place.oldStore, suffix)
      let original = StorePlace.url(place.file, suffix)
      if FileCalls.exists(moved), !FileCalls.exists(original) { try FileCalls.rename(moved, to: original) }
    }
    try remove(journal.added)
    StoreHold.removeIdleJournal(of: place)
    try lock.removeWorkFolder()
  }

  // MARK: Finishing

  /// Keeps the old store where it is to be kept, and removes what only it needed otherwise.
  ///
  /// - Parameter isLate: whether time has passed since the exchange, in which others may have used the store.
  /// - Returns: where the old store is kept.
  func finish(isLate: Bool = false) throws -> URL? {
    // Before the new name is certain to last nothing may be removed that the old store needs.
    try FileCalls.synchronize(place.folder)
    let kept = try keepOldStore()
    let needed = isLate && !journal.obsolete.isEmpty ? try namesOfStore() : []
    try remove(journal.obsolete.filter { !needed.contains($0) })
    try lock.removeWorkFolder()
    try FileCalls.synchronize(place.folder)
    return kept
  }

  /// The files that the store of now names: somebody may have put a copy of the old one back.
  private func namesOfStore() throws -> Set<String> {
    let connection = try SQLiteConnection(url: place.file, mode: .readOnly)
    defer {
      // Nothing was written.
      try? connection.close()
    }
    return try ExternalReferences.names(in: connection)
  }

  private func keepOldStore() throws -> URL? {
    guard let path = journal.keptAt else { return nil }
    let planned = URL(fileURLWithPath: path, relativeTo: place.folder).absoluteURL
    guard FileCalls.exists(place.oldStore) else { return FileCalls.exists(planned) ? planned : nil }
    var target = planned
    while FileCalls.exists(target), FileCalls.identity(target) != FileCalls.identity(place.oldStore) {
      target = StoreBackup.freeName(for: planned, in: planned.deletingLastPathComponent())
    }
    let folder = target.deletingLastPathComponent()
    try FileCalls.makeFolder(folder.deletingLastPathComponent())
    try FileCalls.makeFolder(folder)
    try keepFiles(journal.kept, in: StorePlace.externalData(of: target))
    if let note = journal.setAside { try note.write(besideStoreAt: target) }
    for suffix in StorePlace.companionSuffixes {
      let moved = StorePlace.url(place.oldStore, suffix)
      if FileCalls.exists(moved) { try FileCalls.rename(moved, to: StorePlace.url(target, suffix)) }
    }
    if !FileCalls.exists(target) { try FileCalls.rename(place.oldStore, to: target) }
    try FileCalls.synchronize(folder)
    try FileCalls.synchronize(folder.deletingLastPathComponent())
    try FileCalls.removeFile(place.oldStore)
    return target
  }

  private func keepFiles(_ names: [String], in folder: URL) throws {
    guard !names.isEmpty else { return }
    try FileCalls.makeFolder(folder.deletingLastPathComponent())
    try FileCalls.makeFolder(folder)
    for name in names {
      let file = place.externalData.appendingPathComponent(name)
      // Rows may have been deleted since the exchange, and their files with them.
      if FileCalls.exists(file) { _ = try FileCalls.link(file, to: folder.appendingPathComponent(name)) }
    }
    try FileCalls.synchronize(folder)
    try FileCalls.synchronize(folder.deletingLastPathComponent())
  }

  private func remove(_ names: [String]) throws {
    guard !names.isEmpty else { return }
    for name in names { try FileCalls.removeFile(place.externalData.appendingPathComponent(name)) }
    try FileCalls.removeFolderIfEmpty(place.externalData)
    try FileCalls.removeFolderIfEmpty(place.externalData.deletingLastPathComponent())
  }
}
