// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The argument of a method that validates the value of one key.
///
/// Swift has this type only with Objective-C. Here it lets such methods of shared sources compile: the plug-in
/// `CoreDataModels` has `validateValue(_:forKey:)` call them.
public struct AutoreleasingUnsafeMutablePointer<Pointee> {
  private final class Storage {
    var pointee: Pointee
    init(_ pointee: Pointee) { self.pointee = pointee }
  }

  private let storage: Storage

  /// Makes a pointer to a value of its own.
  public init(_ pointee: Pointee) { storage = Storage(pointee) }

  /// The value.
  public var pointee: Pointee {
    get { storage.pointee }
    nonmutating set { storage.pointee = newValue }
  }
}

extension NSManagedObject {
  /// Validates a value by a method for its key, which may replace it. An addition to Apple's API, for translated sources.
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

  /// Validates a value in a variable for an object, as Apple's interface has it.
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

  /// Returns a value as key-value coding does: the raw value of an enumeration. An addition to Apple's API, for translated
  /// sources.
  ///
  /// - Parameter property: the value of a property that the program computes.
  public final func keyValue<Value>(of property: Value) -> Any? {
    guard let value = Operand.unwrapped(property) else { return nil }
    if let number = (value as? any RawRepresentable)?.rawValue, number is any FixedWidthInteger { return number }
    return value
  }

  /// Returns a value for key-value coding in the type of a property; nil if it has another. An addition to Apple's API, for
  /// translated sources.
  ///
  /// - Parameters:
  ///   - value: the value.
  ///   - type: the type of a property that the program computes.
  public final func keyValue<Value>(_ value: Any?, as type: Value.Type) -> Value? {
    guard let value = Operand.unwrapped(value) else { return Any?.none as? Value }
    if let value = value as? Value { return value }
    return (type as? any RawRepresentable.Type).flatMap { Self.enumerated($0, value) } as? Value
  }

  private static func enumerated<Case: RawRepresentable>(_ type: Case.Type, _ value: Any) -> Case? {
    (value as? Case.RawValue).flatMap { Case(rawValue: $0) }
  }
}
