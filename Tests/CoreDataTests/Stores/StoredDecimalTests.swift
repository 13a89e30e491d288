// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataPredicates
import Foundation
import Testing

@testable import CoreDataStoreFiles

@Suite("Decimal numbers in columns")
struct StoredDecimalTests {
  @Test("A decimal is stored as the nearest real, and read as it was")
  func reals() throws {
    var generator = SystemRandomNumberGenerator()
    var texts = ["49.1855", "1e-30", "-1e-30", "0.1", "-0.3", "10.11", "123456789012.345", "1e30", "1e127", "-1e-127"]
    for _ in 0..<5_000 {
      let digits = Int64.random(in: 1..<1_000_000_000_000_000, using: &generator)
      texts.append("\(digits)e\(Int.random(in: -40 ... -1, using: &generator))")
    }
    for text in texts {
      let decimal = try #require(Decimal(string: text))
      switch StoredDecimal.number(NSDecimalNumber(decimal: decimal)) {
      case .real(let real):
        #expect(real == Double(text))
        #expect(DecimalConversion.decimal(real) == decimal, "\(text)")
      case .integer(let number): #expect(Decimal(number) == decimal)
      default: Issue.record("\(text) is no number")
      }
    }
  }

  @Test("A decimal that a double holds with 16 or 17 digits is read with all of them")
  func manyDigits() throws {
    for text in ["123456789012345.67", "987654321012345.6", "9.876543210123456", "-0.1234567890123456", "1.7e-17"] {
      let decimal = try #require(Decimal(string: text))
      #expect(StoredDecimal.number(NSDecimalNumber(decimal: decimal)) == .real(Double(text) ?? 0))
      #expect(DecimalConversion.decimal(Double(text) ?? 0) == decimal, "\(text)")
    }
  }

  @Test("A real that Foundation has made of a decimal is that decimal")
  func inexact() throws {
    var inexact = 0
    for cents in 1...2_000 {
      let decimal = Decimal(cents) / 10_000
      let real = NSDecimalNumber(decimal: decimal).doubleValue
      if real != Double("\(decimal)") { inexact += 1 }
      #expect(DecimalConversion.decimal(real) == decimal, "\(decimal)")
    }
    #expect(inexact > 100)
    // A double of that kind that Foundation makes of no decimal with few digits.
    #expect(DecimalConversion.decimal(0.1 + 0.2) == Decimal(string: "0.30000000000000004"))
  }

  @Test("Decimals and doubles become integers without their fraction, or not at all")
  func integers() {
    for (text, integer) in [
      ("9007199254740993", 9_007_199_254_740_993), ("-9223372036854775808.9", Int64.min),
      ("9223372036854775807.99", Int64.max),
      ("9223372036854775808", nil), ("-0.99", 0), ("12e3", 12_000), ("1e30", nil), ("1e-100", 0), ("1e38", nil),
    ] as [(String, Int64?)] {
      #expect(DecimalConversion.integer(Decimal(string: text) ?? .nan) == integer, "\(text)")
    }
    #expect(DecimalConversion.integer(Decimal.nan) == nil && DecimalConversion.integer(Double.nan) == nil)
    #expect(DecimalConversion.integer(9.3e18) == nil && DecimalConversion.integer(-1.9) == -1)
  }

  @Test("The smallest decimals are read with all digits that they can have")
  func small() {
    for (text, decimal) in [
      ("1.0e-128", "1e-128"), ("-1.5e-127", "-15e-128"), ("1.23456789012345e-121", "12345679e-128"),
      ("9.99e-129", "1e-128"),
      ("4e-129", "0"), ("4e-300", "0"),
    ] {
      #expect(DecimalConversion.decimal(text) == Decimal(string: decimal), "\(text)")
    }
  }

  @Test("The greatest and the least decimal can be read after they are stored")
  func limits() throws {
    for number in [NSDecimalNumber.maximum, .minimum] {
      guard case .real(let real) = StoredDecimal.number(number) else {
        Issue.record("\(number) is not stored as a real")
        continue
      }
      let read = try #require(DecimalConversion.decimal(real), "\(real)")
      #expect(abs(NSDecimalNumber(decimal: read).doubleValue / number.doubleValue - 1) < 1e-14)
    }
    #expect(DecimalConversion.decimal("3.5e165") == nil)
  }
}
