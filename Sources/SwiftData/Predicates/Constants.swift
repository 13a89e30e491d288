// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData

/// Constants of predicates.
extension Scalar {
  static var truth: Scalar { Scalar(NSExpression(forConstantValue: true), .bool, mayBeNil: false) }
  static var falsehood: Scalar { Scalar(NSExpression(forConstantValue: false), .bool, mayBeNil: false) }
  static var missing: Scalar {
    var scalar = Scalar(NSExpression(forConstantValue: nil), .bool, mayBeNil: true)
    scalar.isMissing = true
    return scalar
  }

  /// Creates a constant of a type that is stored as it is, or an enum's raw value; nil for any other value.
  init?(constant value: Any) throws {
    if let kind = ScalarKind(Swift.type(of: value)) {
      guard let scalar = try Scalar(constant: value, as: kind) else { return nil }
      self = scalar
    } else if let text = (value as? Character).map(String.init) ?? (value as? Substring).map(String.init) {
      self.init(NSExpression(forConstantValue: text), .string, mayBeNil: false)
      (isConstant, self.text) = (true, text)
    } else {
      return nil
    }
  }

  /// Creates a constant that is compared with values of a kind; nil if it has another type.
  ///
  /// - Throws: `NotInStore` for a value that SQL compares in another way.
  init?(constant value: Any, as kind: ScalarKind) throws {
    var stored: Any
    switch kind {
    case .raw(let type, let inner):
      guard String(reflecting: Swift.type(of: value)) == type, let raw = (value as? any RawRepresentable)?.anyRawValue,
        let scalar = try Scalar(constant: raw, as: inner)
      else { return nil }
      self.init(scalar.expression, kind, mayBeNil: false)
      isConstant = true
      return
    case .integer, .unsigned:
      guard let plain = value as? any PlainStorable, value is any FixedWidthInteger else { return nil }
      stored = plain.stored
    case .string:
      guard let text = (value as? any StringProtocol).map({ String($0) }) ?? (value as? Character).map(String.init)
      else { return nil }
      self.init(NSExpression(forConstantValue: text), kind, mayBeNil: false)
      (isConstant, self.text) = (true, text)
      return
    case .double:
      guard let number = value as? Double else { return nil }
      stored = NSNumber(value: number)
      if number.isNaN { throw NotInStore("A comparison with NaN") }
    case .float:
      guard let number = value as? Float else { return nil }
      stored = NSNumber(value: Double(number))
      if number.isNaN { throw NotInStore("A comparison with NaN") }
    case .decimal:
      guard let number = value as? Decimal else { return nil }
      // A column has a double.
      let rounded = NSDecimalNumber(decimal: number).doubleValue
      guard !number.isNaN, Decimal(string: "\(rounded)") == number else {
        throw NotInStore("\(number) has more digits than a column")
      }
      stored = NSDecimalNumber(decimal: number)
    case .bool:
      guard let truth = value as? Bool else { return nil }
      stored = NSNumber(value: truth)
    case .date:
      guard let date = value as? Date else { return nil }
      stored = date
    case .uuid:
      guard let uuid = value as? UUID else { return nil }
      stored = uuid
    case .data:
      guard let data = value as? Data else { return nil }
      stored = data
    case .url:
      guard let url = value as? URL else { return nil }
      if url.baseURL != nil { throw NotInStore("A URL with a base, \(url),") }
      stored = url
    }
    self.init(NSExpression(forConstantValue: stored), kind, mayBeNil: false)
    isConstant = true
  }

  /// Whether the scalar is a constant string that no other string equals.
  ///
  /// Three characters are canonically equivalent to an ASCII character: to K, the semicolon and the grave accent.
  var isPlainText: Bool {
    text.map { $0.utf8.allSatisfy { $0 < 0x80 } && !$0.utf8.contains { "K;`".utf8.contains($0) } } ?? false
  }
}

extension RawRepresentable {
  fileprivate var anyRawValue: Any { rawValue }
}
