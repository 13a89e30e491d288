// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The binary format of `numeric`: base-10,000 digits and the position of the decimal point.
///
/// The format is four 16-bit integers in network order (number of digits, weight of the first digit, sign, digits after
/// the decimal point) and then the digits.
enum PostgreSQLNumeric {
  private enum Sign {
    static let negative: UInt16 = 0x4000
    static let notANumber: UInt16 = 0xC000
    static let infinity: UInt16 = 0xD000
    static let negativeInfinity: UInt16 = 0xF000
  }

  static let notANumber = "NaN"

  /// The maximum number of bytes that `encode(_:to:)` writes for a Decimal: 128 bits have 39 decimal digits.
  static let decimalCapacity = 8 + 2 * 12

  /// Writes a decimal number.
  ///
  /// - Parameters:
  ///   - decimal: The number.
  ///   - target: The buffer to write to, of at least `decimalCapacity` bytes.
  /// - Returns: The number of bytes written.
  static func encode(_ decimal: Decimal, to target: UnsafeMutableRawPointer) -> Int {
    // Foundation on Linux gives access to the digits of a Decimal only as text.
    let text = decimal.isNaN ? notANumber : "\(decimal.significand)e\(decimal.exponent)"
    let sign = decimal.isSignMinus && !decimal.isNaN ? "-" : ""
    let bytes = encode(text.hasPrefix("-") ? text : sign + text) ?? special(Sign.notANumber)
    bytes.withUnsafeBytes { target.copyMemory(from: $0.baseAddress.unsafelyUnwrapped, byteCount: $0.count) }
    return bytes.count
  }

  /// Returns the binary form of a number in decimal digits, with or without an exponent; nil for any other text.
  static func encode(_ text: String) -> [UInt8]? {
    switch text {
    case notANumber: return special(Sign.notANumber)
    case "Infinity": return special(Sign.infinity)
    case "-Infinity": return special(Sign.negativeInfinity)
    default: break
    }
    guard let number = NumericText(text) else { return nil }
    // Group the digits by four on both sides of the decimal point.
    let point = number.digits.count + number.exponent
    let lead = ((-point) % 4 + 4) % 4
    var padded = [UInt8](repeating: 0, count: lead) + number.digits
    padded.append(contentsOf: repeatElement(0, count: (4 - padded.count % 4) % 4))
    var groups = stride(from: 0, to: padded.count, by: 4).map { start in
      padded[start..<start + 4].reduce(UInt16(0)) { $0 * 10 + UInt16($1) }
    }
    var weight = (point + lead) / 4 - 1
    while groups.last == 0 { groups.removeLast() }
    while groups.first == 0 {
      groups.removeFirst()
      weight -= 1
    }
    if groups.isEmpty { weight = 0 }
    guard let weight = Int16(exactly: weight), groups.count <= Int(Int16.max) else { return nil }
    let scale = max(0, -number.exponent)
    guard scale <= 16_383 else { return nil }
    return [UInt8](unsafeUninitializedCapacity: 8 + 2 * groups.count) { bytes, count in
      let target = UnsafeMutableRawPointer(bytes.baseAddress!)
      let sign = number.isNegative && !groups.isEmpty ? Sign.negative : 0
      count = header(target, count: groups.count, weight: Int(weight), sign: sign, scale: scale)
      for group in groups { count += store(group, at: target + count) }
    }
  }

  /// Returns the number as text: decimal digits, with an exponent if there are more of them than a Decimal can hold.
  ///
  /// - Returns: nil if the bytes are not a number.
  static func text(_ bytes: UnsafeRawBufferPointer) -> String? {
    guard bytes.count >= 8, let start = bytes.baseAddress else { return nil }
    let count = Int(load(start))
    let weight = Int(Int16(bitPattern: load(start + 2)))
    let sign = load(start + 4)
    let scale = Int(load(start + 6))
    switch sign {
    case 0, Sign.negative: break
    case Sign.notANumber: return notANumber
    case Sign.infinity: return "Infinity"
    case Sign.negativeInfinity: return "-Infinity"
    default: return nil
    }
    guard bytes.count == 8 + 2 * count else { return nil }
    var digits: [UInt8] = []
    digits.reserveCapacity(4 * count)
    for position in 0..<count {
      let group = load(start + 8 + 2 * position)
      guard group < 10_000 else { return nil }
      digits.append(UInt8(group / 1000))
      digits.append(UInt8(group / 100 % 10))
      digits.append(UInt8(group / 10 % 10))
      digits.append(UInt8(group % 10))
    }
    return NumericText(isNegative: sign != 0, digits: digits, exponent: 4 * (weight + 1 - count))
      .description(scale: scale)
  }

  private static func special(_ sign: UInt16) -> [UInt8] { [0, 0, 0, 0, UInt8(sign >> 8), 0, 0, 0] }

  private static func header(
    _ target: UnsafeMutableRawPointer, count: Int, weight: Int, sign: UInt16, scale: Int
  ) -> Int {
    store(UInt16(count), at: target) + store(UInt16(truncatingIfNeeded: weight), at: target + 2)
      + store(sign, at: target + 4) + store(UInt16(scale), at: target + 6)
  }

  private static func store(_ value: UInt16, at target: UnsafeMutableRawPointer) -> Int {
    target.storeBytes(of: value.bigEndian, as: UInt16.self)
    return 2
  }

  private static func load(_ source: UnsafeRawPointer) -> UInt16 {
    UInt16(bigEndian: source.loadUnaligned(as: UInt16.self))
  }
}

/// A number as decimal digits: `digits` times ten to the power of `exponent`.
struct NumericText {
  /// The number of digits above which a number is written with an exponent in place of its zeros.
  private static let plainLimit = 38

  var isNegative: Bool
  /// Digits from 0 to 9, most significant first.
  var digits: [UInt8]
  var exponent: Int

  init(isNegative: Bool, digits: [UInt8], exponent: Int) {
    (self.isNegative, self.digits, self.exponent) = (isNegative, digits, exponent)
  }

  /// Reads a number such as `-12.50` or `1e40`; nil for any other text.
  init?(_ text: String) {
    var rest = Substring(text).utf8
    isNegative = rest.first == UInt8(ascii: "-")
    if let sign = rest.first, sign == UInt8(ascii: "-") || sign == UInt8(ascii: "+") { rest.removeFirst() }
    (digits, exponent) = ([], 0)
    var hasPoint = false
    while let character = rest.first {
      switch character {
      case UInt8(ascii: "0")...UInt8(ascii: "9"):
        digits.append(character - UInt8(ascii: "0"))
        if hasPoint { exponent -= 1 }
      case UInt8(ascii: ".") where !hasPoint: hasPoint = true
      case UInt8(ascii: "e"), UInt8(ascii: "E"):
        // The limit keeps sums of exponents in range.
        guard let shift = Int(Substring(rest.dropFirst())), shift.magnitude < 1_000_000, !digits.isEmpty else {
          return nil
        }
        exponent += shift
        return
      default: return nil
      }
      rest.removeFirst()
    }
    if digits.isEmpty { return nil }
  }

  /// Returns the number as text.
  ///
  /// - Parameter scale: The number of digits after the decimal point; zeros are appended as needed.
  func description(scale: Int) -> String {
    var digits = digits[...]
    var exponent = exponent
    while digits.last == 0, exponent < -scale || exponent > 0 {
      digits.removeLast()
      exponent += 1
    }
    if digits.isEmpty { exponent = 0 }
    while digits.first == 0 { digits.removeFirst() }
    let sign = isNegative && !digits.isEmpty ? "-" : ""
    func text(_ digits: ArraySlice<UInt8>) -> String {
      String(decoding: digits.map { $0 + UInt8(ascii: "0") }, as: UTF8.self)
    }
    func zeros(_ count: Int) -> String { String(repeating: "0", count: max(0, count)) }
    if digits.isEmpty { return scale > 0 ? "0." + zeros(scale) : "0" }
    let point = digits.count + exponent
    if max(digits.count, point, -exponent) > Self.plainLimit {
      while digits.last == 0 {
        digits.removeLast()
        exponent += 1
      }
      return "\(sign)\(text(digits))" + (exponent == 0 ? "" : "e\(exponent)")
    }
    let whole = point <= 0 ? "0" : text(digits.prefix(point)) + zeros(point - digits.count)
    if scale == 0 { return sign + whole }
    let fraction = zeros(-point) + text(point <= 0 ? digits : digits.dropFirst(point))
    return "\(sign)\(whole).\(fraction)\(zeros(scale - fraction.utf8.count))"
  }
}
