// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import FaultInjection
import Foundation

/// Calls of the file system below a folder that are counted, or of which some fail, while something is done.
///
/// There is one such folder in a process. Tests of several suites run side by side, so each has its turn.
enum Faults {
  /// What has come of it.
  struct Outcome {
    let failure: (any Error)?
    /// How many calls there were.
    let calls: Int
    /// The name of the call that was chosen, and the last part of its path.
    let call: String
    /// All calls, where none was to fail: a line for each, with its name and the path from the folder on.
    let trace: String
  }

  private static let turn = NSLock()

  /// Does something while a call fails; 0 for none.
  static func run(
    below folder: URL, call: Int = 0, _ kind: FaultKind = FaultKindNone, error: Int32 = 0, _ body: () throws -> Void
  ) -> Outcome {
    turn.withLock {
      faultInjectionArm(folder.path, call, Int32(kind.rawValue), error)
      var failure: (any Error)?
      do { try body() } catch let caught { failure = caught }
      let calls = faultInjectionDisarm()
      return Outcome(
        failure: failure, calls: calls, call: String(cString: faultInjectionCall()),
        trace: String(cString: faultInjectionTrace()))
    }
  }
}
