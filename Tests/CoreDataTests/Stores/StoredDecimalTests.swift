// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

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
        #expect(StoredDecimal.decimal(real: real) == decimal, "\(text)")
      case .integer(let number): #expect(Decimal(number) == decimal)
      default: Issue.record("\(text) is no number")
      }
    }
  }

  @Test("The smallest decimals are read with all digits that they can have")
  func small() {
    for (text, decimal) in [
      ("1.0e-128", "1e-128"), ("-1.5e-127", "-15e-128"), ("1.23456789012345e-121", "12345679e-128"),
      ("9.99e-129", "1e-128"),
      ("4e-129", "0"), ("4e-300", "0"),
    ] {
      #expect(StoredDecimal.decimal(text) == Decimal(string: decimal), "\(text)")
    }
  }

  @Test("The greatest and the least decimal can be read after they are stored")
  func limits() throws {
    for number in [NSDecimalNumber.maximum, .minimum] {
      guard case .real(let real) = StoredDecimal.number(number) else {
        Issue.record("\(number) is not stored as a real")
        continue
      }
      let read = try #require(StoredDecimal.decimal(real: real), "\(real)")
      #expect(abs(NSDecimalNumber(decimal: read).doubleValue / number.doubleValue - 1) < 1e-14)
    }
    #expect(StoredDecimal.decimal("3.5e165") == nil)
  }
}
