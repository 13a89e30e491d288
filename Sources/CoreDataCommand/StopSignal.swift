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
  private let lock = NSLock()
  private var isSet = false

  init() {
    sources = Self.signals.map { number in
      // The signal must be ignored for the source to get it instead of ending the process.
      signal(number, SIG_IGN)
      return DispatchSource.makeSignalSource(signal: number, queue: .global())
    }
    for source in sources {
      source.setEventHandler { [weak self] in self?.set() }
      source.resume()
    }
  }

  /// Gives the signals their usual meaning back.
  func end() {
    for source in sources { source.cancel() }
    for number in Self.signals { signal(number, SIG_DFL) }
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
