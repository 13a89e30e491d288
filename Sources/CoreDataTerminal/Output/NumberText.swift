// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Numbers for people, independent of the system's language.
package enum NumberText {
  /// Returns a number with thousands separators, such as `52,340`.
  package static func grouped(_ number: Int) -> String {
    let digits = String(number.magnitude)
    var result = number < 0 ? "-" : ""
    for (index, digit) in digits.enumerated() {
      if index > 0, (digits.count - index) % 3 == 0 { result.append(",") }
      result.append(digit)
    }
    return result
  }

  /// Returns a number with its noun, such as `1 row` or `1,204 rows`.
  package static func counted(_ number: Int, _ singular: String, _ plural: String? = nil) -> String {
    "\(grouped(number)) \(number == 1 ? singular : plural ?? singular + "s")"
  }

  /// Returns a size in decimal units, such as `97 MB` or `1.5 kB`, with one decimal below ten and none above.
  package static func bytes(_ count: Int) -> String {
    guard count >= 1000 else { return count == 1 ? "1 byte" : "\(count) bytes" }
    let units = ["kB", "MB", "GB", "TB", "PB", "EB"]
    var scale = 1
    var unit = 0
    // Rounding can yield a thousand of one unit, which is one of the next.
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

  /// Returns bytes as hexadecimal digits.
  package static func hexadecimal(_ bytes: Data) -> String {
    let digits = Array("0123456789abcdef")
    return String(bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] })
  }
}
