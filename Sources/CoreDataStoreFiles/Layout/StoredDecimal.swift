// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataPredicates
import CoreDataSQLite
import Foundation

/// Decimal numbers in columns of SQLite: integers, reals, or the text `NaN`.
package enum StoredDecimal {
  /// Returns integers as integers and other numbers as reals, like the affinity of a DECIMAL column.
  package static func number(_ decimal: NSDecimalNumber) -> SQLiteValue {
    let decimal = decimal.decimalValue
    if decimal.isNaN { return .text(DecimalConversion.notANumber) }
    if let integer = DecimalConversion.exactInteger(decimal) { return .integer(integer) }
    return .real(DecimalConversion.double(decimal))
  }

  /// Returns the object for a text that `DecimalConversion.text(of:)` has made; nil for any text that is no number.
  package static func object(_ text: String) -> NSDecimalNumber? {
    text == DecimalConversion.notANumber
      ? .notANumber : DecimalConversion.decimal(text).map { NSDecimalNumber(decimal: $0) }
  }

  /// Returns the object for the real of a column; nil for a number that no decimal can be.
  package static func object(_ real: Double) -> NSDecimalNumber? {
    DecimalConversion.decimal(real).map { NSDecimalNumber(decimal: $0) }
  }
}
