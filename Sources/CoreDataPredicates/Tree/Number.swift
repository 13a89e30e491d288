// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// A number: an exact integer, a decimal, or a double.
package enum Number {
  case integer(Int64)
  case real(Double)
  case decimal(Decimal)

  /// Creates a number from a value of any numeric type, or nil for any other value.
  package init?(_ value: Any) {
    switch value {
    // Must precede doubles and integers, to which Foundation would cast decimals with a loss of digits.
    case let number as NSDecimalNumber:
      self = number.decimalValue.isNaN ? .real(.nan) : .decimal(number.decimalValue)
    case let number as Decimal where !(value is NSNumber): self = .decimal(number)
    case let number as NSNumber:
      switch UInt8(bitPattern: number.objCType.pointee) {
      case UInt8(ascii: "d"), UInt8(ascii: "f"): self = .real(number.doubleValue)
      case UInt8(ascii: "Q") where number.uint64Value > Int64.max: self = .decimal(Decimal(number.uint64Value))
      default: self = .integer(number.int64Value)
      }
    default: return nil
    }
  }

  /// The number as the nearest double.
  package var real: Double {
    switch self {
    case .integer(let value): Double(value)
    case .real(let value): value
    case .decimal(let value): DecimalConversion.double(value)
    }
  }

  /// The number without its fraction; nil if it is out of range or NaN.
  package var integer: Int64? {
    switch self {
    case .integer(let value): value
    case .real(let value): DecimalConversion.integer(value)
    case .decimal(let value): DecimalConversion.integer(value)
    }
  }

  /// The number as a decimal; nil if it is out of range.
  package var decimal: Decimal? {
    switch self {
    case .integer(let value): Decimal(value)
    case .real(let value): DecimalConversion.decimal(value)
    case .decimal(let value): value
    }
  }
}
