// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

/// A date as stored in PostgreSQL: a timestamp, which counts microseconds, and the remainder that the date's Double has
/// beyond it.
///
/// The Double is exactly the microseconds divided by a million, plus the remainder. A date outside the range of
/// timestamps is stored as an infinite timestamp with the whole Double as the remainder. Dates are ordered by their
/// timestamps, then by their remainders.
package struct StoredDate: Hashable, Sendable {
  /// Microseconds since the reference date; the least and the greatest integer represent the infinite timestamps.
  package let microseconds: Int64
  /// The remainder in seconds; nil if the timestamp represents the date exactly.
  package let remainder: Double?

  /// The range of PostgreSQL timestamps, from 4714 BC to 294276.
  static let range: Range<Int64> = -211_845_110_400_000_000..<9_223_339_708_800_000_000
  /// The reference date in microseconds since 2000, PostgreSQL's own epoch.
  private static let epochDifference: Int64 = 31_622_400_000_000
  private static let million = 1_000_000

  /// - Parameter seconds: seconds since the reference date; nil is returned for NaN, which is stored as no date.
  package init?(seconds: Double) {
    if seconds.isNaN { return nil }
    // Just below 0 a microsecond is so much greater than the date that the remainder could not be exact.
    let count = (-0.000_000_5..<0).contains(seconds) ? 0 : (seconds * Double(Self.million)).rounded(.down)
    if let microseconds = Int64(exactly: count), Self.range.contains(microseconds) {
      self.microseconds = microseconds
      let remainder = seconds - Double(microseconds) / Double(Self.million)
      self.remainder = remainder == 0 ? nil : remainder
    } else {
      microseconds = seconds < 0 ? .min : .max
      remainder = seconds
    }
  }

  package init(microseconds: Int64, remainder: Double?) {
    (self.microseconds, self.remainder) = (microseconds, remainder)
  }

  /// - Parameter timestamp: microseconds since 2000, as counted and sent by PostgreSQL.
  package init(timestamp: Int64, remainder: Double?) {
    let isFinite = timestamp != .min && timestamp != .max
    self.init(microseconds: isFinite ? timestamp - Self.epochDifference : timestamp, remainder: remainder)
  }

  /// Microseconds since 2000, as counted and received by PostgreSQL.
  package var timestamp: Int64 { isFinite ? microseconds + Self.epochDifference : microseconds }

  package var isFinite: Bool { microseconds != .min && microseconds != .max }

  /// Seconds since the reference date.
  package var seconds: Double {
    isFinite ? Double(microseconds) / Double(Self.million) + (remainder ?? 0) : remainder ?? .infinity
  }

  /// The timestamp as text, which PostgreSQL casts to `timestamptz`.
  package var text: String {
    guard isFinite else { return microseconds < 0 ? "-infinity" : "infinity" }
    let (days, time) = Self.divided(microseconds, by: 86_400 * Int64(Self.million))
    let (seconds, fraction) = Self.divided(time, by: Int64(Self.million))
    let (year, month, day) = Self.civil(days: days)
    func digits(_ number: Int64, _ count: Int) -> String {
      let text = String(number)
      return String(repeating: "0", count: max(count - text.count, 0)) + text
    }
    let date = "\(digits(year > 0 ? year : 1 - year, 4))-\(digits(month, 2))-\(digits(day, 2))"
    let clock = "\(digits(seconds / 3600, 2)):\(digits(seconds / 60 % 60, 2)):\(digits(seconds % 60, 2))"
    return "\(date) \(clock).\(digits(fraction, 6))+00\(year > 0 ? "" : " BC")"
  }

  /// Divides, rounding toward negative infinity.
  private static func divided(_ number: Int64, by divisor: Int64) -> (quotient: Int64, remainder: Int64) {
    let (quotient, remainder) = number.quotientAndRemainder(dividingBy: divisor)
    return remainder < 0 ? (quotient - 1, remainder + divisor) : (quotient, remainder)
  }

  /// Returns the date in the proleptic Gregorian calendar, as PostgreSQL uses it. The year before 1 is 0.
  private static func civil(days: Int64) -> (year: Int64, month: Int64, day: Int64) {
    // Counted from 1 March of the year 0, so that a leap day is the last day of a year. A period has 400 years.
    let (period, dayOfPeriod) = divided(days + 730_791, by: 146_097)
    let yearOfPeriod = (dayOfPeriod - dayOfPeriod / 1_460 + dayOfPeriod / 36_524 - dayOfPeriod / 146_096) / 365
    let dayOfYear = dayOfPeriod - (365 * yearOfPeriod + yearOfPeriod / 4 - yearOfPeriod / 100)
    let month = (5 * dayOfYear + 2) / 153
    let day = dayOfYear - (153 * month + 2) / 5 + 1
    let year = yearOfPeriod + 400 * period
    return month < 10 ? (year, month + 3, day) : (year + 1, month - 9, day)
  }
}
