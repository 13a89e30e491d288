// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataFileSystem
import CoreDataSQLite
import Dispatch
import Foundation

/// Checkpoints a store's write-ahead log on a thread and a connection of its own, so that saves do not wait for it, and
/// keeps the log short.
///
/// By itself, SQLite checkpoints at the end of the commit after which the log has 1,000 pages. A commit is durable
/// without that.
///
/// SQLite restarts the log only when all of it has been checkpointed and no reader uses it. That may never happen by
/// itself while several threads or processes read and write. So:
///
/// - The thread that saves checkpoints a log that is longer than `limit` after two commits in a row. Meanwhile it
///   blocks other writers, and waits up to a tenth of a second for readers. The same applies to a log that is larger
///   than the free space on the disk, because the database may need as much space for the log's contents.
/// - A checkpoint prevented by readers is soon retried, whether or not anything is saved.
/// - A log of more than 1 MB is truncated when the process has saved nothing for a second, when the store is closed,
///   when the process exits, and when the next process opens the store.
final class BackgroundCheckpointer: Sendable {
  /// The number of pages not yet checkpointed that starts a checkpoint; the same as SQLite's default.
  static let threshold = 1_000
  /// The maximum size of the log in bytes when the store is no longer in use.
  static let restingSize = 1 << 20
  /// The time in seconds for which a save, a closing store and an exiting process wait for readers and writers.
  private static let patience: TimeInterval = 0.1
  /// The delays before retrying work that was prevented, in seconds. The last ones truncate the log.
  private static let delays = [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 1, 2, 4, 8, 16, 32, 64]
  /// The position in `delays` from which on retries truncate the log.
  private static let emptying = 6

  /// A kind of checkpoint.
  enum Work {
    /// Copies what can be copied without waiting (`PASSIVE`).
    case copy
    /// Copies everything, and makes the next writer restart the log.
    case restart
    /// As `restart`, and truncates the log file.
    case empty(waiting: TimeInterval)
  }

  /// The checkpointer's access to its store.
  struct Source: Sendable {
    /// The path of the database.
    let path: String
    let pageSize: Int
    /// Opens a connection; nil if the store's file is missing.
    let open: @Sendable () throws -> SQLiteConnection?
    /// Ends the read transactions kept by idle connections of this store, which may use the log.
    let endKeptReads: @Sendable () -> Void
    /// The number of pages of the log that any process has checkpointed.
    let copiedPages: @Sendable () -> Int
    /// The free space on the database's disk, in bytes.
    let freeSpace: @Sendable () -> Int
  }

  private struct State {
    /// The length of the log in pages after the last commit.
    var pages = 0
    /// The length of the log when it was last checkpointed in the background, and when a save last waited for that.
    var copied = 0
    var waited = 0
    /// The length of the log when the free space was last measured.
    var measured = 0
    /// Whether the last checkpoint copied all of the log.
    var wasComplete = false
    /// The number of commits.
    var commits: UInt64 = 0
    var isWorking = false
    var isClosed = false
    var work: ParallelWork<Void>?
    var next: Attempt?
  }

  /// A scheduled retry.
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

  /// Records a commit, and may checkpoint the log before it returns.
  ///
  /// - Parameter pages: the current length of the log, in pages.
  func noteCommit(pages: Int) {
    let copied = source.copiedPages()
    let work = state.update { state -> Work? in
      state.commits &+= 1
      var previous = state.pages
      state.pages = pages
      if pages <= previous || copied == 0 && state.wasComplete {
        previous = 0
        // The log has been restarted.
        (state.copied, state.waited, state.measured, state.wasComplete) = (0, 0, 0, false)
      }
      if pages * source.pageSize > Self.restingSize, pages - state.measured >= Self.measuringStep {
        state.measured = pages
        if source.freeSpace() < pages * source.pageSize {
          state.waited = pages
          return .empty(waiting: Self.patience)
        }
      }
      // The last test prevents a long-lived reader from delaying every save.
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

  /// Truncates a long log left by the last process that used the store.
  func noteOpening() {
    guard isLong else { return }
    state.update { begin(.empty(waiting: 0), &$0) }
  }

  /// Waits for the checkpoint in progress.
  func wait() {
    while true {
      let work = state.update { state in
        defer { state.work = nil }
        return state.work
      }
      guard let work else { return }
      // The work does not throw.
      try? work.wait()
    }
  }

  /// Ends all work before the store's connections are closed, and truncates a long log. SQLite does not remove the log
  /// if other connections remain.
  func close() {
    state.update { state in (state.isClosed, state.next) = (true, nil) }
    wait()
    if isLong { _ = copy(.empty(waiting: Self.patience)) }
  }

  // MARK: Limits

  private static let leastLimit = 2_000
  private static let maxLimit = 16_000
  /// The number of additional pages after which the free space is measured again.
  private static let measuringStep = 64

  /// The length in pages from which on a save checkpoints the log itself: twice the size of the database, within
  /// limits.
  private var limit: Int {
    let size = FileCalls.size(URL(fileURLWithPath: DatabaseFile.target(of: source.path)))
    return max(Self.leastLimit, min(2 * size / max(source.pageSize, 1), Self.maxLimit))
  }

  private var isLong: Bool { DatabaseCompanions.logFileSize(source.path) > Self.restingSize }

  // MARK: Work

  /// Starts work on another thread, unless work is in progress. The state's lock must be held.
  private func begin(_ work: Work, at position: Int? = nil, _ state: inout State) {
    guard !state.isWorking, !state.isClosed else { return }
    (state.isWorking, state.copied) = (true, state.pages)
    state.work = ParallelWork { [self] in finish(work, at: position, isComplete: copy(work)) }
  }

  /// Runs work on this thread, unless work is in progress on another.
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
      guard let isComplete else { return }
      switch (isComplete, work) {
      case (true, .empty): break
      case (true, .copy), (true, .restart): schedule(Self.emptying, &state)
      case (false, .empty): schedule(max(position ?? 0, Self.emptying) + 1, &state)
      case (false, .copy), (false, .restart): schedule(position.map { $0 + 1 } ?? 0, &state)
      }
    }
  }

  /// Schedules a retry, replacing the scheduled one. The state's lock must be held.
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
      // Retries wait until the process is idle.
      if state.isWorking || isEmptying && next.commits != state.commits {
        schedule(isEmptying ? Self.emptying : next.position, &state)
      } else if !isEmptying || isLong {
        begin(isEmptying ? .empty(waiting: 0) : .copy, at: next.position, &state)
      }
    }
  }

  /// - Returns: whether all of the log has been copied, and, for `restart` and `empty`, whether it restarts; nil if
  ///   there is no log any more.
  private func copy(_ work: Work) -> Bool? {
    source.endKeptReads()
    do {
      guard let connection = try source.open() else { return nil }
      defer {
        // What was copied is in the file.
        try? connection.close()
      }
      // SQLite does not know about the log until it has read the file.
      guard try connection.journalMode() == .wal else { return nil }
      return switch work {
      case .copy: try connection.checkpoint(.passive).isComplete
      case .restart: try connection.checkpoint(.restart, waiting: Self.patience)
      case .empty(let seconds): try connection.checkpoint(.truncate, waiting: seconds)
      }
    } catch {
      // If the log cannot be checkpointed, for example because the disk is full, its contents are read from the log.
      // The work is retried later.
      return false
    }
  }
}

/// Truncates the logs of stores that are still open when the process exits. SQLite would leave them at their full
/// length.
enum CheckpointsAtExit {
  private struct Entry: @unchecked Sendable { weak var checkpointer: BackgroundCheckpointer? }

  private static let entries = Guarded<[Entry]>([])
  /// The process that registered the handler. A forked child inherits the handler, but must not use the parent's
  /// connections.
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
  /// Starts background checkpoints for a store that other connections can open, unless the program has configured
  /// SQLite's own.
  func checkpointInBackground(_ state: Opened, url: URL, _ settings: StoreOptions) throws {
    guard Optimization.backgroundCheckpoints.isOn, settings.pragmas["wal_autocheckpoint"] == nil,
      try hasSharedLog(state, url: url, settings)
    else { return }
    let pageSize = Int(try state.connection.pragma("page_size")?.integer ?? 4_096)
    if settings.pragmas["journal_size_limit"] == nil {
      // A restarted log shrinks to this size after a large transaction.
      try state.connection.setPragma(
        "journal_size_limit", to: .integer(Int64(BackgroundCheckpointer.threshold * pageSize)))
    }
    // The store has been read, so the log's index is open.
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

  /// Returns whether a store has a write-ahead log that several connections can use.
  func hasSharedLog(_ state: Opened, url: URL, _ settings: StoreOptions) throws -> Bool {
    guard !RegularFile.isNullDevice(url), !state.file.isReadOnly, settings.pragmas["locking_mode"] == nil else {
      return false
    }
    return try state.connection.journalMode() == .wal
  }
}

/// The identity of the file at a store's path.
///
/// A connection keeps the file that it has opened, even if the path refers to another file meanwhile.
struct StoreIdentity: Sendable {
  private let file: URL
  private let identity: FileCalls.Identity?

  init(of url: URL) {
    file = URL(fileURLWithPath: DatabaseFile.target(of: url.path))
    identity = FileCalls.identity(file)
  }

  /// Whether the path still refers to the same file.
  var isUnchanged: Bool { identity != nil && FileCalls.identity(file) == identity }
}
