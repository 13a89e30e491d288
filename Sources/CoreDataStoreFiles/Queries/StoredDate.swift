// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

/// Dates in PostgreSQL: a `timestamptz`, which counts microseconds, and in a second column what a `Double` has beyond it.
///
/// Two dates are in the order of their timestamps, and those with one timestamp in that of their remainders.
package enum StoredDate {
  /// What the reference date, 2001-01-01, is in PostgreSQL, whose timestamps count from 2000-01-01.
  private static let reference: Int64 = 31_622_400_000_000
  /// The range of `timestamptz`, from 4713 BC to the end of 294276.
  private static let range: Range<Int64> = -211_813_488_000_000_000..<9_223_371_331_200_000_000

  /// Splits seconds since the reference date; nil for what is not a number.
  ///
  /// A date out of the range of timestamps is an infinite one, with all of it in the remainder.
  ///
  /// - Returns: microseconds since 2000-01-01, and the remainder in seconds, nil for none.
  package static func parts(of seconds: Double) -> (microseconds: Int64, remainder: Double?)? {
    if seconds.isNaN { return nil }
    // To the nearest: then the difference below is exact.
    let scaled = (seconds * 1e6).rounded()
    if let count = Int64(exactly: scaled), case (let microseconds, false) = count.addingReportingOverflow(reference),
      range.contains(microseconds)
    {
      let remainder = seconds - Double(count) / 1e6
      return (microseconds, remainder == 0 ? nil : remainder)
    }
    return (seconds < 0 ? .min : .max, seconds.isInfinite ? nil : seconds)
  }

  /// Joins the parts of a date: exactly the number that was split.
  package static func seconds(microseconds: Int64, remainder: Double?) -> Double {
    switch microseconds {
    case .max: remainder ?? .infinity
    case .min: remainder ?? -.infinity
    default: Double(microseconds - reference) / 1e6 + (remainder ?? 0)
    }
  }
}

extension StoredDate {
  private static let (second, day): (Int64, Int64) = (1_000_000, 86_400_000_000)
  private static let (fourYears, century, fourCenturies): (Int64, Int64, Int64) = (1461, 36_524, 146_097)

  /// Returns the literal of a timestamp, as PostgreSQL writes it in UTC.
  ///
  /// - Parameter microseconds: since 2000-01-01; see `parts(of:)`.
  package static func timestamp(_ microseconds: Int64) -> String {
    if microseconds == .max { return "infinity" }
    if microseconds == .min { return "-infinity" }
    let (days, time) = floored(microseconds, by: day)
    let date = civil(daysSince2000: days)
    func padded(_ number: Int64, _ width: Int) -> String {
      String(repeating: "0", count: max(0, width - String(number).count)) + String(number)
    }
    // PostgreSQL has no year 0: before the year 1 comes 1 BC.
    let year = padded(date.year > 0 ? date.year : 1 - date.year, 4)
    let clock = [time / (3600 * second), time / (60 * second) % 60, time / second % 60].map { padded($0, 2) }
    return "\(year)-\(padded(date.month, 2))-\(padded(date.day, 2)) \(clock.joined(separator: ":"))"
      + ".\(padded(time % second, 6))+00\(date.year > 0 ? "" : " BC")"
  }

  /// Returns the date of the Gregorian calendar a number of days after 2000-01-01.
  private static func civil(daysSince2000 days: Int64) -> (year: Int64, month: Int64, day: Int64) {
    // A year that begins in March ends with the day that leap years have, and so do four years, and four centuries.
    let (eras, inEra) = floored(days - 60, by: fourCenturies)
    let centuries = min(inEra / century, 3)
    var left = inEra - centuries * century
    let quadrennia = left / fourYears
    left -= quadrennia * fourYears
    let years = min(left / 365, 3)
    left -= years * 365
    var month: Int64 = 3
    for length: Int64 in [31, 30, 31, 30, 31, 31, 30, 31, 30, 31, 31] where left >= 0 {
      if left < length { break }
      left -= length
      month += 1
    }
    let year = 2000 + eras * 400 + centuries * 100 + quadrennia * 4 + years
    return month > 12 ? (year + 1, month - 12, left + 1) : (year, month, left + 1)
  }

  private static func floored(_ number: Int64, by divisor: Int64) -> (quotient: Int64, remainder: Int64) {
    let (quotient, remainder) = number.quotientAndRemainder(dividingBy: divisor)
    return remainder < 0 ? (quotient - 1, remainder + divisor) : (quotient, remainder)
  }

  /// SQL for the timestamp of seconds since the reference date, in PostgreSQL: what `parts(of:)` returns for them.
  ///
  /// - Parameter seconds: a column of type `double precision`; it occurs several times.
  package static func timestampSQL(of seconds: String) -> String {
    let count = "(CAST(\(countSQL(seconds)) AS BIGINT) + \(reference))"
    return "CASE WHEN \(seconds) = 'NaN' THEN NULL WHEN \(isInRangeSQL(seconds)) THEN "
      + "(TIMESTAMP '2000-01-01' + make_interval(days => CAST(\(count) / \(day) AS INTEGER), "
      + "secs => CAST(\(count) % \(day) AS DOUBLE PRECISION) / 1e6)) AT TIME ZONE 'UTC' "
      + "WHEN \(seconds) < 0 THEN TIMESTAMPTZ '-infinity' WHEN \(seconds) > 0 THEN TIMESTAMPTZ 'infinity' END"
  }

  /// SQL for the remainder of seconds since the reference date; see `timestampSQL(of:)`.
  package static func remainderSQL(of seconds: String) -> String {
    "CASE WHEN \(seconds) = 'NaN' THEN NULL WHEN \(isInRangeSQL(seconds)) THEN "
      + "NULLIF(\(seconds) - \(countSQL(seconds)) / 1e6, 0) "
      + "WHEN \(seconds) NOT IN ('infinity', '-infinity') THEN \(seconds) END"
  }

  /// Rounds as Swift does, halves away from zero; `round` of PostgreSQL rounds them to even numbers.
  private static func countSQL(_ seconds: String) -> String {
    let scaled = "(\(seconds) * CAST(1e6 AS DOUBLE PRECISION))"
    return "(CASE WHEN abs(\(scaled) - trunc(\(scaled))) = 0.5 THEN trunc(\(scaled)) + sign(\(scaled)) "
      + "ELSE round(\(scaled)) END)"
  }

  private static func isInRangeSQL(_ seconds: String) -> String {
    // The first comparison keeps the multiplication from an overflow, which is an error in PostgreSQL.
    let (first, last) = (range.lowerBound - reference, range.upperBound - reference)
    return "CASE WHEN abs(\(seconds)) > 1e13 THEN FALSE ELSE CAST(\(countSQL(seconds)) AS NUMERIC) >= \(first) "
      + "AND CAST(\(countSQL(seconds)) AS NUMERIC) < \(last) END"
  }
}
