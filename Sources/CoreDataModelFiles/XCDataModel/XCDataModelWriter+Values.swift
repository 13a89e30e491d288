// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataPredicates
import Foundation

/// Default values and validation rules.
extension XCDataModelWriter {
  func setValues(of attribute: AttributeDocument, entity: String, in element: inout XMLOutput) throws {
    func unsayable(_ found: String, _ advice: String) -> ModelFileError {
      Self.unsayable(found, advice, entity: entity, property: attribute.name)
    }
    var limits: [String: String] = [:]
    for rule in attribute.validations {
      guard let (name, text) = Self.limit(rule, of: attribute.kind), limits.updateValue(text, forKey: name) == nil
      else {
        throw unsayable(
          "A validation rule is not one of those that the model editor offers.", "Check it in the class of the entity.")
      }
    }
    for name in ["minValueString", "maxValueString", "minDateTimeInterval", "maxDateTimeInterval"] {
      element.set(name, limits[name])
    }
    if let value = attribute.defaultValue {
      guard let text = Self.text(of: value, kind: attribute.kind) else {
        throw unsayable("The default value is no \(attribute.kind).", "Set it in the class of the entity.")
      }
      element.set(attribute.kind == .date ? "defaultDateTimeInterval" : "defaultValueString", text)
    }
    element.set("regularExpressionString", limits["regularExpressionString"])
  }

  /// The text of an attribute's default value; nil where it has none, or none that a text can say.
  static func defaultText(of attribute: AttributeDocument) -> String? {
    attribute.defaultValue.flatMap { text(of: $0, kind: attribute.kind) }
  }

  /// The text of a value; nil where the type has no texts for it.
  private static func text(of value: PlainValue, kind: AttributeKind) -> String? {
    switch (kind, value) {
    case (.integer16, .integer(let number)), (.integer32, .integer(let number)), (.integer64, .integer(let number)):
      return "\(number)"
    case (.double, .real(let number)), (.float, .real(let number)):
      return "\(number)"
    case (.decimal, .decimal(let number)):
      let text = "\(number)"
      return text.contains(".") ? text : text + ".0"
    case (.boolean, .boolean(let flag)):
      return flag ? "YES" : "NO"
    case (.uuid, .uuid(let uuid)):
      return uuid.uuidString
    case (.uri, .url(let url)):
      return url.absoluteString
    case (.date, .date(let date)):
      return short(date.timeIntervalSinceReferenceDate)
    case (.binaryData, .data(let data)) where !data.isEmpty:
      return data.base64EncodedString()
    case (.string, .string(let text)), (.undefined, .string(let text)), (.transformable, .string(let text)),
      (.objectID, .string(let text)), (.composite, .string(let text)):
      // The reader takes an empty text as a value for strings only.
      return text.isEmpty && kind != .string ? nil : text
    default:
      return nil
    }
  }

  /// The attribute of a source that stands for a validation rule; nil where there is none.
  private static func limit(_ rule: ValidationDocument, of kind: AttributeKind) -> (name: String, text: String)? {
    guard case .comparison(let comparison) = rule.predicate, case .constant(let value) = comparison.right,
      case .integer(let code) = rule.warning, comparison.modifier == .direct, comparison.options.isEmpty
    else { return nil }
    let length = ExpressionSyntax.keyPath("length")
    switch (kind, comparison.left, comparison.op, code, value) {
    case (.string, length, .greaterThanOrEqualTo, ValidationCode.stringTooShort, .integer(let number)):
      return ("minValueString", "\(number)")
    case (.string, length, .lessThanOrEqualTo, ValidationCode.stringTooLong, .integer(let number)):
      return ("maxValueString", "\(number)")
    case (.string, .evaluatedObject, .matches, ValidationCode.patternMismatch, .string(let pattern)):
      return pattern.isEmpty ? nil : ("regularExpressionString", pattern)
    case (.date, .evaluatedObject, .greaterThanOrEqualTo, ValidationCode.dateTooSoon, .date(let date)):
      return ("minDateTimeInterval", short(date.timeIntervalSinceReferenceDate))
    case (.date, .evaluatedObject, .lessThanOrEqualTo, ValidationCode.dateTooLate, .date(let date)):
      return ("maxDateTimeInterval", short(date.timeIntervalSinceReferenceDate))
    case (_, .evaluatedObject, .greaterThanOrEqualTo, ValidationCode.numberTooSmall, _):
      return limitText(of: value, kind: kind).map { ("minValueString", $0) }
    case (_, .evaluatedObject, .lessThanOrEqualTo, ValidationCode.numberTooLarge, _):
      return limitText(of: value, kind: kind).map { ("maxValueString", $0) }
    default:
      return nil
    }
  }

  private static func limitText(of value: PlainValue, kind: AttributeKind) -> String? {
    switch (kind, value) {
    case (.string, _), (.date, _): nil
    case (.double, .real(let number)), (.float, .real(let number)): short(number)
    case (.decimal, .decimal(let number)): "\(number)"
    default: text(of: value, kind: kind)
    }
  }

  /// A number without a point where it is whole.
  private static func short(_ number: Double) -> String {
    Int64(exactly: number).map { "\($0)" } ?? "\(number)"
  }
}
