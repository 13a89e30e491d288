// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataFileSystem
import CoreDataTerminal
import Dispatch
import Foundation
import Synchronization

/// Catches SIGINT (Ctrl-C), SIGTERM and SIGHUP (a closed terminal) during work that must not be interrupted. The work
/// checks for them at points where it can stop.
final class StopSignal {
  /// Signals that were ignored when the process started, as by `nohup`, stay ignored.
  fileprivate static let signals = [SIGINT, SIGTERM, SIGHUP].filter { number in
    let earlier = signal(number, SIG_IGN)
    signal(number, earlier)
    return unsafeBitCast(earlier, to: Int.self) != unsafeBitCast(SIG_IGN, to: Int.self)
  }

  private let sources: [any DispatchSourceSignal]
  /// The previous handlers.
  private let earlier: [sig_t?]
  private let lock = NSLock()
  private var isSet = false

  init() {
    UnfinishedFiles.leaveSignals()
    // A dispatch source receives a signal only if the signal is ignored; otherwise it ends the process.
    earlier = Self.signals.map { signal($0, SIG_IGN) }
    sources = Self.signals.map { DispatchSource.makeSignalSource(signal: $0, queue: .global()) }
    for source in sources {
      source.setEventHandler { [weak self] in self?.set() }
      source.resume()
    }
  }

  /// Restores the previous handlers.
  func end() {
    for source in sources { source.cancel() }
    for (number, handler) in zip(Self.signals, earlier) { signal(number, handler) }
  }

  /// Throws a `CommandFailure` with the status for a stop if a signal was received.
  func check() throws {
    lock.lock()
    defer { lock.unlock() }
    if isSet { throw CommandFailure(.stopped, "Stopped. The store was not changed.") }
  }

  private func set() {
    lock.lock()
    isSet = true
    lock.unlock()
  }
}

/// Removes a command's unfinished files when Ctrl-C, SIGTERM or SIGHUP ends the process.
enum UnfinishedFiles {
  private static let drafts = Mutex<Set<URL>>([])
  private static let state = Mutex(State.working)

  private enum State {
    case working
    /// A signal is ending the process.
    case stopping
    /// Signals no longer end the process.
    case done
    /// Signals call a closure, which ends the command.
    case handled(@Sendable () -> Void)

    var isWorking: Bool { if case .working = self { true } else { false } }
    var isStopping: Bool { if case .stopping = self { true } else { false } }
  }

  /// Records a file that will be renamed when it is complete.
  static func add(_ draft: URL) { drafts.withLock { _ = $0.insert(draft) } }

  /// Records that a file is complete, or was removed.
  static func remove(_ draft: URL) { drafts.withLock { _ = $0.remove(draft) } }

  /// Stops signals from ending this process, because its command stops by itself, or has ended and only reports it.
  /// Does not return if a signal is already ending the process: the command has failed because its files are gone.
  static func leaveSignals() {
    while state.withLock({ state in
      if state.isWorking { state = .done }
      return state.isStopping
    }) { sleep(1) }
  }

  /// Makes signals call a closure on another thread, from now on, instead of ending the process. Does not return if a
  /// signal is already ending it.
  static func handleSignals(_ handler: @escaping @Sendable () -> Void) {
    leaveSignals()
    state.withLock { $0 = .handled(handler) }
  }

  /// Ends the process with status 130.
  static func end() -> Never {
    // The process ends in any case; leftover files are private, or have names that mark them as partial.
    for draft in drafts.withLock({ $0 }) { try? FileCalls.removeFile(draft) }
    PrivateDirectory.removeTemporary()
    CommandStreams.process.printError("error: Stopped.\n")
    // The command is still running, so no exit handler may tear down its memory.
    _exit(ExitStatus.stopped.rawValue)
  }

  /// Makes the signals end this process with status 130.
  ///
  /// - Returns: the sources that receive the signals, which must be retained to keep receiving them.
  static func removeWhenStopped() -> [any DispatchSourceSignal] {
    StopSignal.signals.map { number in
      signal(number, SIG_IGN)
      let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
      source.setEventHandler {
        let found = state.withLock { state in
          if state.isWorking { state = .stopping }
          return state
        }
        switch found {
        case .stopping: end()
        case .handled(let handler): handler()
        case .working, .done: break
        }
      }
      source.resume()
      return source
    }
  }
}
