// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataPredicates
import Foundation

/// Default values and validation rules.
extension XCDataModelReader {
  func defaultValue(
    of element: XMLElementNode, kind: AttributeKind, entity: String?, property: String
  ) throws -> PlainValue? {
    if kind == .date, let text = element["defaultDateTimeInterval"] {
      guard let date = value(text, kind: .date) else {
        throw unreadable("defaultDateTimeInterval", text, "a number", element, entity: entity, property: property)
      }
      return date
    }
    guard let text = element.attributes["defaultValueString"] else { return nil }
    // An empty text is a value for strings only.
    guard kind == .string || !text.isEmpty else { return nil }
    guard let value = value(text, kind: kind) else {
      throw unreadable("defaultValueString", text, "a value of \(kind)", element, entity: entity, property: property)
    }
    return value
  }

  private func value(_ text: String, kind: AttributeKind) -> PlainValue? {
    switch kind {
    case .integer16, .integer32, .integer64:
      // Changing an attribute's type in Xcode leaves texts such as "0.0" behind.
      return (Int64(text) ?? Double(text).flatMap { Int64(exactly: $0.rounded(.towardZero)) }).map { .integer($0) }
    case .double, .float:
      return Double(text).map { .real($0) }
    case .decimal:
      return Decimal(string: text, locale: Locale(identifier: "en_US_POSIX")).map { .decimal($0) }
    case .boolean:
      switch text.lowercased() {
      case "yes", "true", "1": return .boolean(true)
      case "no", "false", "0": return .boolean(false)
      default: return nil
      }
    case .uuid:
      return UUID(uuidString: text).map { .uuid($0) }
    case .uri:
      return URL(string: text).map { .url($0) }
    case .date:
      guard let interval = Double(text), interval.isFinite else { return nil }
      return .date(Date(timeIntervalSinceReferenceDate: interval))
    case .binaryData:
      return Data(base64Encoded: text).map { .data($0) }
    case .string, .undefined, .transformable, .objectID, .composite:
      return .string(text)
    }
  }

  private func unreadable(
    _ attribute: String, _ text: String, _ wanted: String, _ element: XMLElementNode, entity: String?,
    property: String
  ) -> ModelFileError {
    ModelFileError(
      .unreadableValue, found: "\(attribute) is \"\(text)\", which is not \(wanted).", advice: "Correct it.",
      file: file, line: element.line, entity: entity, property: property)
  }

  /// The rules that an attribute's limits stand for, with the error codes that Core Data reports for them.
  func validations(
    of element: XMLElementNode, kind: AttributeKind, entity: String?, property: String
  ) throws -> [ValidationDocument] {
    var rules: [ValidationDocument] = []
    func add(
      _ attribute: String, _ kind: AttributeKind, _ left: ExpressionSyntax,
      _ comparison: ComparisonSyntax.Operator, _ code: Int64
    ) throws {
      guard let text = element[attribute] else { return }
      guard let limit = value(text, kind: kind) else {
        throw unreadable(attribute, text, "a value of \(kind)", element, entity: entity, property: property)
      }
      rules.append(
        ValidationDocument(
          predicate: .comparison(ComparisonSyntax(left, comparison, .constant(limit))), warning: .integer(code)))
    }

    switch kind {
    case .string:
      let length = ExpressionSyntax.keyPath("length")
      try add("minValueString", .integer64, length, .greaterThanOrEqualTo, ValidationCode.stringTooShort)
      try add("maxValueString", .integer64, length, .lessThanOrEqualTo, ValidationCode.stringTooLong)
      try add("regularExpressionString", .string, .evaluatedObject, .matches, ValidationCode.patternMismatch)
    case .date:
      try add("minDateTimeInterval", .date, .evaluatedObject, .greaterThanOrEqualTo, ValidationCode.dateTooSoon)
      try add("maxDateTimeInterval", .date, .evaluatedObject, .lessThanOrEqualTo, ValidationCode.dateTooLate)
    default:
      try add("minValueString", kind, .evaluatedObject, .greaterThanOrEqualTo, ValidationCode.numberTooSmall)
      try add("maxValueString", kind, .evaluatedObject, .lessThanOrEqualTo, ValidationCode.numberTooLarge)
    }
    return rules
  }
}

/// The codes of `NSValidation…Error` that compiled models name as warnings.
enum ValidationCode {
  static let numberTooLarge: Int64 = 1610
  static let numberTooSmall: Int64 = 1620
  static let dateTooLate: Int64 = 1630
  static let dateTooSoon: Int64 = 1640
  static let stringTooLong: Int64 = 1660
  static let stringTooShort: Int64 = 1670
  static let patternMismatch: Int64 = 1680
}
