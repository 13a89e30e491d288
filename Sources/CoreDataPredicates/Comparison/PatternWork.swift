// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization

/// Limits the total time spent on matching regular expressions.
///
/// A single match ends after a second at most, but a pattern such as `(a+)+$` can take that second for each of many
/// strings. Therefore each pattern has an allowance for slow matches, those that take unusually long for the length of
/// their string. A pattern that has used up its allowance is refused. The allowance is renewed after a pause without
/// slow matches, so that each fetch of an app, and each command, starts with a full one.
enum PatternWork {
  /// The CPU time in seconds that slow matches of one pattern may take in excess of the usual time.
  private static let allowance = 2.0
  /// The seconds without a slow match after which the allowance is renewed.
  private static let pause = 5.0
  /// The usual CPU time in seconds: a base per match, and an addition per UTF-16 code unit of the string.
  private static let usual = (match: 0.01, unit: 0.000_001)
  /// The number of patterns from which expired accounts are removed.
  private static let maxPatternCount = 1000

  private struct Account {
    var spent = 0.0
    /// The time in seconds (`CLOCK_MONOTONIC`) at which the last slow match ended.
    var end: Double
  }

  private static let accounts = Mutex<[String: Account]>([:])

  /// Runs a match and charges its excess time to the pattern.
  ///
  /// - Parameters:
  ///   - pattern: The regular expression.
  ///   - length: The length of the string in UTF-16 code units.
  ///   - match: Performs the match.
  /// - Returns: The result of the match.
  /// - Throws: `InvalidPattern` if the pattern's allowance is used up.
  static func measuring(_ pattern: String, length: Int, _ match: () -> Bool) throws -> Bool {
    let (start, cpuStart) = (seconds(of: CLOCK_MONOTONIC), seconds(of: CLOCK_THREAD_CPUTIME_ID))
    let result = match()
    let excess = seconds(of: CLOCK_THREAD_CPUTIME_ID) - cpuStart - usual.match - Double(length) * usual.unit
    guard excess > 0 else { return result }
    let end = seconds(of: CLOCK_MONOTONIC)
    let spent = accounts.withLock { accounts in
      if accounts.count >= maxPatternCount, accounts[pattern] == nil {
        accounts = accounts.filter { start - $0.value.end < pause }
      }
      var account = accounts[pattern] ?? Account(end: end)
      if start - account.end >= pause { account.spent = 0 }
      account.spent += excess
      account.end = max(account.end, end)
      accounts[pattern] = account
      return account.spent
    }
    guard spent <= allowance else { throw InvalidPattern(pattern: pattern, reason: .tooMuchWork) }
    return result
  }

  private static func seconds(of clock: clockid_t) -> Double {
    var time = timespec()
    clock_gettime(clock, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
  }
}
