// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataMistakes
import Foundation

/// Reads and writes an attribute, whatever the type of its values.
class AnyAttributeAccess {
  /// Reads the value in a row, whatever its type.
  func read(any row: NSManagedObject) throws -> Any { trap("\(Self.self) must override read(any:).") }

  /// Writes a value that has the type of the attribute.
  func write(any value: Any, to row: NSManagedObject) throws { trap("\(Self.self) must override write(any:to:).") }
}

/// Reads and writes an attribute whose values have a type.
class AttributeAccess<Value>: AnyAttributeAccess {
  /// Reads the value in a row.
  ///
  /// - Throws: `UnreadableAttribute` if the row has a value that the type cannot represent, or none where one is needed.
  func read(_ row: NSManagedObject) throws -> Value { trap("\(Self.self) must override read(_:).") }

  func write(_ value: Value, to row: NSManagedObject) throws { trap("\(Self.self) must override write(_:to:).") }

  override func read(any row: NSManagedObject) throws -> Any { try read(row) }

  override func write(any value: Any, to row: NSManagedObject) throws {
    guard let value = value as? Value else {
      throw UnreadableAttribute(reason: "cannot have the value \(value), which is not a \(Value.self)")
    }
    try write(value, to: row)
  }
}

/// A stored value that a property cannot represent.
struct UnreadableAttribute: Error, CustomStringConvertible {
  var reason: String
  var description: String { reason }
}

/// Finds the access to attributes by their types.
enum AttributeAccesses {
  /// Returns an `AttributeAccess` for a type; nil if its values cannot be stored.
  ///
  /// - Parameters:
  ///   - name: the name of the attribute.
  ///   - type: the declared type.
  ///   - isTransformable: whether a value transformer converts the values.
  ///   - isWhole: whether a `Codable` type is stored whole.
  static func access(
    to name: String, of type: Any.Type, isTransformable: Bool, isWhole: Bool
  ) -> AnyAttributeAccess? {
    if isTransformable {
      return _openExistential(type, do: makeTransformable)(name)
    }
    if let plain = type as? any PlainStorable.Type { return make(plain, name) }
    let wrapped = (type as? any OptionalValue.Type)?.wrapped
    if let plain = wrapped as? any PlainStorable.Type { return makeOptional(plain, name) }
    guard let shape = try? ValueShape.find(wrapped ?? type, isWhole: isWhole) else {
      // The schema has the reason, and no container with the class is made.
      return nil
    }
    if let codable = wrapped as? any (Codable).Type { return makeOptional(codable, name, shape) }
    guard let codable = type as? any (Codable).Type else { return nil }
    return make(codable, name, shape)
  }

  private static func make<Value: PlainStorable>(_ type: Value.Type, _ name: String) -> AnyAttributeAccess {
    RequiredPlainAccess<Value>(name)
  }

  private static func makeOptional<Value: PlainStorable>(_ type: Value.Type, _ name: String) -> AnyAttributeAccess {
    OptionalPlainAccess<Value>(name)
  }

  private static func make<Value: Codable>(_ type: Value.Type, _ name: String, _ shape: ValueShape)
    -> AnyAttributeAccess
  {
    RequiredCodedAccess<Value>(name, shape)
  }

  private static func makeOptional<Value: Codable>(
    _ type: Value.Type, _ name: String, _ shape: ValueShape
  ) -> AnyAttributeAccess {
    OptionalCodedAccess<Value>(name, shape)
  }
}

private func makeTransformable<Value>(_ type: Value.Type) -> (String) -> AnyAttributeAccess {
  { TransformableAccess<Value>($0) }
}

/// An attribute of a type of Core Data that must have a value.
private final class RequiredPlainAccess<Value: PlainStorable>: AttributeAccess<Value> {
  private let property: ManagedProperty<Value?>
  init(_ name: String) { property = ManagedProperty(name) }

  override func read(_ row: NSManagedObject) throws -> Value {
    if let value = Value.value(of: property, in: row) { return value }
    guard let other = row.value(forKey: property.name) else { throw UnreadableAttribute(reason: "has no value") }
    throw UnreadableAttribute(reason: "has the value \(other), which is not a \(Value.self)")
  }
  override func write(_ value: Value, to row: NSManagedObject) { Value.set(value, of: property, in: row) }
}

/// An attribute of a type of Core Data that may lack a value.
private final class OptionalPlainAccess<Value: PlainStorable>: AttributeAccess<Value?> {
  private let property: ManagedProperty<Value?>
  init(_ name: String) { property = ManagedProperty(name) }

  override func read(_ row: NSManagedObject) throws -> Value? {
    if let value = Value.value(of: property, in: row) { return value }
    guard let other = row.value(forKey: property.name) else { return nil }
    throw UnreadableAttribute(reason: "has the value \(other), which is not a \(Value.self)")
  }
  override func write(_ value: Value?, to row: NSManagedObject) { Value.set(value, of: property, in: row) }
}

/// An attribute whose values are encoded, and that must have a value.
private final class RequiredCodedAccess<Value: Codable>: AttributeAccess<Value> {
  private let name: String
  private let coding: ValueCoding

  init(_ name: String, _ shape: ValueShape) {
    self.name = name
    coding = ValueCoding(shape, property: name)
  }

  override func read(_ row: NSManagedObject) throws -> Value { try coding.decode(row.value(forKey: name)) }
  override func write(_ value: Value, to row: NSManagedObject) throws {
    row.setValue(try coding.storing(in: row).encode(value), forKey: name)
  }
}

/// An attribute whose values are encoded, and that may lack a value.
private final class OptionalCodedAccess<Value: Codable>: AttributeAccess<Value?> {
  private let name: String
  private let coding: ValueCoding

  init(_ name: String, _ shape: ValueShape) {
    self.name = name
    coding = ValueCoding(shape, property: name)
  }

  override func read(_ row: NSManagedObject) throws -> Value? {
    guard let stored = row.value(forKey: name) else { return nil }
    // A composite whose parts are all missing cannot be distinguished from none.
    if let parts = stored as? NSDictionary, parts.allValues.allSatisfy({ $0 is NSNull }) { return nil }
    return try coding.decode(stored) as Value
  }
  override func write(_ value: Value?, to row: NSManagedObject) throws {
    row.setValue(try value.map { try coding.storing(in: row).encode($0) }, forKey: name)
  }
}

/// An attribute whose values a value transformer converts.
private final class TransformableAccess<Value>: AttributeAccess<Value> {
  private let name: String
  init(_ name: String) { self.name = name }

  override func read(_ row: NSManagedObject) throws -> Value {
    let stored = row.value(forKey: name)
    if let value = stored as? Value { return value }
    if stored == nil, let none = (Value.self as? any OptionalValue.Type)?.none as? Value { return none }
    throw UnreadableAttribute(
      reason: stored.map { "has a value of the class \(type(of: $0)), which is not a \(Value.self)" } ?? "has no value")
  }
  override func write(_ value: Value, to row: NSManagedObject) {
    row.setValue((value as? any OptionalValue).map { $0.someValue } ?? value, forKey: name)
  }
}
