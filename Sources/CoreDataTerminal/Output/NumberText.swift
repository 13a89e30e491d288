// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Numbers for people, the same in every language of the system.
package enum NumberText {
  /// The number with a comma after every three digits, as `52,340`.
  package static func grouped(_ number: Int) -> String {
    let digits = String(number.magnitude)
    var result = number < 0 ? "-" : ""
    for (index, digit) in digits.enumerated() {
      if index > 0, (digits.count - index) % 3 == 0 { result.append(",") }
      result.append(digit)
    }
    return result
  }

  /// A number and its noun, as `1 row` and `1,204 rows`.
  package static func counted(_ number: Int, _ singular: String, _ plural: String? = nil) -> String {
    "\(grouped(number)) \(number == 1 ? singular : plural ?? singular + "s")"
  }

  /// A size in units of a thousand, as `97 MB` and `1.5 kB`: one decimal below ten, none above.
  package static func bytes(_ count: Int) -> String {
    guard count >= 1000 else { return count == 1 ? "1 byte" : "\(count) bytes" }
    let units = ["kB", "MB", "GB", "TB", "PB", "EB"]
    var scale = 1
    var unit = 0
    // Rounding can make a thousand of one unit, which is one of the next.
    while unit + 1 < units.count, count / (scale * 100) >= 9995 {
      scale *= 1000
      unit += 1
    }
    let tenths = (count / (scale * 10) + 5) / 10
    guard tenths >= 100 else {
      return tenths % 10 == 0 ? "\(tenths / 10) \(units[unit])" : "\(tenths / 10).\(tenths % 10) \(units[unit])"
    }
    return "\((count / scale + 500) / 1000) \(units[unit])"
  }
}
