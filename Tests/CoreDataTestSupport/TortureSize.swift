// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// How much torture there is: a little by default, all of it by `make torture`.
package enum TortureSize {
  package static let isFull = ProcessInfo.processInfo.environment["COREDATA_TORTURE"] == "full"

  /// Returns how much a test tries: the number in a variable of the environment, or else the one for `make test`, or for
  /// `make torture` if that is another.
  package static func number(_ variable: String, _ usual: Int, full: Int? = nil) -> Int {
    ProcessInfo.processInfo.environment[variable].flatMap(Int.init) ?? (isFull ? full ?? usual : usual)
  }
}
