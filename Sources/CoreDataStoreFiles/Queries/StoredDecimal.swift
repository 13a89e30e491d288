// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataSQLite
import Foundation

/// Decimal numbers in columns: whole numbers, reals, or texts.
package enum StoredDecimal {
  /// A decimal has up to 38 digits, and a power of ten from -128 to 127.
  private static let (digitLimit, exponentLimit) = (38, 127)

  package static let notANumber = "NaN"

  /// Whole numbers as integers, others as reals: what a column of type DECIMAL would make of either.
  package static func number(_ decimal: NSDecimalNumber) -> SQLiteValue {
    if decimal.decimalValue.isNaN { return .text(notANumber) }
    let value = decimal.int64Value
    return NSDecimalNumber(value: value).compare(decimal) == .orderedSame ? .integer(value) : .real(decimal.doubleValue)
  }

  /// The number that a whole text says; nil where it says none, or one that is too large.
  package static func decimal(_ text: String) -> Decimal? {
    // Foundation reads as far as it understands, and takes "12 apples" for 12.
    let isNumber = text.utf8.allSatisfy { (0x30...0x39).contains($0) || "+-.eE".utf8.contains($0) }
    guard isNumber, Double(text) != nil else { return nil }
    return Decimal(string: text, locale: Locale(identifier: "en_US_POSIX")) ?? shifted(text)
  }

  /// Foundation wants the power of ten as written to be one that a decimal can have; "1e150" is 1 with 23 zeros and a power
  /// of 127. What is too small for a decimal is rounded to 0.
  private static func shifted(_ text: String) -> Decimal? {
    guard let mark = text.firstIndex(where: { $0 == "e" || $0 == "E" }),
      let exponent = Int(text[text.index(after: mark)...])
    else { return nil }
    if exponent < 0 { return 0 }
    let parts = text[..<mark].split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
    var fraction = parts.count > 1 ? parts[1] : ""
    while fraction.last == "0" { fraction.removeLast() }
    let digits = String(parts[0].drop { $0 == "+" || $0 == "-" }) + fraction
    guard exponent <= exponentLimit + digitLimit else { return nil }
    let zeros = exponent - fraction.count - exponentLimit
    guard zeros >= 0, digits.count + zeros <= digitLimit else { return nil }
    let sign = text.hasPrefix("-") ? "-" : ""
    return Decimal(string: "\(sign)\(digits)\(String(repeating: "0", count: zeros))e\(exponentLimit)")
  }
}
