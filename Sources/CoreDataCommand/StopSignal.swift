// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataTerminal
import Dispatch
import Foundation

/// INT (Ctrl-C) and TERM while work is done that must not end partway through: they are noted, and the work asks for them
/// where it can stop.
final class StopSignal: @unchecked Sendable {
  private static let signals = [SIGINT, SIGTERM]

  private let sources: [any DispatchSourceSignal]
  /// What the signals did before.
  private let earlier: [sig_t?]
  private let lock = NSLock()
  private var isSet = false

  init() {
    // A signal must be ignored for its source to get it instead of ending the process.
    earlier = Self.signals.map { signal($0, SIG_IGN) }
    sources = Self.signals.map { DispatchSource.makeSignalSource(signal: $0, queue: .global()) }
    for source in sources {
      source.setEventHandler { [weak self] in self?.set() }
      source.resume()
    }
  }

  /// Gives the signals their usual meaning back.
  func end() {
    for source in sources { source.cancel() }
    for (number, handler) in zip(Self.signals, earlier) { signal(number, handler) }
  }

  /// - Throws: `CommandFailure` with the status for a stop, where somebody has asked for one.
  func check() throws {
    lock.lock()
    defer { lock.unlock() }
    if isSet { throw CommandFailure(.stopped, "Stopped. The store is as it was.") }
  }

  private func set() {
    lock.lock()
    isSet = true
    lock.unlock()
  }
}
