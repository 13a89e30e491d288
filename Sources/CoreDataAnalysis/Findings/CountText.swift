// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

/// Numbers in the messages of findings: the same in every language of the system.
enum CountText {
  /// `52,340`
  static func grouped(_ number: Int) -> String {
    var digits = ""
    for (position, digit) in String(number).reversed().enumerated() {
      if position > 0, position % 3 == 0 { digits.append(",") }
      digits.append(digit)
    }
    return String(digits.reversed())
  }

  /// `52,340 rows`, `1 row`
  static func counted(_ number: Int, _ noun: String) -> String {
    "\(grouped(number)) \(noun)\(number == 1 ? "" : "s")"
  }
}
