// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataPredicates
import CoreDataSQLite
import Foundation

/// Decimal numbers in SQLite columns: INTEGER, REAL, or the text `NaN`.
package enum StoredDecimal {
  /// Returns an INTEGER for an integer and a REAL for other numbers, like the affinity of a DECIMAL column.
  package static func number(_ decimal: NSDecimalNumber) -> SQLiteValue {
    let decimal = decimal.decimalValue
    if decimal.isNaN { return .text(DecimalConversion.notANumber) }
    if let integer = DecimalConversion.exactInteger(decimal) { return .integer(integer) }
    return .real(DecimalConversion.double(decimal))
  }

  /// Returns the object for a string made by `DecimalConversion.text(of:)`; nil for a string that is not a number.
  package static func object(_ text: String) -> NSDecimalNumber? {
    text == DecimalConversion.notANumber
      ? .notANumber : DecimalConversion.decimal(text).map { NSDecimalNumber(decimal: $0) }
  }

  /// Returns the object for a column's REAL; nil if no decimal represents it.
  package static func object(_ real: Double) -> NSDecimalNumber? {
    DecimalConversion.decimal(real).map { NSDecimalNumber(decimal: $0) }
  }
}
