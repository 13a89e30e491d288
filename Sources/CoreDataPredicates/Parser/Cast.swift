// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// `CAST(…)` of constants: how dates and other values without a literal are written.
enum Cast {
  /// The constant that a cast of a constant means, or the expression as it is.
  static func folded(_ expression: ExpressionSyntax) -> ExpressionSyntax {
    guard case .function(operand: nil, name: PredefinedFunction.cast, let arguments) = expression,
      arguments.count == 2, case .constant(.string(let type)) = arguments[1]
    else { return expression }
    switch arguments[0] {
    case .constant(let value):
      return constant(value, type).map { .constant($0) } ?? expression
    case .aggregate(let elements):
      return collection(elements, type).map { .constant($0) } ?? expression
    default:
      return expression
    }
  }

  private static func constant(_ value: PlainValue, _ type: String) -> PlainValue? {
    switch (type, value) {
    case ("NSDate", .real(let seconds)): .date(Date(timeIntervalSinceReferenceDate: seconds))
    case ("NSDate", .integer(let seconds)): .date(Date(timeIntervalSinceReferenceDate: Double(seconds)))
    case ("NSDecimalNumber", .string(let text)):
      Decimal(string: text, locale: Locale(identifier: "en_US_POSIX")).map { .decimal($0) }
    case ("NSUUID", .string(let text)): UUID(uuidString: text).map { .uuid($0) }
    case ("NSURL", .string(let text)): URL(string: text).map { .url($0) }
    case ("NSData", .string(let text)): Data(base64Encoded: text).map { .data($0) }
    case ("Double", .string(let text)): Double(text).map { .real($0) }
    default: nil
    }
  }

  private static func collection(_ elements: [ExpressionSyntax], _ type: String) -> PlainValue? {
    var values: [PlainValue] = []
    for element in elements {
      guard case .constant(let value) = element else { return nil }
      values.append(value)
    }
    switch type {
    case "NSArray": return .array(values)
    case "NSSet": return .set(values)
    case "NSDictionary":
      guard values.count.isMultiple(of: 2) else { return nil }
      var dictionary: [String: PlainValue] = [:]
      for index in stride(from: 0, to: values.count, by: 2) {
        guard case .string(let key) = values[index] else { return nil }
        dictionary[key] = values[index + 1]
      }
      return .dictionary(dictionary)
    default: return nil
    }
  }
}
