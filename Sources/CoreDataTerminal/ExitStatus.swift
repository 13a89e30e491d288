// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The exit status of a command. The numbers are stable, because scripts depend on them.
package enum ExitStatus: Int32, CaseIterable, Sendable {
  /// The command succeeded, or there was nothing to do.
  case done = 0
  /// The answer is negative: findings of level error, differences, or pending work.
  case no = 1
  /// The command line is wrong.
  case usage = 2
  /// A model or mapping model is unreadable or invalid.
  case invalidModel = 3
  /// The store is unreadable, locked, or was not written by a known version.
  case unreadableStore = 4
  /// The migration is impossible: no path, no inferred mapping, missing policies, or findings of level error.
  case migrationImpossible = 5
  /// The command failed; the store is unchanged.
  case failed = 6
  /// Interrupted work was found.
  case interruptedWorkFound = 7
  /// A bug in the tool.
  case bug = 70
  /// The command succeeded, but its report could not be written.
  case unreported = 74
  /// Stopped by Ctrl-C; the store is unchanged.
  case stopped = 130

  /// The meaning of the status, for help.
  package var meaning: String {
    switch self {
    case .done: "done, or nothing to do"
    case .no: "the answer is \"no\": findings of level error, differences, pending work"
    case .usage: "invalid command line"
    case .invalidModel: "unreadable or invalid model or mapping model"
    case .unreadableStore: "store unreadable, locked, or not written by a known version"
    case .migrationImpossible:
      "impossible migration: no path, no inferred mapping, missing policies, findings of level error"
    case .failed: "failed; the store is unchanged"
    case .interruptedWorkFound: "interrupted work found"
    case .bug: "a bug in this tool"
    case .unreported: "done, but the result could not be written"
    case .stopped: "stopped by Ctrl-C; the store is unchanged"
    }
  }
}
