// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Decimal numbers: a mantissa of 128 bits in words of 16, and a power of ten.
enum ArchivedDecimal {
  static func decimal(of object: ArchivedObject) throws -> Decimal {
    let archive = object.archive
    guard case .data(let bytes)? = try archive.resolved(object.fields["NS.mantissa"]), bytes.count == 16,
      let exponent = try object.integer("NS.exponent"), (-128...127).contains(exponent),
      let length = try object.integer("NS.length"), (0...8).contains(length)
    else { throw ArchiveFailure.broken("A decimal number is damaged.") }
    let isNegative = try object.flag("NS.negative")
    if length == 0 { return isNegative ? .nan : zero(exponent: exponent) }
    // 1 means that the words are little-endian, 2 that they are big-endian; the words themselves go from low to high.
    let isLittle = try object.integer("NS.mantissa.bo") ?? 1 == 1
    var mantissa: UInt128 = 0
    for word in (0..<Int(length)).reversed() {
      let pair = (UInt128(bytes[bytes.startIndex + 2 * word]), UInt128(bytes[bytes.startIndex + 2 * word + 1]))
      mantissa = mantissa << 16 | (isLittle ? pair.1 << 8 | pair.0 : pair.0 << 8 | pair.1)
    }
    guard let decimal = Decimal(string: "\(isNegative ? "-" : "")\(mantissa)e\(exponent)") else {
      throw ArchiveFailure.broken("A decimal number is too large.")
    }
    return decimal
  }

  /// Zero with as many places behind the point as the archive has: `0.0` is written as it was read.
  private static func zero(exponent: Int64) -> Decimal {
    guard exponent < 0 else { return 0 }
    return Decimal(string: "0." + String(repeating: "0", count: Int(-exponent))) ?? 0
  }

  static func fields(of decimal: Decimal) -> [String: ArchiveValue] {
    let mantissa = decimal.isNaN ? 0 : UInt128("\(decimal.significand)") ?? 0
    let bytes = withUnsafeBytes(of: mantissa.littleEndian) { Data($0) }
    let length = (UInt128.bitWidth - mantissa.leadingZeroBitCount + 15) / 16
    return [
      "NS.mantissa": .data(bytes), "NS.mantissa.bo": .integer(1), "NS.length": .integer(Int64(length)),
      "NS.exponent": .integer(Int64(decimal.exponent)), "NS.compact": .boolean(false),
      "NS.negative": .boolean(decimal.isNaN || decimal.isSignMinus),
    ]
  }
}
