// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

/// The exact sum of doubles in PostgreSQL, as `ExactSum` computes it.
///
/// PostgreSQL's `SUM` rounds after each row, in the order in which it finds them: for the same rows, the result changes
/// when an update moves a row, and with parallel workers from one execution to the next. So each double is divided into
/// four integers of up to 62 bits, whose sums are exact, and the total is rounded once.
///
/// A double with bits outside of the four integers (NaN, infinity, from 4e37, or with bits below 2^-124) fails the
/// statement with SQLSTATE 22003, and the rows are added in memory.
enum ExactSumSQL {
  /// 2^62 and 2^124, as bigint or numeric and as double precision.
  private static let unit = "4611686018427387904"
  private static let square = "21267647932558653966460912964485513216"
  private static let realUnit = "CAST(4611686018427387904 AS double precision)"
  private static let realSquare = "CAST(21267647932558653966460912964485513216 AS double precision)"
  /// 2^1013, by which the least double times 2^124 leaves the range of bigint.
  private static let overflow = "CAST('8.777798510069902e304' AS double precision)"

  static func sum(of expression: BoundSQL) -> BoundSQL {
    let value: BoundSQL = "(\(expression))"
    let scaled: BoundSQL = "\(value) * \(raw: realUnit)"
    let lowest: BoundSQL = "\(value) * \(raw: realSquare)"
    let highest: BoundSQL = "TRUNC(\(value) / \(raw: realUnit))"
    let parts: [BoundSQL] = [
      highest, "TRUNC(\(value)) - \(highest) * \(raw: realUnit)",
      "TRUNC(\(scaled)) - TRUNC(\(value)) * \(raw: realUnit)",
      "TRUNC(\(lowest)) - TRUNC(\(scaled)) * \(raw: realUnit)",
      // Zero, or out of range.
      "(\(lowest) - TRUNC(\(lowest))) * \(raw: overflow)",
    ]
    let sums = parts.map { "SUM(CAST(\($0) AS bigint))" as BoundSQL }
    let whole: BoundSQL = "(\(sums[0]) * \(raw: unit) + \(sums[1])) * \(raw: square)"
    let fraction: BoundSQL = "\(sums[2]) * \(raw: unit) + \(sums[3]) + \(sums[4])"
    return "CAST(\(whole) + \(fraction) AS double precision) / \(raw: realSquare)"
  }
}
