// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataPredicates
import Foundation

/// Converts default values to the type of their attribute. Changing the type in Xcode leaves the old value in the file
/// as text, and Apple's tools read it as the new type.
enum DefaultValues {
  /// Returns a value converted to a type, or nil if it has no equivalent.
  ///
  /// Strings are converted as in Foundation: a number is the number at the start of the string, or 0 if there is none,
  /// and a Boolean is true for a string that begins with `Y`, `T` or a digit other than 0. Apple's compiler turns `NO`
  /// into 0 in an Integer 32 attribute.
  static func fitted(_ value: PlainValue, to kind: AttributeKind) -> PlainValue? {
    switch kind {
    case .undefined, .transformable, .objectID, .composite: value
    case .integer16, .integer32, .integer64: integer(value).map { .integer($0) }
    case .double, .float: real(value).map { .real($0) }
    case .decimal: decimal(value).map { .decimal($0) }
    case .boolean: boolean(value).map { .boolean($0) }
    case .string: text(value).map { .string($0) }
    case .date: date(value).map { .date($0) }
    case .binaryData: if case .data = value { value } else { nil }
    case .uuid: uuid(value).map { .uuid($0) }
    case .uri: url(value).map { .url($0) }
    }
  }

  /// Returns a value converted to the type of an attribute. Parts of a composite value are converted to the types of
  /// its elements, and those without an equivalent are omitted.
  static func fitted(_ value: PlainValue, to attribute: AttributeDocument) -> PlainValue? {
    guard case .dictionary(let values) = value, attribute.kind == .composite else {
      return fitted(value, to: attribute.kind)
    }
    var result = values
    for element in attribute.elements {
      result[element.name] = values[element.name].flatMap { part in
        let fitted = part == .null ? nil : fitted(part, to: element)
        return isAlike(part, fitted) ? part : fitted
      }
    }
    return .dictionary(result)
  }

  /// Whether a converted value is equivalent to the original. Archives do not distinguish 0 from 0.0 or `false`.
  static func isAlike(_ value: PlainValue, _ fitted: PlainValue?) -> Bool {
    if value == fitted { return true }
    switch (value, fitted) {
    case (.integer, .boolean), (.boolean, .integer), (.integer, .real), (.integer, .decimal), (.boolean, .real),
      (.boolean, .decimal):
      return true
    case (.real(let old), .integer(let new)?): return old == Double(new)
    case (.decimal(let old), .integer(let new)?): return old == Decimal(new)
    case (.real, .decimal), (.decimal, .real), (.real, .boolean), (.decimal, .boolean): return true
    default: return false
    }
  }

  private static func integer(_ value: PlainValue) -> Int64? {
    switch value {
    case .boolean(let flag): flag ? 1 : 0
    case .integer(let number): number
    case .real(let number): DecimalConversion.integer(number)
    case .decimal(let number): DecimalConversion.integer(number)
    case .string(let text): Int64(text) ?? Int64(exactly: leadingNumber(text).rounded(.towardZero))
    default: nil
    }
  }

  private static func real(_ value: PlainValue) -> Double? {
    switch value {
    case .boolean(let flag): flag ? 1 : 0
    case .integer(let number): Double(number)
    case .real(let number): number
    case .decimal(let number): DecimalConversion.double(number)
    case .string(let text): leadingNumber(text)
    default: nil
    }
  }

  private static func decimal(_ value: PlainValue) -> Decimal? {
    switch value {
    case .boolean(let flag): flag ? 1 : 0
    case .integer(let number): Decimal(number)
    case .real(let number): DecimalConversion.decimal(number)
    case .decimal(let number): number
    case .string(let text): Decimal(string: String(numberPrefix(text)), locale: Locale(identifier: "en_US_POSIX")) ?? 0
    default: nil
    }
  }

  private static func boolean(_ value: PlainValue) -> Bool? {
    switch value {
    case .boolean(let flag): flag
    case .integer(let number): number != 0
    case .real(let number): number != 0
    case .decimal(let number): number != 0
    case .string(let text):
      text.drop { $0.isWhitespace || "+-0".contains($0) }.first.map { "YyTt123456789".contains($0) } ?? false
    default: nil
    }
  }

  private static func text(_ value: PlainValue) -> String? {
    switch value {
    case .string(let text): text
    case .boolean(let flag): flag ? "1" : "0"
    case .integer(let number): String(number)
    case .real(let number): String(number)
    case .decimal(let number): number.description
    case .uuid(let uuid): uuid.uuidString
    case .url(let url): url.absoluteString
    default: nil
    }
  }

  private static func date(_ value: PlainValue) -> Date? {
    let interval: Double? =
      switch value {
      case .date(let date): date.timeIntervalSinceReferenceDate
      case .integer(let number): Double(number)
      case .real(let number): number
      case .string(let text): Double(text)
      default: nil
      }
    return interval.flatMap { $0.isFinite ? Date(timeIntervalSinceReferenceDate: $0) : nil }
  }

  private static func uuid(_ value: PlainValue) -> UUID? {
    switch value {
    case .uuid(let uuid): uuid
    case .string(let text): UUID(uuidString: text)
    default: nil
    }
  }

  private static func url(_ value: PlainValue) -> URL? {
    switch value {
    case .url(let url): url
    case .string(let text): URL(string: text)
    default: nil
    }
  }

  /// Returns the number at the start of a string, or 0 if there is none or it is not finite.
  private static func leadingNumber(_ text: String) -> Double {
    let number = Double(String(numberPrefix(text))) ?? 0
    return number.isFinite ? number : 0
  }

  /// Returns the number at the start of a string, without an exponent and leading white space; empty if there is none.
  private static func numberPrefix(_ text: String) -> Substring {
    let start = text.drop { $0.isWhitespace }
    var end = start.startIndex
    if start.first == "-" || start.first == "+" { end = start.index(after: end) }
    var hasPoint = false
    while end < start.endIndex {
      let character = start[end]
      guard (character.isASCII && character.isNumber) || (character == "." && !hasPoint) else { break }
      hasPoint = hasPoint || character == "."
      end = start.index(after: end)
    }
    return start[..<end]
  }
}
