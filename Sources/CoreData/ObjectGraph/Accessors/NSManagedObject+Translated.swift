// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The argument of a method that validates the value of one key.
///
/// Swift has this type only with Objective-C. Here it lets validation methods in shared sources compile. The plug-in
/// `CoreDataModels` makes `validateValue(_:forKey:)` call them.
public struct AutoreleasingUnsafeMutablePointer<Pointee> {
  private final class Storage {
    var pointee: Pointee
    init(_ pointee: Pointee) { self.pointee = pointee }
  }

  private let storage: Storage

  /// Creates a pointer to its own copy of a value.
  public init(_ pointee: Pointee) { storage = Storage(pointee) }

  /// The value.
  public var pointee: Pointee {
    get { storage.pointee }
    nonmutating set { storage.pointee = newValue }
  }
}

extension NSManagedObject {
  /// Validates a value with a key's validation method, which may replace it. An addition to Apple's API, for translated
  /// sources.
  ///
  /// - Parameters:
  ///   - value: the value.
  ///   - method: the method, such as `validateName(_:)`.
  /// - Throws: what the method throws.
  public final func validate(
    _ value: inout Any?, with method: (AutoreleasingUnsafeMutablePointer<AnyObject?>) throws -> Void
  ) rethrows {
    let before = value.map { $0 as AnyObject }
    let pointer = AutoreleasingUnsafeMutablePointer<AnyObject?>(before)
    try method(pointer)
    if pointer.pointee !== before { value = pointer.pointee }
  }

  /// Validates a value in a variable of an object type, as in Apple's API.
  ///
  /// - Parameters:
  ///   - value: the property's new value, which may be replaced.
  ///   - key: the property's name.
  /// - Throws: as the method for `Any?`.
  public final func validateValue(_ value: inout AnyObject?, forKey key: String) throws {
    let before = value as Any?
    var after = before
    try validateValue(&after, forKey: key)
    let object = after.map { $0 as AnyObject }
    if object !== value { value = object }
  }

  /// Returns a property's value in the form of key-value coding: for an enumeration, its raw value. An addition to
  /// Apple's API, for translated sources.
  ///
  /// - Parameter property: the value of a computed property.
  public final func keyValue<Value>(of property: Value) -> Any? {
    guard let value = Operand.unwrapped(property) else { return nil }
    if let number = (value as? any RawRepresentable)?.rawValue, number is any FixedWidthInteger { return number }
    return value
  }

  /// Converts a value from key-value coding to the type of a property; nil if it has another type. An addition to
  /// Apple's API, for translated sources.
  ///
  /// - Parameters:
  ///   - value: the value.
  ///   - type: the type of a computed property.
  public final func keyValue<Value>(_ value: Any?, as type: Value.Type) -> Value? {
    guard let value = Operand.unwrapped(value) else { return Any?.none as? Value }
    if let value = value as? Value { return value }
    return (type as? any RawRepresentable.Type).flatMap { Self.enumerated($0, value) } as? Value
  }

  private static func enumerated<Case: RawRepresentable>(_ type: Case.Type, _ value: Any) -> Case? {
    (value as? Case.RawValue).flatMap { Case(rawValue: $0) }
  }
}
