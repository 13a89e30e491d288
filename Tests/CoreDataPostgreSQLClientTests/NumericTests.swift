// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation
import PostgreSQLTestServer
import Testing

@testable import CoreDataPostgreSQLClient

@Suite("The binary format of numeric", .needsPostgreSQL)
struct NumericTests {
  private static let texts = [
    "0", "1", "-1", "9999", "10000", "10001", "-99999999", "0.1", "0.0001", "0.00001", "-0.00010000", "12.50",
    "100000.00001",
    "123456789012345678901234567890.123456789", "0.00", "1234567890123456789012345678901234567890",
    "99999999999999999999999999999999999999", "-0.99999999999999999999999999999999999999", "NaN", "Infinity",
    "-Infinity",
  ]

  @Test("Numbers go to the server and come back as text and as binary")
  func roundTrip() throws {
    let connection = try TestSchema.connection()
    for text in Self.texts {
      let rows = try connection.query("SELECT $1::numeric::text, $1::numeric", [.numeric(text)])
      #expect(rows.string(0, 0) == text)
      let back = rows.numericText(0, 1)
      if text.count > 38 {
        // With an exponent, or as it is: the same number.
        #expect(try connection.value("SELECT $1::numeric = $2::text::numeric", [.numeric(back), .text(text)]) == true)
      } else {
        #expect(back == text)
      }
    }
  }

  @Test("Exponents are written out by the server")
  func exponents() throws {
    let connection = try TestSchema.connection()
    for (text, expected) in [
      ("1e3", "1000"), ("1.5e-3", "0.0015"), ("12e0", "12"), ("-1E+2", "-100"), ("+7", "7"), (".5", "0.5"), ("5.", "5"),
      ("0e10", "0"),
    ] {
      #expect(try connection.value("SELECT $1::numeric::text", [.numeric(text)]) == .text(expected))
    }
  }

  @Test("Large powers of ten keep their value", arguments: [39, 40, 41, 42, 100, 127, -38, -39, -40, -41, -100, -128])
  func powers(_ exponent: Int) throws {
    let connection = try TestSchema.connection()
    let text = "-3e\(exponent)"
    let rows = try connection.query("SELECT $1::numeric = '\(text)'::numeric, $1::numeric", [.numeric(text)])
    #expect(rows.bool(0, 0))
    #expect(rows.numericText(0, 1).utf8.count <= 42)
    #expect(Decimal(string: rows.numericText(0, 1)) == Decimal(string: text))
  }

  @Test(
    "Texts that are no numbers are errors", arguments: ["", "-", "e5", "1e", "1.2.3", "abc", "1 ", "1e99999999", "--1"])
  func invalid(_ text: String) throws {
    let connection = try TestSchema.connection()
    let error = try postgreSQLError { _ = try connection.query("SELECT $1::numeric", [.numeric(text)]) }
    #expect(error.description.contains("is not a number"))
    #expect(try connection.value("SELECT 1") == .integer(1))
  }

  @Test("Decimals keep all digits by COPY")
  func decimals() throws {
    let connection = try TestSchema.connection("CREATE TABLE t (n bigint, d numeric)")
    var decimals: [Decimal] = [
      0, 1, -1, 0.1, 12.5, Decimal(string: "99999999999999999999999999999999999999")!, .nan, .pi,
      Decimal.greatestFiniteMagnitude, Decimal.leastNonzeroMagnitude,
      Decimal(sign: .minus, exponent: -3, significand: 5),
    ]
    var generator = SystemRandomNumberGenerator()
    for _ in 0..<500 {
      let mantissa = Decimal(UInt64.random(in: 0...UInt64.max, using: &generator))
      let exponent = Int.random(in: -100...60, using: &generator)
      decimals.append(Decimal(sign: Bool.random() ? .plus : .minus, exponent: exponent, significand: mantissa))
    }
    try connection.copyIn("t", columns: ["n", "d"]) { writer in
      for (position, decimal) in decimals.enumerated() {
        writer.beginRow(fieldCount: 2)
        writer.field(int64: Int64(position))
        writer.field(decimal: decimal)
      }
    }
    let rows = try connection.query("SELECT d, d::text FROM t ORDER BY n")
    try #require(rows.count == decimals.count)
    for (row, decimal) in decimals.enumerated() {
      if decimal.isNaN {
        #expect(rows.numericText(row, 0) == "NaN")
        continue
      }
      // The server's own text: independent of how this module reads numbers.
      let expected = NumericText("\(decimal.significand)e\(decimal.exponent)")
      let found = NumericText(rows.string(row, 1))
      #expect(found.map { plain($0) } == expected.map { plain($0) }, "\(decimal)")
      #expect(NumericText(rows.numericText(row, 0)).map { plain($0) } == expected.map { plain($0) }, "\(decimal)")
    }
  }

  /// The digits without zeros around them.
  private func plain(_ number: NumericText) -> String {
    var digits = number.digits[...]
    var exponent = number.exponent
    while digits.last == 0 {
      digits.removeLast()
      exponent += 1
    }
    while digits.first == 0 { digits.removeFirst() }
    return digits.isEmpty ? "0" : "\(digits.map(String.init).joined())e\(exponent)"
  }
}
