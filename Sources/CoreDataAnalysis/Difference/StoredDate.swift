// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Dates as stores hold them: seconds since the start of 2001, UTC.
package enum StoredDate {
  /// Days from 1970 to 2001.
  private static let epochDays = 11323

  /// The date in ISO 8601 with six digits of a second, as `2014-09-09T18:43:05.261936Z`.
  ///
  /// Foundation's formatter knows milliseconds only, and stores hold more. Years beyond four digits get a sign, as the
  /// standard asks.
  package static func text(_ seconds: Double) -> String {
    guard seconds.isFinite, abs(seconds) < 1e14 else { return String(seconds) }
    var whole = seconds.rounded(.down)
    var micros = ((seconds - whole) * 1_000_000).rounded()
    if micros >= 1_000_000 {
      whole += 1
      micros = 0
    }
    let total = Int64(whole)
    let days = Int64((Double(total) / 86_400).rounded(.down))
    let clock = total - days * 86_400
    let (year, month, day) = civil(daysSince1970: days + Int64(epochDays))
    let yearText = (0...9999).contains(year) ? padded(year, 4) : (year < 0 ? "-" : "+") + padded(abs(year), 6)
    let time = [clock / 3600, clock / 60 % 60, clock % 60].map { padded($0, 2) }.joined(separator: ":")
    return "\(yearText)-\(padded(month, 2))-\(padded(day, 2))T\(time).\(padded(Int64(micros), 6))Z"
  }

  private static func padded(_ number: Int64, _ width: Int) -> String {
    let digits = String(number)
    return String(repeating: "0", count: max(0, width - digits.count)) + digits
  }

  /// Year, month and day of the proleptic Gregorian calendar, counted in periods of 400 years that begin with March.
  private static func civil(daysSince1970 days: Int64) -> (year: Int64, month: Int64, day: Int64) {
    let shifted = days + 719_468
    let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
    let dayOfEra = shifted - era * 146_097
    let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let monthFromMarch = (5 * dayOfYear + 2) / 153
    let day = dayOfYear - (153 * monthFromMarch + 2) / 5 + 1
    let month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
    return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, day)
  }
}
