// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataMistakes
import Foundation

/// Reads and writes an attribute, whatever the type of its values.
class AnyAttributeAccess {
  /// The type of the values.
  let valueType: ObjectIdentifier

  fileprivate init(_ valueType: ObjectIdentifier) { self.valueType = valueType }

  /// Reads the value in a row, whatever its type.
  func read(any row: NSManagedObject) throws -> Any { trap("\(Self.self) must override read(any:).") }

  /// Writes a value that has the type of the attribute.
  func write(any value: Any, to row: NSManagedObject) throws { trap("\(Self.self) must override write(any:to:).") }
}

/// Reads and writes an attribute whose values have a type.
///
/// It has functions instead of subclasses: a function for one type is compiled for it, a method of a generic class is not.
final class AttributeAccess<Value>: AnyAttributeAccess {
  private let reading: (NSManagedObject) throws -> Value
  private let writing: (Value, NSManagedObject) throws -> Void

  init(
    read: @escaping (NSManagedObject) throws -> Value, write: @escaping (Value, NSManagedObject) throws -> Void
  ) {
    (reading, writing) = (read, write)
    super.init(ObjectIdentifier(Value.self))
  }

  /// Reads the value in a row.
  ///
  /// - Throws: `UnreadableAttribute` if the row has a value that the type cannot represent, or none where one is needed.
  func read(_ row: NSManagedObject) throws -> Value { try reading(row) }

  func write(_ value: Value, to row: NSManagedObject) throws { try writing(value, row) }

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
    if isTransformable { return transformable(type, name) }
    if let plain = type as? any PlainStorable.Type { return plain.access(to: name) }
    let wrapped = (type as? any OptionalValue.Type)?.wrapped
    if let plain = wrapped as? any PlainStorable.Type { return plain.optionalAccess(to: name) }
    guard let shape = try? ValueShape.find(wrapped ?? type, isWhole: isWhole) else {
      // The schema has the reason, and no container with the class is made.
      return nil
    }
    if let codable = wrapped as? any (Codable).Type { return optionalCoded(codable, name, shape) }
    guard let codable = type as? any (Codable).Type else { return nil }
    return coded(codable, name, shape)
  }

  /// Returns the access to an attribute whose values are encoded, and that must have a value.
  private static func coded<Value: Codable>(
    _ type: Value.Type, _ name: String, _ shape: ValueShape
  ) -> AnyAttributeAccess {
    let coding = ValueCoding(shape, property: name)
    return AttributeAccess<Value>(
      read: { try coding.decode($0.value(forKey: name)) },
      write: { value, row in row.setValue(try coding.storing(in: row).encode(value), forKey: name) })
  }

  /// Returns the access to an attribute whose values are encoded, and that may lack a value.
  private static func optionalCoded<Value: Codable>(
    _ type: Value.Type, _ name: String, _ shape: ValueShape
  ) -> AnyAttributeAccess {
    let coding = ValueCoding(shape, property: name)
    return AttributeAccess<Value?>(
      read: { row in
        guard let stored = row.value(forKey: name) else { return nil }
        // A composite whose parts are all missing cannot be distinguished from none.
        if let parts = stored as? NSDictionary, parts.allValues.allSatisfy({ $0 is NSNull }) { return nil }
        return try coding.decode(stored) as Value
      },
      write: { value, row in
        row.setValue(try value.map { try coding.storing(in: row).encode($0) }, forKey: name)
      })
  }

  /// Returns the access to an attribute whose values a value transformer converts.
  private static func transformable(_ type: Any.Type, _ name: String) -> AnyAttributeAccess {
    func make<Value>(_ type: Value.Type) -> AnyAttributeAccess {
      AttributeAccess<Value>(
        read: { row in
          let stored = row.value(forKey: name)
          if let value = stored as? Value { return value }
          if stored == nil, let none = (Value.self as? any OptionalValue.Type)?.none as? Value { return none }
          let found = stored.map { "has a value of the class \(Swift.type(of: $0)), which is not a \(Value.self)" }
          throw UnreadableAttribute(reason: found ?? "has no value")
        },
        write: { value, row in
          row.setValue((value as? any OptionalValue).map { $0.someValue } ?? value, forKey: name)
        })
    }
    return _openExistential(type, do: make)
  }
}
