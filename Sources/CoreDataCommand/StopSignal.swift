// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataTerminal
import Dispatch
import Foundation

/// Ctrl-C while work is done that must not end in the middle: it is noted, and the work asks for it where it can stop.
final class StopSignal: @unchecked Sendable {
  private let source: any DispatchSourceSignal
  private let lock = NSLock()
  private var isSet = false

  init() {
    // The signal must be ignored for the source to get it instead of ending the process.
    signal(SIGINT, SIG_IGN)
    source = DispatchSource.makeSignalSource(signal: SIGINT, queue: .global())
    source.setEventHandler { [weak self] in self?.set() }
    source.resume()
  }

  /// Gives the signal its usual meaning back.
  func end() {
    source.cancel()
    signal(SIGINT, SIG_DFL)
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
