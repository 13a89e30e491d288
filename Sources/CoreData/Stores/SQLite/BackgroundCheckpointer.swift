// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataFileSystem
import CoreDataSQLite
import Dispatch
import Foundation

/// Copies the pages of a store's write-ahead log into its database, on a thread and a connection of its own, so that saves do
/// not wait for it, and keeps the log short.
///
/// SQLite copies the log at the end of the commit after which it has a thousand pages. A commit is durable without that.
///
/// A log begins anew only when all of it has been copied and no reader uses it, which may never happen by itself while several
/// threads or processes read and write. So:
///
/// - a log that is longer than `limit` after two commits in a row is copied by the thread that saves, which keeps other writers
///   out and waits for readers for a tenth of a second; so is one that is larger than what is free on the disk, because the
///   database may need as much space for what is in the log;
/// - what readers have prevented is tried again soon, whether or not anything is saved;
/// - a log of more than 1 MB is emptied when the process has saved nothing for a second, when the store is closed, when the process
///   exits, and when the next process opens the store.
final class BackgroundCheckpointer: Sendable {
  /// How many pages that have not been copied begin a copy. SQLite has the same number.
  static let threshold = 1_000
  /// The number of bytes that a log may have when nobody uses the store any more.
  static let restingSize = 1 << 20
  /// How long a save, a closing store and an exiting process wait for readers and writers.
  private static let patience: TimeInterval = 0.1
  /// When work that was prevented is tried again, in seconds. The last ones empty the log.
  private static let delays = [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 1, 2, 4, 8, 16, 32, 64]
  /// The position in `delays` from which on the log is emptied.
  private static let emptying = 6

  /// What is done with the log.
  enum Work {
    /// Copies what can be copied without waiting.
    case copy
    /// Copies everything and makes sure that the next writer begins the log anew.
    case restart
    /// As `restart`, and gives the space of the log back to the disk.
    case empty(waiting: TimeInterval)
  }

  /// What a store's connections are asked.
  struct Source: Sendable {
    /// The path of the database.
    let path: String
    let pageSize: Int
    /// Opens a connection; nil if the store's file is gone.
    let open: @Sendable () throws -> SQLiteConnection?
    /// Ends the reads that idle connections of this store have kept, which may use the log.
    let endKeptReads: @Sendable () -> Void
    /// The number of pages of the log that have been copied, by any process.
    let copiedPages: @Sendable () -> Int
    /// The number of bytes that are free on the disk of the database.
    let freeSpace: @Sendable () -> Int
  }

  private struct State {
    /// The length of the log in pages after the last commit.
    var pages = 0
    /// Its length when it was last copied in the background, and when a save has waited for that.
    var copied = 0
    var waited = 0
    /// Its length when the space on the disk was last looked at.
    var measured = 0
    /// Whether all of the log had been copied the last time.
    var wasComplete = false
    /// The number of commits.
    var commits: UInt64 = 0
    var isWorking = false
    var isClosed = false
    var work: ParallelWork<Void>?
    var next: Attempt?
  }

  /// A later attempt.
  private struct Attempt {
    let position: Int
    let number: UInt64
    let commits: UInt64
  }

  private let source: Source
  private let state = Guarded(State())
  private let attempts = Guarded<UInt64>(0)

  init(_ source: Source) { self.source = source }

  // MARK: Events

  /// Notes a commit, and may copy the log before it returns.
  ///
  /// - Parameter pages: how long the log is now.
  func noteCommit(pages: Int) {
    let copied = source.copiedPages()
    let work = state.update { state -> Work? in
      state.commits &+= 1
      var previous = state.pages
      state.pages = pages
      if pages <= previous || copied == 0 && state.wasComplete {
        previous = 0
        // The log has begun anew.
        (state.copied, state.waited, state.measured, state.wasComplete) = (0, 0, 0, false)
      }
      if pages * source.pageSize > Self.restingSize, pages - state.measured >= Self.measuringStep {
        state.measured = pages
        if source.freeSpace() < pages * source.pageSize {
          state.waited = pages
          return .empty(waiting: Self.patience)
        }
      }
      // The last test keeps a reader that stays from holding up each save.
      if pages >= Self.leastLimit, previous >= Self.leastLimit, previous >= limit,
        state.waited == 0 || pages - state.waited >= Self.threshold
      {
        state.waited = pages
        return .restart
      }
      scheduleOrBegin(&state, notCopied: pages - copied)
      return nil
    }
    if let work {
      wait()
      perform(work)
    }
  }

  private func scheduleOrBegin(_ state: inout State, notCopied: Int) {
    if notCopied >= Self.threshold,
      state.copied == 0 || state.wasComplete || state.pages - state.copied >= Self.threshold
    {
      begin(.copy, &state)
    } else if state.next == nil, state.pages * source.pageSize > Self.restingSize {
      schedule(Self.emptying, &state)
    }
  }

  /// Empties a long log that the last process to use the store has left.
  func noteOpening() {
    guard isLong else { return }
    state.update { begin(.empty(waiting: 0), &$0) }
  }

  /// Waits until nothing is copied.
  func wait() {
    while true {
      let work = state.update { state in
        defer { state.work = nil }
        return state.work
      }
      guard let work else { return }
      // The work throws nothing.
      try? work.wait()
    }
  }

  /// Ends all work before the store's connections are closed, and empties a long log: other connections may stay, and then SQLite
  /// does not remove it.
  func close() {
    state.update { state in (state.isClosed, state.next) = (true, nil) }
    wait()
    if isLong { _ = copy(.empty(waiting: Self.patience)) }
  }

  // MARK: Limits

  private static let leastLimit = 2_000
  private static let greatestLimit = 16_000
  /// After how many more pages the space on the disk is looked at.
  private static let measuringStep = 64

  /// From how many pages on a save copies the log itself: twice as many as the database has, within limits.
  private var limit: Int {
    let size = FileCalls.size(URL(fileURLWithPath: DatabaseFile.target(of: source.path)))
    return max(Self.leastLimit, min(2 * size / max(source.pageSize, 1), Self.greatestLimit))
  }

  private var isLong: Bool { DatabaseCompanions.logFileSize(source.path) > Self.restingSize }

  // MARK: Work

  /// Begins work on another thread, unless there is some. The state's lock must be held.
  private func begin(_ work: Work, at position: Int? = nil, _ state: inout State) {
    guard !state.isWorking, !state.isClosed else { return }
    (state.isWorking, state.copied) = (true, state.pages)
    state.work = ParallelWork { [self] in finish(work, at: position, isComplete: copy(work)) }
  }

  /// Does work on this thread, unless there is some on another.
  private func perform(_ work: Work) {
    let isFree = state.update { state in
      if state.isWorking || state.isClosed { return false }
      (state.isWorking, state.copied) = (true, state.pages)
      return true
    }
    if isFree { finish(work, at: nil, isComplete: copy(work)) }
  }

  private func finish(_ work: Work, at position: Int?, isComplete: Bool?) {
    state.update { state in
      (state.isWorking, state.wasComplete) = (false, isComplete == true)
      switch (isComplete, work) {
      case (nil, _), (true, .empty): break
      case (true, .copy), (true, .restart): schedule(Self.emptying, &state)
      case (false, .empty): schedule(max(position ?? 0, Self.emptying) + 1, &state)
      case (false, .copy), (false, .restart): schedule(position.map { $0 + 1 } ?? 0, &state)
      }
    }
  }

  /// Has another attempt made later, instead of one that was to be made. The state's lock must be held.
  private func schedule(_ position: Int, _ state: inout State) {
    guard !state.isClosed, Self.delays.indices.contains(position) else {
      state.next = nil
      return
    }
    let number = attempts.update { number in
      number &+= 1
      return number
    }
    state.next = Attempt(position: position, number: number, commits: state.commits)
    DispatchQueue.global().asyncAfter(deadline: .now() + Self.delays[position]) { [weak self] in self?.attempt(number) }
  }

  private func attempt(_ number: UInt64) {
    state.update { state in
      guard let next = state.next, next.number == number else { return }
      state.next = nil
      let isEmptying = next.position >= Self.emptying
      // Not while the process works.
      if state.isWorking || isEmptying && next.commits != state.commits {
        schedule(isEmptying ? Self.emptying : next.position, &state)
      } else if !isEmptying || isLong {
        begin(isEmptying ? .empty(waiting: 0) : .copy, at: next.position, &state)
      }
    }
  }

  /// - Returns: whether all of the log has been copied, and with `restart` and `empty` whether it begins anew; nil if there is no
  ///   log any more.
  private func copy(_ work: Work) -> Bool? {
    source.endKeptReads()
    do {
      guard let connection = try source.open() else { return nil }
      defer {
        // What was copied is in the file.
        try? connection.close()
      }
      // SQLite knows nothing of the log before it has read the file.
      guard try connection.journalMode() == .wal else { return nil }
      return switch work {
      case .copy: try connection.checkpoint(.passive).isComplete
      case .restart: try connection.checkpoint(.restart, waiting: Self.patience)
      case .empty(let seconds): try connection.checkpoint(.truncate, waiting: seconds)
      }
    } catch {
      // Everything stays in the log if it cannot be copied, for example to a full disk, and is read there. It is tried again later.
      return false
    }
  }
}

/// Empties the logs of stores that are still open when the process exits: SQLite would leave them as long as they are.
enum CheckpointsAtExit {
  private struct Entry: @unchecked Sendable { weak var checkpointer: BackgroundCheckpointer? }

  private static let entries = Guarded<[Entry]>([])
  /// The process that has registered the handler: a child that it forks inherits the handler, and must not use its connections.
  private static let process: pid_t = {
    atexit { CheckpointsAtExit.run() }
    return getpid()
  }()

  static func add(_ checkpointer: BackgroundCheckpointer) {
    _ = process
    entries.update { entries in
      entries.removeAll { $0.checkpointer == nil }
      entries.append(Entry(checkpointer: checkpointer))
    }
  }

  private static func run() {
    guard getpid() == process else { return }
    for entry in entries.value { entry.checkpointer?.close() }
  }
}

extension SQLiteStore {
  /// Has the log of a store that others can open copied beside saves, unless the program has set how SQLite does it.
  func checkpointInBackground(_ state: Opened, url: URL, _ settings: StoreOptions) throws {
    guard settings.pragmas["wal_autocheckpoint"] == nil, try hasSharedLog(state, url: url, settings) else { return }
    let pageSize = Int(try state.connection.pragma("page_size")?.integer ?? 4_096)
    if settings.pragmas["journal_size_limit"] == nil {
      // A log that begins anew after a large transaction becomes shorter.
      try state.connection.setPragma(
        "journal_size_limit", to: .integer(Int64(BackgroundCheckpointer.threshold * pageSize)))
    }
    // The store has been read, so that the index of its log is open.
    guard let copiedPages = state.connection.copiedPagesOfLog() else { return }
    let file = StoreIdentity(of: url)
    let checkpointer = BackgroundCheckpointer(
      .init(
        path: url.path, pageSize: pageSize,
        open: {
          guard file.isUnchanged else { return nil }
          let connection = try SQLiteConnection(url: url, mode: .readWrite, busyTimeout: 0)
          guard file.isUnchanged else {
            try connection.close()
            return nil
          }
          return connection
        }, endKeptReads: { [connections] in connections.endKeptStates() }, copiedPages: copiedPages,
        freeSpace: { FileCalls.freeSpace(beside: url) }))
    self.checkpointer = checkpointer
    state.connection.setLogHandler { checkpointer.noteCommit(pages: $0) }
    CheckpointsAtExit.add(checkpointer)
    checkpointer.noteOpening()
  }

  /// Whether a store has a write-ahead log that several connections can use.
  func hasSharedLog(_ state: Opened, url: URL, _ settings: StoreOptions) throws -> Bool {
    guard !RegularFile.isNullDevice(url), !state.file.isReadOnly, settings.pragmas["locking_mode"] == nil else {
      return false
    }
    return try state.connection.journalMode() == .wal
  }
}

/// Which file has a store's name.
///
/// A connection keeps the file that it has opened, even if the name is another file's meanwhile.
struct StoreIdentity: Sendable {
  private let file: URL
  private let identity: FileCalls.Identity?

  init(of url: URL) {
    file = URL(fileURLWithPath: DatabaseFile.target(of: url.path))
    identity = FileCalls.identity(file)
  }

  /// Whether it is still the same file.
  var isUnchanged: Bool { identity != nil && FileCalls.identity(file) == identity }
}
