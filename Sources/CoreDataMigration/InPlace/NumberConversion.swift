// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles

/// Conditions in SQL for stored numbers that another kind of numbers does not hold as they are.
package struct NumberConversion {
  private let column: String
  private let old: AttributeKind
  private let new: AttributeKind

  /// - Parameter column: the column, quoted.
  package init(column: String, from old: AttributeKind, to new: AttributeKind) {
    self.column = column
    self.old = old
    self.new = new
  }

  private var isReal: Bool { [.double, .float, .decimal].contains(old) }
  private var areNumbers: Bool { old != new && old.isNumeric && new.isNumeric && old != .boolean }

  /// The values that the new kind cannot hold, so that a migration refuses them; nil where it holds all.
  package var refused: String? {
    guard areNumbers else { return nil }
    var conditions: [String] = []
    // A decimal that is no number stands there as text.
    if old == .decimal { conditions.append("typeof(\(column)) = 'text'") }
    switch new {
    case .integer16: conditions.append("\(column) >= 32768 OR \(column) <= -32769")
    case .integer32 where old != .integer16: conditions.append("\(column) >= 2147483648 OR \(column) <= -2147483649")
    case .integer64 where isReal:
      conditions.append("\(column) >= 9223372036854775808.0 OR \(column) < -9223372036854775808.0")
    case .float where old == .double || old == .decimal:
      conditions.append("ABS(\(column)) > 3.4028235677973366e38 AND ABS(\(column)) <= 1.7976931348623157e308")
    // A decimal has 38 digits, shifted by up to 127.
    case .decimal where isReal: conditions.append("ABS(\(column)) >= 1e165")
    default: break
    }
    return conditions.isEmpty ? nil : conditions.map { "(\($0))" }.joined(separator: " OR ")
  }

  /// The values that become other numbers: without their fractions, rounded, or as Booleans; nil where there can be none.
  package var changed: String? {
    guard areNumbers, let condition = changes else { return nil }
    return refused.map { "(\(condition)) AND NOT IFNULL(\($0), 0)" } ?? condition
  }

  private var changes: String? {
    let isWhole = [.integer16, .integer32, .integer64].contains(old)
    switch new {
    case .boolean: return "\(column) NOT IN (0, 1)"
    case .integer16, .integer32, .integer64: return isReal ? "CAST(\(column) AS INTEGER) <> \(column)" : nil
    case .float where old != .integer16:
      let real = "CAST(\(column) AS REAL)"
      // Multiplying by 2^29 + 1 and subtracting leaves the 24 digits of a Float of the 53 of a Double.
      let rounded = "(\(real) * 536870913.0 - (\(real) * 536870913.0 - \(real)))"
      let isRounded = "\(rounded) <> \(real)"
      return isWhole ? "\(isRounded) OR CAST(\(real) AS INTEGER) <> \(column)" : isRounded
    case .double where old == .integer64: return "CAST(CAST(\(column) AS REAL) AS INTEGER) <> \(column)"
    default: return nil
    }
  }
}
