// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataPredicates
import Foundation

/// Default values and validation rules.
extension XCDataModelReader {
  func defaultValue(
    of element: XMLElementNode, kind: AttributeKind, entity: String?, property: String
  ) -> PlainValue? {
    if kind == .date, let text = element["defaultDateTimeInterval"] {
      if let date = value(text, kind: .date) { return date }
      return passOver("defaultDateTimeInterval", text, "a number", nil, element, entity: entity, property: property)
    }
    guard let text = element.attributes["defaultValueString"] else { return nil }
    // An empty text is a value for strings only.
    guard kind == .string || !text.isEmpty else { return nil }
    if let value = value(text, kind: kind) { return value }
    return passOver(
      "defaultValueString", text, "a value of the type \(kind)", DefaultValues.fitted(.string(text), to: kind), element,
      entity: entity, property: property)
  }

  /// Takes what stands in for a value that cannot be read, and warns of it.
  private func passOver(
    _ attribute: String, _ text: String, _ wanted: String, _ value: PlainValue?, _ element: XMLElementNode,
    entity: String?, property: String
  ) -> PlainValue? {
    let taken =
      switch value {
      case .boolean(let flag)?: "\(flag ? "true" : "false") is taken."
      case .integer(let number)?: "\(number) is taken."
      case .real(let number)?: "\(number) is taken."
      case .decimal(let number)?: "\(number) is taken."
      default: "It is passed over."
      }
    warnings.add(
      ModelFileError(
        .unreadableValue, found: "\(attribute) is \"\(text)\", which is not \(wanted). \(taken)",
        advice: "Correct it in the model.", file: file, line: element.line, entity: entity, property: property))
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

  /// The rules that an attribute's limits stand for, with the error codes that Core Data reports for them.
  func validations(
    of element: XMLElementNode, kind: AttributeKind, entity: String?, property: String
  ) -> [ValidationDocument] {
    var rules: [ValidationDocument] = []
    func add(
      _ attribute: String, _ kind: AttributeKind, _ left: ExpressionSyntax,
      _ comparison: ComparisonSyntax.Operator, _ code: Int64
    ) {
      guard let text = element[attribute] else { return }
      guard let limit = value(text, kind: kind) else {
        // A limit that was made up could refuse values that are right.
        _ = passOver(
          attribute, text, "a value of the type \(kind)", nil, element, entity: entity, property: property)
        return
      }
      rules.append(
        ValidationDocument(
          predicate: .comparison(ComparisonSyntax(left, comparison, .constant(limit))), warning: .integer(code)))
    }

    switch kind {
    case .string:
      let length = ExpressionSyntax.keyPath("length")
      add("minValueString", .integer64, length, .greaterThanOrEqualTo, ValidationCode.stringTooShort)
      add("maxValueString", .integer64, length, .lessThanOrEqualTo, ValidationCode.stringTooLong)
      add("regularExpressionString", .string, .evaluatedObject, .matches, ValidationCode.patternMismatch)
    case .date:
      add("minDateTimeInterval", .date, .evaluatedObject, .greaterThanOrEqualTo, ValidationCode.dateTooSoon)
      add("maxDateTimeInterval", .date, .evaluatedObject, .lessThanOrEqualTo, ValidationCode.dateTooLate)
    default:
      add("minValueString", kind, .evaluatedObject, .greaterThanOrEqualTo, ValidationCode.numberTooSmall)
      add("maxValueString", kind, .evaluatedObject, .lessThanOrEqualTo, ValidationCode.numberTooLarge)
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
