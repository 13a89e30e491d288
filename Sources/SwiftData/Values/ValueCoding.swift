// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import Foundation

/// A row that knows the form of arrays in its store.
protocol ArrayStoring: NSManagedObject {
  /// Whether arrays are stored as their JSON text, as the framework does that wrote the store.
  var storesArraysAsText: Bool { get }
}

/// Converts values of `Codable` types to what Core Data stores for them, and back.
struct ValueCoding {
  private let shape: ValueShape
  /// The name of the property, which is that of an enum's only element.
  private let property: String
  /// Whether an array is stored as its JSON text.
  private var storesArraysAsText = false

  init(_ shape: ValueShape, property: String) {
    (self.shape, self.property) = (shape, property)
  }

  /// Returns the coding of values for a row, whose store may be one that needs an older form.
  func storing(in row: NSManagedObject) -> ValueCoding {
    storing(asText: (row as? any ArrayStoring)?.storesArraysAsText ?? false)
  }

  func storing(asText: Bool) -> ValueCoding {
    var coding = self
    coding.storesArraysAsText = asText
    return coding
  }

  /// Returns the stored form of a value.
  func encode<Value: Encodable>(_ value: Value) throws -> Any {
    switch shape {
    case .plain, .transformable:
      guard let plain = value as? any PlainStorable else {
        throw UnreadableAttribute(reason: "cannot store a \(Value.self)")
      }
      return plain.stored
    case .array where storesArraysAsText: return try JSONEncoder().encode(value)
    case .array:
      guard let elements = value as? [any PlainStorable] else {
        throw UnreadableAttribute(reason: "cannot store a \(Value.self) as an array")
      }
      return NSArray(array: elements.map(\.stored))
    case .json: return try JSONEncoder().encode(value)
    case .composite(let elements):
      let parts = CompositeParts(elements, property: property)
      parts.storesArraysAsText = storesArraysAsText
      try parts.encode(value)
      return parts.dictionary
    }
  }

  /// Returns the value that has a stored form.
  func decode<Value: Decodable>(_ stored: Any?) throws -> Value {
    if let optional = Value.self as? any OptionalValue.Type, let wrapped = optional.wrapped as? any Decodable.Type,
      let value = try decode(stored, as: wrapped) as? Value
    {
      return value
    }
    switch shape {
    case .composite(let elements):
      return try CompositeParts(elements, property: property, stored as? NSDictionary ?? [:]).decode(Value.self)
    case .json:
      guard let data = stored as? Data else { break }
      return try JSONDecoder().decode(Value.self, from: data)
    case .array:
      // SwiftData of iOS 17 and 18 archives the JSON text of an array; later versions archive the array.
      if let text = stored as? Data { return try JSONDecoder().decode(Value.self, from: text) }
      guard let array = stored as? NSArray, let type = Value.self as? any PlainArray.Type,
        let value = type.init(storedElements: array) as? Value
      else { break }
      return value
    case .plain, .transformable:
      guard let stored, let type = Value.self as? any PlainStorable.Type,
        let value = type.init(stored: stored) as? Value
      else { break }
      return value
    }
    guard let stored else { throw UnreadableAttribute(reason: "has no value") }
    throw UnreadableAttribute(reason: "has a value of the class \(type(of: stored)), which is not a \(Value.self)")
  }
}

extension ValueCoding {
  private func decode<Value: Decodable>(_ stored: Any?, as type: Value.Type) throws -> Any {
    let value: Value = try decode(stored)
    return value
  }
}

/// An array of values of a type of Core Data.
private protocol PlainArray {
  init?(storedElements: NSArray)
}

extension Array: PlainArray where Element: PlainStorable {
  fileprivate init?(storedElements: NSArray) {
    self = []
    for stored in storedElements {
      guard let element = Element(stored: stored) else { return nil }
      append(element)
    }
  }
}
