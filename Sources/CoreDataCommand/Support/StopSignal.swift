// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataTerminal
import Dispatch
import Foundation
import Synchronization

/// Catches SIGINT (Ctrl-C), SIGTERM and SIGHUP (a closed terminal) during work that must not be interrupted. The work
/// checks for them at points where it can stop.
final class StopSignal: Sendable {
  private let isSet: Flag
  private let earlier: StopSignals.Effect

  private final class Flag: Sendable {
    let value = Atomic(false)
  }

  init() {
    let isSet = Flag()
    self.isSet = isSet
    earlier = StopSignals.handle { isSet.value.store(true, ordering: .relaxed) }
  }

  /// Ends the work: from now on, signals do what they did before, but do not end the process.
  func end() {
    StopSignals.leave(to: earlier)
  }

  /// Throws a `CommandFailure` with the status for a stop if a signal was received.
  func check() throws {
    if isSet.value.load(ordering: .relaxed) { throw CommandFailure(.stopped, "Stopped. The store was not changed.") }
  }
}

/// What SIGINT, SIGTERM and SIGHUP do to this process.
enum StopSignals {
  enum Effect {
    /// They end the process.
    case end
    /// One of them is ending the process.
    case ending
    case nothing
    /// They call a closure, which ends the command.
    case call(@Sendable () -> Void)

    var isEnd: Bool { if case .end = self { true } else { false } }
    var isEnding: Bool { if case .ending = self { true } else { false } }
  }

  private static let effect = Mutex(Effect.end)

  /// Makes the signals end this process with status 130, after its unfinished files have been removed, until work asks
  /// for something else. Called once, when the process starts.
  ///
  /// Each signal puts a byte into a pipe. A source of Dispatch for the signals themselves would lose those that come
  /// before it is ready, and all others as soon as a part of the process sets how it receives them.
  ///
  /// - Returns: what receives the signals, which must be retained; nil if they end the process without removing files.
  static func receive() -> (any DispatchSourceRead)? {
    var ends: [Int32] = [-1, -1]
    // Without a pipe, the signals end the process, and leave partial files with names that mark them as such.
    guard pipe(&ends) == 0 else { return nil }
    for end in ends {
      _ = fcntl(end, F_SETFD, FD_CLOEXEC)
      _ = fcntl(end, F_SETFL, O_NONBLOCK)
    }
    let source = DispatchSource.makeReadSource(fileDescriptor: ends[0], queue: .global())
    source.setEventHandler { [read = ends[0]] in take(from: read) }
    source.resume()
    signalPipe = ends[1]
    for number in [SIGINT, SIGTERM, SIGHUP] {
      let earlier = signal(number, SIG_IGN)
      // Signals that were ignored when the process started, as by `nohup`, stay ignored.
      if unsafeBitCast(earlier, to: Int.self) == unsafeBitCast(SIG_IGN, to: Int.self) { continue }
      signal(number) { _ in
        let before = errno
        var byte: UInt8 = 0
        // If the pipe is full, a byte is in it already.
        _ = write(signalPipe, &byte, 1)
        errno = before
      }
      // A thread of Dispatch, which blocks all signals, may have started this process, and it inherits that.
      var set = sigset_t()
      sigemptyset(&set)
      sigaddset(&set, number)
      pthread_sigmask(SIG_UNBLOCK, &set, nil)
    }
    return source
  }

  private static func take(from descriptor: Int32) {
    var bytes = [UInt8](repeating: 0, count: 16)
    let count = max(0, read(descriptor, &bytes, bytes.count))
    for _ in 0..<count {
      let found = effect.withLock { effect in
        if effect.isEnd { effect = .ending }
        return effect
      }
      switch found {
      case .end, .ending: UnfinishedFiles.end()
      case .call(let handler): handler()
      case .nothing: break
      }
    }
  }

  /// Makes signals call a closure on another thread, from now on, instead of ending the process. Does not return if a
  /// signal is already ending it.
  ///
  /// - Returns: what the signals did before.
  @discardableResult static func handle(_ handler: @escaping @Sendable () -> Void) -> Effect {
    change(to: .call(handler))
  }

  /// Stops signals from ending this process, because its command stops by itself, or has ended and only reports it.
  /// Does not return if a signal is already ending the process: the command has failed because its files are gone.
  static func leave() {
    if effect.withLock({ $0.isEnd || $0.isEnding }) { change(to: .nothing) }
  }

  /// Makes signals do what they did before, except for ending the process.
  static func leave(to earlier: Effect) {
    change(to: earlier.isEnd ? .nothing : earlier)
  }

  @discardableResult private static func change(to new: Effect) -> Effect {
    while true {
      let earlier = effect.withLock { effect in
        let earlier = effect
        if !earlier.isEnding { effect = new }
        return earlier
      }
      guard earlier.isEnding else { return earlier }
      sleep(1)
    }
  }
}

/// The end of the pipe that the handler of the signals writes to. It is no static property, since those are initialized
/// when they are first used, which a handler of a signal must not do.
nonisolated(unsafe) private var signalPipe: Int32 = -1
