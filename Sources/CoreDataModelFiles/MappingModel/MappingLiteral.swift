// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataPredicates
import Foundation

/// Names and values in mapping models in text form.
enum MappingLiteral {
  struct Unreadable: Error {
    let found: String
  }

  /// The maximum depth of nested values.
  private static let deepest = 32

  // MARK: Writing

  /// Returns a name, quoted if it contains characters other than those of words.
  static func name(_ name: String) -> String {
    !name.isEmpty && name.allSatisfy(isWordCharacter) ? name : quoted(name)
  }

  /// Returns a string for the end of a line, quoted if it would otherwise be read differently.
  static func line(_ text: String) -> String {
    let isPlain =
      text.first != "\"" && !text.contains { $0.isNewline } && text == text.trimmingCharacters(in: .whitespaces)
    return isPlain ? text : quoted(text)
  }

  /// Returns a string quoted as in JSON.
  static func quoted(_ text: String) -> String {
    var result = "\""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\"": result += "\\\""
      case "\\": result += "\\\\"
      case "\n": result += "\\n"
      case "\r": result += "\\r"
      case "\t": result += "\\t"
      default:
        if scalar.value < 32 || scalar.value == 0x85 || scalar.value == 0x2028 || scalar.value == 0x2029 {
          let digits = String(scalar.value, radix: 16)
          result += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
        } else {
          result.unicodeScalars.append(scalar)
        }
      }
    }
    return result + "\""
  }

  /// Returns the text form of a user info value.
  /// - Throws: `ModelFileError` for an object of a class known only to an app.
  static func text(of value: PlainValue, place: String) throws -> String {
    switch value {
    case .null: return "null"
    case .boolean(let flag): return flag ? "true" : "false"
    case .integer(let number): return String(number)
    case .real(let number): return number.isFinite ? String(number) : "real(\(number))"
    case .decimal(let number): return "decimal(\(number))"
    case .string(let text): return quoted(text)
    case .date(let date): return "date(\(date.timeIntervalSinceReferenceDate))"
    case .data(let data): return "data(\(data.base64EncodedString()))"
    case .uuid(let uuid): return "uuid(\(uuid.uuidString))"
    case .url(let url): return "url(\(quoted(url.absoluteString)))"
    case .array(let elements): return "[\(try elements.map { try text(of: $0, place: place) }.joined(separator: ", "))]"
    case .set(let elements):
      return "set[\(try elements.map { try text(of: $0, place: place) }.sorted().joined(separator: ", "))]"
    case .dictionary(let entries):
      let sorted = try entries.sorted { $0.key < $1.key }.map {
        "\(quoted($0.key)): \(try text(of: $0.value, place: place))"
      }
      return "{\(sorted.joined(separator: ", "))}"
    case .object:
      throw ModelFileError(
        .unreadableValue, found: "The user info of \(place) contains an object of a class known only to the app.",
        advice: "Use numbers, strings, dates and the like.")
    }
  }

  /// Returns the value with the elements of sets in the order in which they are written.
  static func ordered(_ value: PlainValue) -> PlainValue {
    switch value {
    case .array(let elements): .array(elements.map(ordered))
    case .dictionary(let entries): .dictionary(entries.mapValues(ordered))
    case .set(let elements):
      // A value without a text form is rejected when it is written.
      .set(
        elements.map(ordered).sorted { ((try? text(of: $0, place: "")) ?? "") < ((try? text(of: $1, place: "")) ?? "") }
      )
    default: value
    }
  }

  // MARK: Reading

  private static func isWordCharacter(_ character: Character) -> Bool {
    character.isLetter || character.isNumber || "_.-".contains(character)
  }

  /// Returns a list of property names in its canonical form, `name, other`; nil if the text is not such a list.
  static func names(_ text: Substring) -> String? {
    let names = text.split(separator: ",", omittingEmptySubsequences: false)
      .map { $0.trimmingCharacters(in: .whitespaces) }
    guard names.allSatisfy({ !$0.isEmpty && $0.allSatisfy(isWordCharacter) }) else { return nil }
    return names.joined(separator: ", ")
  }

  /// Returns the name at the start of a text, and the remaining text.
  static func leadingName(_ text: Substring) throws -> (name: String, rest: Substring) {
    if text.first == "\"" {
      var rest = text
      return (try quotedText(&rest), rest)
    }
    // A name may contain the first character of an arrow, but not an arrow.
    var end = text.startIndex
    while end < text.endIndex, isWordCharacter(text[end]), !text[end...].hasPrefix("->") {
      end = text.index(after: end)
    }
    guard end > text.startIndex else { throw Unreadable(found: "A name is missing before \"\(text.prefix(20))\"") }
    return (String(text[..<end]), text[end...])
  }

  /// Returns the unquoted text if the whole line is quoted, otherwise nil.
  static func unquotedLine(_ line: String) throws -> String? {
    guard line.first == "\"" else { return nil }
    var rest = line[...]
    do {
      let text = try quotedText(&rest)
      return rest.isEmpty ? text : nil
    } catch is Unreadable {
      return nil
    }
  }

  /// Parses a value in text form.
  static func value(of text: String) throws -> PlainValue {
    var rest = text[...]
    let value = try value(&rest, depth: 0)
    skip(&rest)
    guard rest.isEmpty else { throw Unreadable(found: "\"\(rest.prefix(20))\" is not expected here") }
    return value
  }

  private static func skip(_ text: inout Substring) { text = text.drop { $0 == " " || $0 == "\t" } }

  private static func take(_ prefix: String, _ text: inout Substring) -> Bool {
    skip(&text)
    guard text.hasPrefix(prefix) else { return false }
    text = text.dropFirst(prefix.count)
    return true
  }

  private static func quotedText(_ text: inout Substring) throws -> String {
    var result = String.UnicodeScalarView()
    var scalars = text.unicodeScalars.dropFirst()
    while let scalar = scalars.popFirst() {
      if scalar == "\"" {
        text = Substring(scalars)
        return String(result)
      }
      guard scalar == "\\" else {
        result.append(scalar)
        continue
      }
      switch scalars.popFirst() {
      case "n": result.append("\n")
      case "r": result.append("\r")
      case "t": result.append("\t")
      case "u":
        guard let code = UInt32(String(String.UnicodeScalarView(scalars.prefix(4))), radix: 16),
          let scalar = Unicode.Scalar(code)
        else { throw Unreadable(found: "\\u is not followed by four hexadecimal digits") }
        scalars = scalars.dropFirst(4)
        result.append(scalar)
      case let other?: result.append(other)
      case nil: break
      }
    }
    throw Unreadable(found: "The closing quotation mark is missing")
  }

  private static func value(_ text: inout Substring, depth: Int) throws -> PlainValue {
    guard depth < deepest else { throw Unreadable(found: "Values are nested too deeply") }
    skip(&text)
    if text.first == "\"" { return .string(try quotedText(&text)) }
    if take("set[", &text) { return .set(try elements(&text, depth: depth)) }
    if take("[", &text) { return .array(try elements(&text, depth: depth)) }
    if take("{", &text) { return .dictionary(try entries(&text, depth: depth)) }
    for (word, value) in [("null", PlainValue.null), ("true", .boolean(true)), ("false", .boolean(false))] {
      if take(word, &text) { return value }
    }
    for (word, read) in wrapped where take(word + "(", &text) {
      let inner: String
      skip(&text)
      if text.first == "\"" {
        inner = try quotedText(&text)
      } else {
        inner = String(text.prefix { $0 != ")" })
        text = text.dropFirst(inner.count)
      }
      guard take(")", &text), let value = read(inner) else {
        throw Unreadable(found: "\(word)(\(inner.prefix(40))\(inner.count > 40 ? "…" : "")) is not a valid value")
      }
      return value
    }
    let number = text.prefix { "+-.eE".contains($0) || ($0.isASCII && $0.isNumber) }
    text = text.dropFirst(number.count)
    if let integer = Int64(number) { return .integer(integer) }
    if let real = Double(number) { return .real(real) }
    throw Unreadable(found: "\"\((number + text).prefix(40))\" is not a valid value")
  }

  private static let wrapped: [(String, @Sendable (String) -> PlainValue?)] = [
    ("real", { Double($0).map { .real($0) } }),
    ("decimal", { Decimal(string: $0, locale: Locale(identifier: "en_US_POSIX")).map { .decimal($0) } }),
    ("date", { Double($0).flatMap { $0.isFinite ? .date(Date(timeIntervalSinceReferenceDate: $0)) : nil } }),
    ("data", { Data(base64Encoded: $0).map { .data($0) } }), ("uuid", { UUID(uuidString: $0).map { .uuid($0) } }),
    ("url", { URL(string: $0).map { .url($0) } }),
  ]

  private static func elements(_ text: inout Substring, depth: Int) throws -> [PlainValue] {
    var result: [PlainValue] = []
    if take("]", &text) { return result }
    while true {
      result.append(try value(&text, depth: depth + 1))
      if take("]", &text) { return result }
      guard take(",", &text) else { throw Unreadable(found: "\",\" or \"]\" is missing") }
    }
  }

  private static func entries(_ text: inout Substring, depth: Int) throws -> [String: PlainValue] {
    var result: [String: PlainValue] = [:]
    if take("}", &text) { return result }
    while true {
      skip(&text)
      guard text.first == "\"" else { throw Unreadable(found: "A key is not quoted") }
      let key = try quotedText(&text)
      guard take(":", &text) else { throw Unreadable(found: "\":\" is missing") }
      result[key] = try value(&text, depth: depth + 1)
      if take("}", &text) { return result }
      guard take(",", &text) else { throw Unreadable(found: "\",\" or \"}\" is missing") }
    }
  }
}
