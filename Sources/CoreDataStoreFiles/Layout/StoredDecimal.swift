// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataSQLite
import Foundation

/// Decimal numbers in columns: whole numbers, reals, or texts.
package enum StoredDecimal {
  /// A decimal has a significand below 2^128, which has 39 digits, and an exponent from -128 to 127.
  private static let (digitLimit, leastExponent, exponentLimit) = (39, -128, 127)

  private static let notANumber = "NaN"

  /// Returns whole numbers as integers and others as reals, like the affinity of a DECIMAL column.
  package static func number(_ decimal: NSDecimalNumber) -> SQLiteValue {
    if decimal.decimalValue.isNaN { return .text(notANumber) }
    let value = decimal.int64Value
    if NSDecimalNumber(value: value).compare(decimal) == .orderedSame { return .integer(value) }
    // Foundation multiplies by powers of ten, and is off by a few units in the last place: 49.1855 becomes 49.185500000000005.
    return .real(Double(text(of: decimal.decimalValue)) ?? decimal.doubleValue)
  }

  /// Returns the decimal that a stored real stands for: the shortest with 15 digits, which is the number as written.
  package static func decimal(real: Double) -> Decimal? { decimal(String(format: "%.15g", real)) }

  /// Returns a text that `decimal(_:)` parses to the same number; `notANumber` for NaN.
  package static func text(of decimal: Decimal) -> String {
    if decimal.isNaN { return notANumber }
    let plain = "\(decimal)"
    return Self.decimal(plain) == decimal ? plain : "\(decimal.significand)e\(decimal.exponent)"
  }

  /// Returns the object for a text that `text(of:)` has made; nil for any text that is no number.
  package static func object(_ text: String) -> NSDecimalNumber? {
    text == notANumber ? .notANumber : decimal(text).map { NSDecimalNumber(decimal: $0) }
  }

  /// Parses a text that is a number throughout; nil for any other text, and for a number that is too large.
  package static func decimal(_ text: String) -> Decimal? {
    // Foundation ignores trailing text, and reads "12 apples" as 12.
    let isNumber = text.utf8.allSatisfy { (0x30...0x39).contains($0) || "+-.eE".utf8.contains($0) }
    guard isNumber, Double(text) != nil else { return nil }
    return Decimal(string: text, locale: Locale(identifier: "en_US_POSIX")) ?? shifted(text)
  }

  /// Parses a number whose written exponent Foundation refuses, although the decimal exists: "1e150" is 1 with 23 zeros and the
  /// exponent 127, and "1.0e-128" is 1 with the exponent -128. Digits that are too small are rounded.
  private static func shifted(_ text: String) -> Decimal? {
    guard let mark = text.firstIndex(where: { $0 == "e" || $0 == "E" }),
      let exponent = Int(text[text.index(after: mark)...])
    else { return nil }
    let parts = text[..<mark].split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
    var fraction = parts.count > 1 ? parts[1] : ""
    while fraction.last == "0" { fraction.removeLast() }
    let digits = String(parts[0].drop { $0 == "+" || $0 == "-" }) + fraction
    if exponent < 0 { return small(digits, exponent - fraction.count, isNegative: text.hasPrefix("-")) }
    guard exponent <= exponentLimit + digitLimit else { return nil }
    let zeros = exponent - fraction.count - exponentLimit
    guard zeros >= 0, digits.count + zeros <= digitLimit else { return nil }
    let sign = text.hasPrefix("-") ? "-" : ""
    return Decimal(string: "\(sign)\(digits)\(String(repeating: "0", count: zeros))e\(exponentLimit)")
  }

  /// - Parameter exponent: that of the last digit.
  private static func small(_ digits: String, _ exponent: Int, isNegative: Bool) -> Decimal? {
    let surplus = max(0, leastExponent - exponent)
    if surplus > digits.count { return 0 }
    guard let kept = Decimal(string: "0" + digits.dropLast(surplus)) else { return nil }
    let isRoundedUp = digits.suffix(surplus).first.map { $0 >= "5" } ?? false
    return Decimal(
      sign: isNegative ? .minus : .plus, exponent: max(exponent, leastExponent),
      significand: isRoundedUp ? kept + 1 : kept)
  }
}
