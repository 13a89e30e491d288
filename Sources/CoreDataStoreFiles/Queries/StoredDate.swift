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
