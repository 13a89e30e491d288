// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

extension DateText {
  /// Returns the seconds since the start of 2001 of a date in ISO 8601, as `text(_:)` writes it: `2014-09-09`,
  /// `2014-09-09T18:43:05Z`, `2014-09-09T18:43:05.261936+02:00`. Without a time it is midnight, without a time zone it is
  /// in UTC.
  ///
  /// - Returns: nil for any other text, and for a day or a time that does not exist.
  package static func seconds(_ text: String) -> Double? {
    var rest = Scanner(bytes: Array(text.utf8))
    guard let seconds = rest.date(), rest.isAtEnd else {
      // How `text(_:)` writes dates that no calendar can name.
      guard let number = Double(text), !number.isNaN, abs(number) >= 1e14 else { return nil }
      return number
    }
    return seconds
  }

  /// Reads the parts of a date.
  private struct Scanner {
    let bytes: [UInt8]
    var position = 0

    var isAtEnd: Bool { position == bytes.count }

    private var next: UInt8? { isAtEnd ? nil : bytes[position] }

    /// Takes the next character if it is one of these.
    private mutating func take(_ characters: StaticString) -> UInt8? {
      guard let byte = next, characters.withUTF8Buffer({ $0.contains(byte) }) else { return nil }
      position += 1
      return byte
    }

    /// Takes as many digits as allowed; nil if they are fewer.
    private mutating func digits(_ count: ClosedRange<Int>) -> Int64? {
      var value: Int64 = 0
      let start = position
      while position - start < count.upperBound, let byte = next, (0x30...0x39).contains(byte) {
        value = value * 10 + Int64(byte - 0x30)
        position += 1
      }
      return position - start >= count.lowerBound ? value : nil
    }

    mutating func date() -> Double? {
      let sign = take("+-")
      guard let years = digits(sign == nil ? 4...4 : 4...9), take("-") != nil, let month = digits(2...2),
        take("-") != nil, let day = digits(2...2)
      else { return nil }
      let year = sign == UInt8(ascii: "-") ? -years : years
      guard (1...12).contains(month), (1...DateText.days(in: month, of: year)).contains(day) else { return nil }
      let midnight = Double(DateText.daysSince1970(year, month, day) - DateText.epochDays) * 86_400
      if isAtEnd { return midnight }
      guard take("T ") != nil, let hour = digits(2...2), take(":") != nil, let minute = digits(2...2) else {
        return nil
      }
      var (second, fraction): (Int64, Double) = (0, 0)
      if take(":") != nil {
        guard let found = digits(2...2) else { return nil }
        second = found
        if take(".,") != nil {
          let start = position
          while digits(1...1) != nil {}
          guard position > start else { return nil }
          fraction = Double("0." + String(decoding: bytes[start..<position], as: UTF8.self)) ?? 0
        }
      }
      guard hour < 24, minute < 60, second < 60, let zone = zone() else { return nil }
      return midnight + Double(hour * 3600 + minute * 60 + second - zone) + fraction
    }

    /// Takes a time zone, and returns its distance from UTC in seconds; 0 if there is none.
    private mutating func zone() -> Int64? {
      if isAtEnd || take("Zz") != nil { return 0 }
      guard let sign = take("+-"), let hours = digits(2...2) else { return nil }
      _ = take(":")
      guard let minutes = digits(2...2), hours < 24, minutes < 60 else { return nil }
      return (hours * 3600 + minutes * 60) * (sign == UInt8(ascii: "-") ? -1 : 1)
    }
  }

  fileprivate static func days(in month: Int64, of year: Int64) -> Int64 {
    switch month {
    case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
    case 4, 6, 9, 11: 30
    default: 31
    }
  }

  /// The inverse of `civil(daysSince1970:)`.
  fileprivate static func daysSince1970(_ year: Int64, _ month: Int64, _ day: Int64) -> Int64 {
    let year = month <= 2 ? year - 1 : year
    let era = (year >= 0 ? year : year - 399) / 400
    let yearOfEra = year - era * 400
    let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
    return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
  }
}
