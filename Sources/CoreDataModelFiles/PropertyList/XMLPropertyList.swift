// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Reads XML property lists, within the limits of `XMLTreeReader`.
struct XMLPropertyList {
  private let limits: PropertyListLimits

  /// Returns the value of a property list.
  ///
  /// - Throws: `ArchiveFailure`; `ModelFileError` if the XML cannot be read.
  static func value(of data: Data, limits: PropertyListLimits) throws -> ArchiveValue {
    guard data.count <= limits.bytes else {
      throw ArchiveFailure.broken("The property list has \(data.count) bytes; at most \(limits.bytes) are read.")
    }
    let root = try XMLTreeReader.root(of: data, file: URL(fileURLWithPath: "property list"))
    guard root.name == "plist" else {
      throw ArchiveFailure.broken("The root element is <\(root.name.prefix(40))> instead of <plist>.")
    }
    guard root.children.count == 1 else {
      throw ArchiveFailure.broken("The property list contains \(root.children.count) values instead of one.")
    }
    return try XMLPropertyList(limits: limits).value(of: root.children[0])
  }

  private func value(of element: XMLElementNode) throws -> ArchiveValue {
    let text = element.text
    switch element.name {
    case "string": return .string(text)
    case "true": return .boolean(true)
    case "false": return .boolean(false)
    case "integer": return try integer(text, element)
    case "real":
      guard let number = Double(text.trimmingCharacters(in: .whitespacesAndNewlines)) else {
        throw broken("<real>", text, element)
      }
      return .real(number)
    case "date":
      guard let date = Self.date(text.trimmingCharacters(in: .whitespacesAndNewlines)) else {
        throw broken("<date>", text, element)
      }
      return .date(date)
    case "data":
      guard let data = Data(base64Encoded: text.filter { !$0.isWhitespace }) else {
        throw broken("<data>", text, element)
      }
      return .data(data)
    case "array": return .array(try element.children.map { try value(of: $0) })
    case "dict": return try dictionary(element)
    default:
      throw ArchiveFailure.broken("Line \(element.line) has the unknown element <\(element.name.prefix(40))>.")
    }
  }

  private func dictionary(_ element: XMLElementNode) throws -> ArchiveValue {
    guard element.children.count.isMultiple(of: 2) else {
      throw ArchiveFailure.broken("The dictionary in line \(element.line) has a key without a value.")
    }
    var entries: [String: ArchiveValue] = [:]
    for position in stride(from: 0, to: element.children.count, by: 2) {
      let key = element.children[position]
      guard key.name == "key" else {
        throw ArchiveFailure.broken("Line \(key.line) has <\(key.name.prefix(40))> instead of <key>.")
      }
      guard entries.updateValue(try value(of: element.children[position + 1]), forKey: key.text) == nil else {
        throw ArchiveFailure.broken("The dictionary in line \(element.line) has the key \(key.text.prefix(100)) twice.")
      }
    }
    return .dictionary(entries)
  }

  private func integer(_ text: String, _ element: XMLElementNode) throws -> ArchiveValue {
    var digits = text.trimmingCharacters(in: .whitespacesAndNewlines)[...]
    let isNegative = digits.first == "-"
    if isNegative || digits.first == "+" { digits = digits.dropFirst() }
    let isHexadecimal = digits.lowercased().hasPrefix("0x")
    if isHexadecimal { digits = digits.dropFirst(2) }
    guard digits.first != "-", digits.first != "+", let magnitude = UInt64(digits, radix: isHexadecimal ? 16 : 10)
    else {
      throw broken("<integer>", text, element)
    }
    if !isNegative { return Int64(exactly: magnitude).map { .integer($0) } ?? .unsigned(magnitude) }
    guard magnitude <= UInt64(Int64.max) + 1 else { throw broken("<integer>", text, element) }
    return .integer(Int64(truncatingIfNeeded: 0 &- magnitude))
  }

  /// Parses a date such as `2026-01-31T12:00:00Z`, without Foundation's formatters, which accept years that overflow.
  static func date(_ text: String) -> Date? {
    let bytes = Array(text.utf8)
    guard bytes.count == 20, bytes[4] == UInt8(ascii: "-"), bytes[7] == UInt8(ascii: "-"),
      bytes[10] == UInt8(ascii: "T"),
      bytes[13] == UInt8(ascii: ":"), bytes[16] == UInt8(ascii: ":"), bytes[19] == UInt8(ascii: "Z")
    else { return nil }
    func number(_ range: Range<Int>) -> Int? {
      guard bytes[range].allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }) else { return nil }
      return bytes[range].reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) }
    }
    guard let year = number(0..<4), let month = number(5..<7), let day = number(8..<10), let hour = number(11..<13),
      let minute = number(14..<16), let second = number(17..<19), (1...12).contains(month), (1...31).contains(day),
      hour < 24, minute < 60, second < 61
    else { return nil }
    // Days since 0000-03-01 of the Gregorian calendar: a year that starts in March ends with the leap day.
    let shifted = month < 3 ? year - 1 : year
    let era = shifted >= 0 ? shifted / 400 : -1
    let yearOfEra = shifted - era * 400
    let dayOfYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1
    let days = era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
    // 2001-01-01 is day 730,791 of this count.
    return Date(timeIntervalSinceReferenceDate: Double((days - 730_791) * 86400 + hour * 3600 + minute * 60 + second))
  }

  private func broken(_ what: String, _ text: String, _ element: XMLElementNode) -> ArchiveFailure {
    ArchiveFailure.broken("Line \(element.line) has a \(what) that cannot be read: \"\(text.prefix(100))\".")
  }
}
