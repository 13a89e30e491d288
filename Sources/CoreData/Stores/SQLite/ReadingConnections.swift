// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataFileSystem
import CoreDataSQLite
import CoreDataStoreFiles
import Foundation

/// The connections that contexts read a store by, beside the one that writes, so that no read waits for another, or for a
/// save, and none holds up a save.
///
/// Each read sees what was committed when it began: a write-ahead log keeps that state for it. A connection is opened when
/// all others are busy. Whatever fails here is read again by the connection that writes, whose error counts.
final class ReadingConnections {
  /// The number of idle connections that are kept.
  private static let idleLimit = 4

  private let condition = NSCondition()
  /// Opens a connection; nil while there must be none.
  private var open: (() throws -> SQLiteStore.Opened?)?
  // The lock prevents overlapping accesses, and every fault comes here.
  @exclusivity(unchecked) private var idle: [SQLiteStore.Opened] = []
  @exclusivity(unchecked) private var busyCount = 0
  @exclusivity(unchecked) private var pauseCount = 0

  /// Allows reads.
  func begin(_ open: @escaping () throws -> SQLiteStore.Opened?) {
    condition.withLock { (self.open, pauseCount) = (open, 0) }
  }

  /// Waits for the reads that are in progress, and closes all connections.
  func end() {
    let closing = condition.withLock {
      open = nil
      while busyCount > 0 { condition.wait() }
      defer { idle = [] }
      return idle
    }
    for reader in closing { close(reader) }
  }

  /// Has reads use the connection that writes until `resume()`, because it is in a transaction of which they are a part.
  func pause() { condition.withLock { pauseCount += 1 } }

  func resume() { condition.withLock { pauseCount = max(pauseCount - 1, 0) } }

  /// Reads by a connection that nobody else uses meanwhile; nil if there is none, or if reading fails.
  func reading<Result>(_ body: (any RowSource) throws -> Result) -> Result? {
    guard let reader = take() else { return nil }
    reader.entities.noteIdentity()
    do {
      let result = try body(reader)
      giveBack(reader)
      return result
    } catch {
      // The caller reads again, under the lock, and throws what that throws. This connection may be at fault.
      close(reader)
      giveBack(nil)
      return nil
    }
  }

  private func take() -> SQLiteStore.Opened? {
    condition.lock()
    guard let open, pauseCount == 0 else {
      condition.unlock()
      return nil
    }
    busyCount += 1
    let known = idle.popLast()
    condition.unlock()
    if let known { return known }
    // As above, what prevents a connection is met again, and thrown, by the one that writes.
    if let opened = try? open() { return opened }
    giveBack(nil)
    return nil
  }

  private func giveBack(_ reader: SQLiteStore.Opened?) {
    condition.lock()
    let isKept = reader != nil && idle.count < Self.idleLimit
    if let reader, isKept { idle.append(reader) }
    if !isKept, let reader { close(reader) }
    busyCount -= 1
    condition.broadcast()
    condition.unlock()
  }

  private func close(_ reader: SQLiteStore.Opened) {
    // Nothing was written.
    try? reader.file.close()
  }
}

extension SQLiteStore {
  /// The pragmas of `NSSQLitePragmasOption` that concern reading.
  private static let readingPragmas: Set<String> = ["cache_size", "case_sensitive_like", "mmap_size", "temp_store"]

  /// Allows reads by connections of their own, if the store has a write-ahead log that several connections can use.
  func openReaders(beside state: Opened, url: URL, _ settings: StoreOptions) throws {
    guard !RegularFile.isNullDevice(url), !state.file.isReadOnly, settings.pragmas["locking_mode"] == nil,
      try state.connection.journalMode() == .wal
    else { return }
    let file = URL(fileURLWithPath: DatabaseFile.target(of: url.path))
    let identity = FileCalls.identity(file)
    connections.begin { [unowned self] in
      // The connection that writes keeps the file that it has opened, even if the name is another file's meanwhile.
      guard identity != nil, FileCalls.identity(file) == identity else { return nil }
      let reader = try openReader(beside: state, url: url, timeout: 0)
      for (name, value) in settings.pragmas.sorted(by: { $0.key < $1.key }) where Self.readingPragmas.contains(name) {
        try reader.connection.setPragma(name, to: .text(value))
      }
      guard FileCalls.identity(file) == identity else {
        try reader.file.close()
        return nil
      }
      return reader
    }
  }

  /// Opens a connection that only reads.
  ///
  /// - Parameter state: the connection whose knowledge of the store's layout the new one uses.
  func openReader(beside state: Opened, url: URL, timeout: TimeInterval) throws -> Opened {
    let connection = try SQLiteConnection(url: url, mode: .readOnly, busyTimeout: timeout)
    do {
      let file = StoreFile(url: url, connection: connection)
      try Self.register(with: connection)
      return Opened(file: file, entities: StoredEntities(sharing: state.entities), external: ExternalData(store: url))
    } catch {
      // The caller needs the error of opening, not one of closing.
      try? connection.close()
      throw error
    }
  }
}
