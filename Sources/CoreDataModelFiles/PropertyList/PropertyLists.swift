// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Reads and writes property lists that are not archives: store metadata and the small files of model bundles.
///
/// Foundation's decoder trusts the bytes: a nested list of 600 bytes can take gigabytes, and a single wrong bit can
/// crash it. Here depth, size and the number of references are limited.
package enum PropertyLists {
  /// A value that cannot be written to a property list.
  package struct Unwritable: Error, Hashable, CustomStringConvertible {
    /// The keys leading to the value, joined by dots.
    package let path: String
    /// A description of the value.
    package let found: String

    package var description: String {
      "The value of '\(path)' is \(found). Use strings, numbers, dates, data, arrays or dictionaries in a property list."
    }
  }

  /// A property list that cannot be read.
  package struct Unreadable: Error, Hashable, CustomStringConvertible {
    package let description: String

    package init(description: String) {
      self.description = description
    }
  }

  /// Reads a binary or XML property list.
  ///
  /// - Throws: `Unreadable`.
  package static func value(of data: Data, limits: PropertyListLimits = .metadata) throws -> ArchiveValue {
    do {
      if data.starts(with: "bplist".utf8) { return try BinaryPropertyListReader.value(of: data, limits: limits) }
      let start = data.prefix(100).drop { [0xEF, 0xBB, 0xBF, 0x20, 0x09, 0x0A, 0x0D].contains($0) }
      guard start.first == UInt8(ascii: "<") else {
        throw Unreadable(description: "It is neither a binary nor an XML property list.")
      }
      return try XMLPropertyList.value(of: data, limits: limits)
    } catch let failure as ArchiveFailure {
      throw Unreadable(description: failure.found)
    } catch let error as ModelFileError {
      throw Unreadable(description: error.found)
    }
  }

  /// Reads a property list with a dictionary at its root, as values of Foundation's classes.
  ///
  /// - Throws: `Unreadable`.
  package static func dictionary(of data: Data) throws -> [String: Any] {
    guard case .dictionary(let entries) = try value(of: data) else {
      throw Unreadable(description: "The property list does not contain a dictionary.")
    }
    return try entries.mapValues { try $0.foundationValue() }
  }

  /// Writes a binary property list.
  ///
  /// - Throws: `Unwritable` for a value of another class, or one nested too deeply to be read back.
  package static func data(of dictionary: [String: Any]) throws -> Data {
    BinaryPropertyListWriter.data(of: try ArchiveValue(foundationValue: dictionary))
  }

  /// Writes a binary property list.
  package static func data(of value: ArchiveValue) -> Data { BinaryPropertyListWriter.data(of: value) }

  /// Reads a file that contains a dictionary.
  static func dictionary(at file: URL) throws -> [String: Any] {
    do {
      return try dictionary(of: ModelFile.read(file))
    } catch let error as Unreadable {
      throw ModelFileError(
        .unsupportedFile, found: "The property list cannot be read: \(error.description)",
        advice: "Restore the file from version control.", file: file)
    }
  }
}

/// Conversion to and from values of Foundation's classes.
extension ArchiveValue {
  /// Returns the value as `PropertyListSerialization` would.
  package func foundationValue() throws -> Any {
    switch self {
    case .boolean(let flag): flag
    case .integer(let number): NSNumber(value: number)
    case .unsigned(let number): NSNumber(value: number)
    case .real(let number): NSNumber(value: number)
    case .date(let date): date
    case .data(let data): data
    case .string(let text): text
    case .uid: throw PropertyLists.Unreadable(description: "It contains a reference of a keyed archive.")
    case .array(let elements): try elements.map { try $0.foundationValue() }
    case .dictionary(let entries): try entries.mapValues { try $0.foundationValue() }
    }
  }

  /// Converts a value that `PropertyListSerialization` could write.
  package init(foundationValue value: Any, path: [String] = []) throws {
    // Values nested more deeply could not be read back.
    guard path.count < BinaryPropertyListReader.deepest - 1 else {
      throw PropertyLists.Unwritable(path: path.prefix(5).joined(separator: ".") + "…", found: "nested too deeply")
    }
    func element(_ value: Any, _ key: String) throws -> ArchiveValue {
      try ArchiveValue(foundationValue: value, path: path + [key])
    }
    switch value {
    case let text as String: self = .string(text)
    case let date as Date: self = .date(date)
    case let data as Data: self = .data(data)
    case let number as NSNumber: self = ArchiveValue(number)
    case let elements as [Any]:
      self = .array(try elements.enumerated().map { try element($0.element, "\($0.offset)") })
    case let entries as [String: Any]:
      self = .dictionary(try Dictionary(uniqueKeysWithValues: entries.map { ($0.key, try element($0.value, $0.key)) }))
    default:
      throw PropertyLists.Unwritable(path: path.joined(separator: "."), found: "a \(type(of: value))")
    }
  }

  /// Converts a number as property lists and keyed archives represent it.
  package init(_ number: NSNumber) {
    // Compared by identity with the only two Boolean objects, because their type code is also that of a byte.
    if number === NSNumber(value: true) || number === NSNumber(value: false) {
      self = .boolean(number.boolValue)
      return
    }
    switch UInt8(bitPattern: number.objCType.pointee) {
    case UInt8(ascii: "f"), UInt8(ascii: "d"): self = .real(number.doubleValue)
    case UInt8(ascii: "Q"), UInt8(ascii: "L"):
      let value = number.uint64Value
      self = value > UInt64(Int64.max) ? .unsigned(value) : .integer(Int64(value))
    default: self = .integer(number.int64Value)
    }
  }
}

/// A value of a binary property list, including references between the objects of a keyed archive.
package enum ArchiveValue: Hashable, Sendable {
  case boolean(Bool)
  case integer(Int64)
  /// An integer above `Int64.max`.
  case unsigned(UInt64)
  case real(Double)
  case date(Date)
  case data(Data)
  case string(String)
  /// A reference to an object of the same archive, by position.
  case uid(Int)
  case array([ArchiveValue])
  case dictionary([String: ArchiveValue])
}

/// An error in a property list or a keyed archive.
struct ArchiveFailure: Error {
  let kind: ModelFileError.Kind
  let found: String

  /// Creates an error for damaged data.
  static func broken(_ found: String) -> ArchiveFailure {
    ArchiveFailure(kind: .brokenArchive, found: found)
  }

  /// Creates an error for a class that is unknown in its context.
  static func unknownClass(_ name: String, _ place: String) -> ArchiveFailure {
    ArchiveFailure(kind: .unknownClass, found: "The class \(name) is not supported as \(place).")
  }

  /// Returns the error to report to callers.
  func error(file: URL?) -> ModelFileError {
    let advice =
      kind == .unknownClass
      ? "Use the source of the model, or report the class." : "Restore the file from a good copy."
    return ModelFileError(kind, found: found, advice: advice, file: file)
  }
}

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
    return try value(ofRoot: XMLTreeReader.root(of: data, file: URL(fileURLWithPath: "property list")), limits: limits)
  }

  /// Returns the value of a property list that is part of an XML file.
  ///
  /// - Throws: `ArchiveFailure`.
  static func value(ofRoot root: XMLElementNode, limits: PropertyListLimits) throws -> ArchiveValue {
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
    // Days since 0000-03-01 of the Gregorian calendar. In a year that starts in March, the leap day comes last.
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
