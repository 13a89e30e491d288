// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Values for keys that come from outside the program: a form, a file, a request.
///
/// `value(forKey:)` and its like stop the program for a key that the entity does not have, or a value of another type, as
/// Apple's do: with keys in the source code that is a mistake of the programmer. These say what is wrong instead. They are
/// additions to Apple's interface.
extension NSManagedObject {
  /// The value at the end of a key path.
  ///
  /// - Parameter keyPath: names of properties with dots between them, and collection operators.
  /// - Throws: 134060 for a key that the entity does not have, or a path that leads through a plain value; 133000 for an
  ///   object whose row is gone; the store's errors when a row cannot be read.
  public final func checkedValue(forKeyPath keyPath: String) throws -> Any? {
    try throwingReadingFailures {
      do {
        return try KeyPathReader.value(keyPath, of: self)
      } catch let failure as EvaluationError {
        throw ObjectGraphErrors.noValue(keyPath, of: entity, reason: failure.description)
      }
    }
  }

  /// Changes the property at the end of a key path, and the other side of a relationship with it.
  ///
  /// - Parameters:
  ///   - value: the new value; nil or `NSNull` for none.
  ///   - keyPath: names of properties with dots between them; an element of a composite attribute may stand last.
  /// - Throws: 134060 for a key that the entity does not have; 1550 for a value that is not of the property's type; the
  ///   errors of `checkedValue(forKeyPath:)`. Nothing has changed then.
  public final func setCheckedValue(_ value: Any?, forKeyPath keyPath: String) throws {
    try throwingReadingFailures {
      try set(value, at: keyPath) { object, value, key in
        try object.checkType(of: value, forKey: key)
        object.setValue(value, forKey: key)
      }
    }
  }

  /// Changes several properties.
  ///
  /// - Parameter keyedValues: new values by property name; `NSNull` for none.
  /// - Throws: 134060 for a key that the entity does not have; 1550 for a value that is not of its property's type. Nothing
  ///   has changed then.
  public final func setCheckedValues(_ keyedValues: [String: Any]) throws {
    try throwingReadingFailures {
      for (key, value) in keyedValues.sorted(by: { $0.key < $1.key }) { try checkType(of: value, forKey: key) }
      setValuesForKeys(keyedValues)
    }
  }

  /// Whether a value can be set, as far as its type goes.
  private func checkType(of value: Any?, forKey key: String) throws {
    guard let position = table.position(of: key) else {
      throw ObjectGraphErrors.unknownKey(key, of: entity)
    }
    switch table.properties[position] {
    case .attribute(let attribute): _ = try slot(of: value, for: attribute)
    case .relationship(let relationship): _ = try destinations(in: value, of: relationship)
    }
  }

  /// Carries out a body, and throws if the rows that it needed are gone or cannot be read.
  private func throwingReadingFailures<Value>(_ body: () throws -> Value) throws -> Value {
    guard let context else {
      if isRealized { return try body() }
      throw ObjectGraphErrors.missingObject(identifier)
    }
    return try context.throwingReadingFailures {
      realize()
      if isInaccessible, context.readingFailure == nil { throw ObjectGraphErrors.missingObject(identifier) }
      return try body()
    }
  }
}

extension NSManagedObjectContext {
  /// Carries out a body, and throws the failure to read a row that it has met, which otherwise the next save would throw.
  func throwingReadingFailures<Value>(_ body: () throws -> Value) throws -> Value {
    let earlier = readingFailure
    readingFailure = nil
    defer { readingFailure = readingFailure ?? earlier }
    let result = Result { try body() }
    if let failure = readingFailure {
      readingFailure = nil
      throw failure
    }
    return try result.get()
  }
}
