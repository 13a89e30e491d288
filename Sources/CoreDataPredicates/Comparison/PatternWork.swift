// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization

/// Limits the time that regular expressions take in all.
///
/// One match ends after a second at most, but a pattern such as `(a+)+$` takes that second for each of many strings. So the
/// time of matches that are slow for the length of their strings is added up for each pattern, and at the end of its
/// allowance the pattern is refused. A pattern that has not been slow for a while has all of its allowance again, so that
/// each fetch of an app, and each command, has its own.
enum PatternWork {
  /// The seconds of one thread's time that slow matches of one pattern may take.
  private static let allowance = 2.0
  /// The seconds without a slow match after which a pattern has its allowance again.
  private static let pause = 5.0
  /// The seconds that a match may take without being slow, and those that it may take for each UTF-16 unit of its string.
  private static let usual = (match: 0.01, unit: 0.000_001)
  /// The most patterns that are remembered.
  private static let mostPatterns = 1000

  private struct Account {
    var spent = 0.0
    /// When the last slow match ended.
    var end: Double
  }

  private static let accounts = Mutex<[String: Account]>([:])

  /// Runs a match of a pattern with a string of some length.
  ///
  /// - Throws: `InvalidPattern` if the pattern's allowance is used up.
  static func measuring(_ pattern: String, length: Int, _ match: () -> Bool) throws -> Bool {
    let (start, cpuStart) = (seconds(of: CLOCK_MONOTONIC), seconds(of: CLOCK_THREAD_CPUTIME_ID))
    let result = match()
    let excess = seconds(of: CLOCK_THREAD_CPUTIME_ID) - cpuStart - usual.match - Double(length) * usual.unit
    guard excess > 0 else { return result }
    let end = seconds(of: CLOCK_MONOTONIC)
    let spent = accounts.withLock { accounts in
      if accounts.count >= mostPatterns, accounts[pattern] == nil {
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
