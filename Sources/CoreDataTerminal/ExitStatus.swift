// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// What a command tells its caller when it ends. The numbers are a promise: scripts depend on them.
package enum ExitStatus: Int32, CaseIterable, Sendable {
  /// Done, or nothing to do.
  case done = 0
  /// The answer is "no": findings at error level, differences, pending work.
  case no = 1
  /// The command line is wrong.
  case usage = 2
  /// A model or mapping is unreadable or invalid.
  case invalidModel = 3
  /// The store is unreadable, locked, or written by no known version.
  case unreadableStore = 4
  /// No way: no path, nothing to infer, custom code missing.
  case noWay = 5
  /// Failed; the source store is as it was.
  case failed = 6
  /// Interrupted work was found.
  case interruptedWorkFound = 7
  /// A mistake in the tool itself.
  case bug = 70
  /// The work is done; only what is said about it could not be written.
  case unreported = 74
  /// Stopped by Ctrl-C; the source store is as it was.
  case stopped = 130

  /// What the number means, for help texts.
  package var meaning: String {
    switch self {
    case .done: "done, or nothing to do"
    case .no: "the answer is \"no\": findings at error level, differences, pending work"
    case .usage: "wrong command line"
    case .invalidModel: "model or mapping unreadable or invalid"
    case .unreadableStore: "store unreadable, locked, or written by no known version"
    case .noWay: "no way: no path, nothing to infer, custom code missing"
    case .failed: "failed, the source store is as it was"
    case .interruptedWorkFound: "interrupted work found"
    case .bug: "a bug of this tool"
    case .unreported: "done, but the result could not be written"
    case .stopped: "stopped by Ctrl-C, the source store is as it was"
    }
  }
}
