// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

/// Formats numbers for messages of findings, independently of the system's language.
enum CountText {
  /// Returns a number with grouped digits, such as `52,340`.
  static func grouped(_ number: Int) -> String {
    var digits = ""
    for (position, digit) in String(number).reversed().enumerated() {
      if position > 0, position % 3 == 0 { digits.append(",") }
      digits.append(digit)
    }
    return String(digits.reversed())
  }

  /// Returns a number with a noun, such as `52,340 rows` or `1 row`.
  static func counted(_ number: Int, _ noun: String) -> String {
    "\(grouped(number)) \(noun)\(number == 1 ? "" : "s")"
  }
}
