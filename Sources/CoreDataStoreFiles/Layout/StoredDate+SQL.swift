// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

/// SQL for the parts of a date, computed by PostgreSQL. It gives the same parts for the same seconds as the Swift code.
extension StoredDate {
  private static let day: Int64 = 86_400_000_000

  /// Returns SQL for the timestamp of seconds since the reference date.
  ///
  /// - Parameter seconds: a column of type `double precision`; it occurs several times.
  package static func timestamp(of seconds: String) -> String {
    let count = "CAST(\(microseconds(seconds)) AS bigint)"
    // Whole days and the microseconds within a day, since PostgreSQL makes intervals from doubles.
    let time =
      "make_interval(days => CAST(floor(CAST(\(count) AS numeric) / \(day)) AS integer), "
      + "secs => CAST(\(count) - CAST(floor(CAST(\(count) AS numeric) / \(day)) AS bigint) * \(day) "
      + "AS double precision) / 1000000)"
    return "CASE WHEN \(seconds) = 'NaN' THEN NULL "
      + "WHEN \(isTimestamp(seconds)) THEN (TIMESTAMP '2001-01-01' + \(time)) AT TIME ZONE 'UTC' "
      + "WHEN \(seconds) < 0 THEN TIMESTAMPTZ '-infinity' WHEN \(seconds) > 0 THEN TIMESTAMPTZ 'infinity' END"
  }

  /// Returns SQL for the remainder of seconds since the reference date; see `timestamp(of:)`.
  package static func remainder(of seconds: String) -> String {
    "CASE WHEN \(seconds) = 'NaN' THEN NULL "
      + "WHEN \(isTimestamp(seconds)) THEN NULLIF(\(seconds) - \(microseconds(seconds)) / 1e6, 0) ELSE \(seconds) END"
  }

  private static func microseconds(_ seconds: String) -> String {
    "(CASE WHEN \(seconds) >= -0.0000005 AND \(seconds) < 0 THEN 0 "
      + "ELSE floor(\(seconds) * CAST(1e6 AS double precision)) END)"
  }

  private static func isTimestamp(_ seconds: String) -> String {
    // The first comparison prevents an overflow in the multiplication, which is an error in PostgreSQL. Both bounds are
    // exact doubles; casting a double to `numeric` rounds it to 15 digits.
    let count = microseconds(seconds)
    return "CASE WHEN abs(\(seconds)) > 1e13 THEN FALSE "
      + "ELSE \(count) >= CAST(\(range.lowerBound) AS double precision) "
      + "AND \(count) < CAST(\(range.upperBound) AS double precision) END"
  }
}
