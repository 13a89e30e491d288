// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import CoreDataAnalysis

@Suite("Values of an export")
struct ExportedValueTests {
  @Test(
    "Dates have six digits of a second, before 2001 too",
    arguments: [
      (0.0, "2001-01-01T00:00:00.000000Z"), (-0.25, "2000-12-31T23:59:59.750000Z"),
      (431_999_999.9999999, "2014-09-10T00:00:00.000000Z"), (-978_307_200, "1970-01-01T00:00:00.000000Z"),
      (-63_114_076_800, "0000-12-30T00:00:00.000000Z"), (36_732.123456, "2001-01-01T10:12:12.123456Z"),
    ])
  func dates(seconds: Double, text: String) {
    #expect(DateText.text(seconds) == text)
  }

  @Test("Dates agree with Foundation's formatter over four centuries")
  func datesLikeFoundation() {
    let formatter = ISO8601DateFormatter()
    for day in stride(from: -80_000, through: 80_000, by: 13) {
      let seconds = Double(day) * 86_400 + 4_321
      let expected = formatter.string(from: Date(timeIntervalSinceReferenceDate: seconds)).dropLast() + ".000000Z"
      #expect(DateText.text(seconds) == expected)
    }
  }

  @Test(
    "Decimals are written without an exponent and without loss",
    arguments: [
      (10.11, "10.11"), (1e-7, "0.0000001"), (-1.5e-10, "-0.00000000015"), (1e20, "100000000000000000000"),
      (1.25e21, "1250000000000000000000"), (3, "3"), (0.1, "0.1"),
    ])
  func decimals(value: Double, text: String) {
    #expect(DecimalText.plain(value) == text)
  }

  @Test(
    "Texts that are no decimal numbers are exported as they are",
    arguments: [
      "1e2147483647", "-1e-2147483648", "1e9223372036854775807", "1e-9223372036854775808", "1e401", "e", "1e", "e5",
    ])
  func hugeDecimals(text: String) {
    #expect(StoredValue.exported(.text(text), as: .decimal) == .decimal(text))
  }

  @Test("A value that cannot be of its kind is exported as what it is")
  func unexpected() {
    #expect(StoredValue.exported(.text("abc"), as: .integer32) == .string("abc"))
    #expect(StoredValue.exported(.blob(Data([1, 2])), as: .uuid) == .binary(Data([1, 2])))
    #expect(StoredValue.exported(.integer(7), as: .boolean) == .integer(7))
    #expect(StoredValue.exported(.integer(1), as: .boolean) == .boolean(true))
  }
}
