// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The conversions between decimals, doubles and integers.
///
/// All parts of the project use these functions: stores, objects, migrations, predicates, default values and exports.
/// Therefore a number has the same value wherever it is read or converted.
///
/// - **Integer to Decimal** is exact.
/// - **Double to Decimal** yields the shortest decimal that identifies the double: 19.99 stays 19.99, and
///   123456789012345.67 stays 123456789012345.67. A double without a fraction in the range of Integer 64 is converted
///   exactly. Reals in decimal columns are read the same way. Foundation converts a decimal to a double with one
///   division per digit, which can be off by a few units in the last place: 0.07 becomes 0.06999999999999999, and
///   columns contain such reals. Therefore a double that Foundation yields for a decimal of at most 12 digits is
///   converted back to that decimal.
/// - **Float to Decimal** converts the double of the same value: `Float(243.61)` becomes 243.61000061035156.
/// - **Decimal to Double** yields the nearest double.
/// - **Double or Decimal to Integer** drops the fraction. Numbers out of range and NaN have no integer.
///
/// In-place migration keeps or casts the value of a column, with the same results.
package enum DecimalConversion {
  /// The limits of a decimal: its significand is below 2^128, which has 39 digits, and its exponent is from -128 to
  /// 127.
  private static let (digitLimit, leastExponent, exponentLimit) = (39, -128, 127)
  /// The number of decimal digits that a double always preserves.
  private static let keptDigits = 15
  /// The maximum number of digits of a decimal that is recognized in Foundation's inexact double. With more digits,
  /// more doubles of other decimals would be misread: with 12, one in 10,000 decimals of 16 digits is.
  private static let recognizedDigits = 12
  /// The magnitude below which a decimal may not have room for all digits of a double.
  private static let leastExact = 1e-110
  /// The powers of ten that a double represents exactly.
  private static let powers: [Double] = (0...22).map { Double("1e\($0)") ?? .nan }

  package static let notANumber = "NaN"

  // MARK: Doubles

  /// Returns the decimal for a double, or nil if the double is infinite or too large. Rounds a number that is too
  /// small.
  package static func decimal(_ real: Double) -> Decimal? {
    if real.isNaN { return .nan }
    if let whole = Int64(exactly: real) { return Decimal(whole) }
    guard real.isFinite else { return nil }
    let digits = ShortDigits(real)
    guard abs(real) >= leastExact, digits.exponent <= exponentLimit else { return decimal("\(real)") }
    return (recognized(digits, real) ?? digits).decimal
  }

  /// Returns the digits of the decimal for a finite double, with an exponent if it is very large or very small.
  package static func text(of real: Double) -> String {
    // SQLite stores such a number as an integer in a column with NUMERIC affinity.
    if let whole = Int64(exactly: real) { return String(whole) }
    if abs(real) < leastExact { return decimal("\(real)").map { text(of: $0) } ?? "\(real)" }
    return recognized(ShortDigits(real), real)?.text ?? "\(real)"
  }

  /// Returns the digits of a short decimal that Foundation converts to this double although another double is nearer,
  /// or nil if there is none.
  private static func recognized(_ digits: ShortDigits, _ real: Double) -> ShortDigits? {
    let count = digits.count
    guard count > keptDigits else { return nil }
    let rounded = digits.rounded(to: recognizedDigits, of: count)
    guard rounded.decimal == digits.rounded(to: keptDigits, of: count).decimal,
      NSDecimalNumber(decimal: rounded.decimal).doubleValue == real
    else { return nil }
    return rounded
  }

  /// The shortest decimal digits that identify a double.
  private struct ShortDigits {
    private var digits: UInt64 = 0
    private(set) var exponent = 0
    private var isNegative = false

    init(_ real: Double) {
      var text = "\(real)"
      text.withUTF8 { bytes in
        var isFraction = false
        for (position, byte) in bytes.enumerated() {
          switch byte {
          case UInt8(ascii: "0")...UInt8(ascii: "9"):
            digits = digits * 10 + UInt64(byte - UInt8(ascii: "0"))
            if isFraction { exponent -= 1 }
          case UInt8(ascii: "."): isFraction = true
          case UInt8(ascii: "e"):
            exponent += Int(String(decoding: bytes[(position + 1)...], as: UTF8.self)) ?? 0
            return
          default: isNegative = true
          }
        }
      }
    }

    /// The number of digits.
    var count: Int {
      var (count, rest) = (0, digits)
      while rest > 0 { (count, rest) = (count + 1, rest / 10) }
      return count
    }

    func rounded(to wanted: Int, of count: Int) -> ShortDigits {
      var result = self
      var unit: UInt64 = 1
      for _ in wanted..<count { unit *= 10 }
      result.digits = (digits + unit / 2) / unit
      result.exponent += count - wanted
      while result.digits > 0, result.digits % 10 == 0 {
        (result.digits, result.exponent) = (result.digits / 10, result.exponent + 1)
      }
      return result
    }

    var decimal: Decimal {
      Decimal(sign: isNegative ? .minus : .plus, exponent: exponent, significand: Decimal(digits))
    }

    var text: String { "\(isNegative ? "-" : "")\(digits)e\(exponent)" }
  }

  /// Returns the double nearest to a decimal.
  package static func double(_ decimal: Decimal) -> Double {
    if decimal.isNaN { return .nan }
    let (digits, exponent) = (magnitude(decimal), decimal.exponent)
    let result: Double
    if let digits, digits <= 1 << 53, powers.indices.contains(abs(exponent)) {
      // Both operands are exact, so the result is rounded only once.
      result = exponent < 0 ? Double(digits) / powers[-exponent] : Double(digits) * powers[exponent]
    } else {
      result = Double(Self.digits(decimal)) ?? 0
    }
    return decimal.isSignMinus ? -result : result
  }

  /// Returns the text of a decimal without its sign, as digits with an exponent.
  private static func digits(_ decimal: Decimal) -> String { "\(decimal.significand.magnitude)e\(decimal.exponent)" }

  /// Returns the significand, or nil if it has more than 64 bits.
  private static func magnitude(_ decimal: Decimal) -> UInt64? {
    let significand = decimal.significand.magnitude
    let value = NSDecimalNumber(decimal: significand).uint64Value
    return Decimal(value) == significand ? value : nil
  }

  // MARK: Integers

  /// Returns a double without its fraction; nil if it is out of range or not a number.
  package static func integer(_ real: Double) -> Int64? { Int64(exactly: real.rounded(.towardZero)) }

  /// Returns a decimal without its fraction; nil if it is out of range or not a number.
  package static func integer(_ decimal: Decimal) -> Int64? { truncated(decimal)?.integer }

  /// Returns the integer equal to a decimal, or nil if there is none.
  package static func exactInteger(_ decimal: Decimal) -> Int64? {
    guard let (integer, isExact) = truncated(decimal), isExact else { return nil }
    return integer
  }

  private static func truncated(_ decimal: Decimal) -> (integer: Int64, isExact: Bool)? {
    if decimal.isNaN { return nil }
    guard var magnitude = magnitude(decimal).map({ UInt128($0) }) ?? UInt128("\(decimal.significand.magnitude)") else {
      return nil
    }
    var isExact = true
    var exponent = decimal.exponent
    while exponent < 0, magnitude > 0 {
      let (quotient, remainder) = magnitude.quotientAndRemainder(dividingBy: 10)
      if remainder != 0 { isExact = false }
      (magnitude, exponent) = (quotient, exponent + 1)
    }
    while exponent > 0, magnitude > 0 {
      let (product, overflow) = magnitude.multipliedReportingOverflow(by: 10)
      if overflow { return nil }
      (magnitude, exponent) = (product, exponent - 1)
    }
    guard let value = Int128(exactly: magnitude) else { return nil }
    return Int64(exactly: decimal.isSignMinus ? -value : value).map { ($0, isExact) }
  }

  // MARK: Texts

  /// Returns a text that `decimal(_:)` parses to the same number; `notANumber` for NaN.
  package static func text(of decimal: Decimal) -> String {
    if decimal.isNaN { return notANumber }
    let plain = "\(decimal)"
    return Self.decimal(plain) == decimal ? plain : (decimal.isSignMinus ? "-" : "") + digits(decimal)
  }

  /// Parses a text that consists of nothing but a number. Returns nil for any other text, and for a number that is too
  /// large.
  package static func decimal(_ text: String) -> Decimal? {
    // Foundation ignores trailing text, and reads "12 apples" as 12.
    let isNumber = text.utf8.allSatisfy { (0x30...0x39).contains($0) || "+-.eE".utf8.contains($0) }
    guard isNumber, Double(text) != nil else { return nil }
    return Decimal(string: text, locale: Locale(identifier: "en_US_POSIX")) ?? shifted(text)
  }

  /// Parses a number whose exponent Foundation rejects although the decimal exists: "1e150" is 1 with 23 zeros and the
  /// exponent 127, and "1.0e-128" is 1 with the exponent -128. Rounds digits that are too small.
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

  /// Returns the decimal for digits and a negative exponent, rounded if the exponent is too small.
  ///
  /// - Parameter exponent: The exponent of the last digit.
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
