// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import Foundation

/// The parts of a composite value, by the names of its elements.
final class CompositeParts {
  private let elements: [ValueShape.Element]
  fileprivate var values: [String: Any] = [:]
  /// Whether arrays are stored as their JSON text.
  var storesArraysAsText = false

  /// - Parameters:
  ///   - elements: the elements. The only one of an enum with raw values has no name.
  ///   - property: the name of the property, which that element then has.
  ///   - dictionary: the values of elements.
  init(_ elements: [ValueShape.Element], property: String, _ dictionary: NSDictionary = [:]) {
    self.elements = elements.map { element in
      var element = element
      if element.name.isEmpty { element.name = property }
      return element
    }
    for case (let key as String, let value) in dictionary where !(value is NSNull) { values[key] = value }
  }

  var dictionary: NSDictionary { values as NSDictionary }

  fileprivate func element(_ name: String) throws -> ValueShape.Element {
    guard let element = elements.first(where: { $0.name == name }) else {
      throw UnreadableAttribute(
        reason: "has no part named '\(name)'; the parts that its type decodes are "
          + elements.map(\.name).joined(separator: ", "))
    }
    return element
  }

  func encode<Value: Encodable>(_ value: Value) throws {
    if elements.count == 1, let raw = (value as? any RawRepresentable)?.rawAny as? any PlainStorable {
      values[elements[0].name] = raw.stored
      return
    }
    try value.encode(to: PartsEncoder(parts: self))
  }

  func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
    if elements.count == 1, let type = type as? any RawRepresentable.Type {
      guard let stored = values[elements[0].name] else { throw UnreadableAttribute(reason: "has no value") }
      guard let value = type.value(raw: stored) as? Value else {
        throw UnreadableAttribute(reason: "has the raw value \(stored), which \(type) does not have")
      }
      return value
    }
    do {
      return try type.init(from: PartsDecoder(parts: self))
    } catch let error as UnreadableAttribute {
      throw error
    } catch let DecodingError.keyNotFound(key, _) {
      throw UnreadableAttribute(reason: "lacks the part '\(key.stringValue)' of \(type)")
    } catch {
      throw UnreadableAttribute(reason: "has parts that are not a \(type): \(error)")
    }
  }

  fileprivate func set<Value: Encodable>(_ value: Value, for key: any CodingKey) throws {
    let element = try element(key.stringValue)
    if let optional = value as? any OptionalValue, optional.someValue == nil { return }
    values[element.name] = try ValueCoding(element.shape, property: element.name)
      .storing(asText: storesArraysAsText).encode(value)
  }

  fileprivate func value<Value: Decodable>(_ key: any CodingKey, of type: Value.Type) throws -> Value {
    let element = try element(key.stringValue)
    let coding = ValueCoding(element.shape, property: element.name)
    guard let stored = values[element.name] else {
      // A struct whose properties are all nil has no stored values, but is one.
      if case .composite = element.shape, !(type is any RawRepresentable.Type) { return try coding.decode(nil) }
      throw DecodingError.keyNotFound(key, DecodingError.Context(codingPath: [key], debugDescription: "no value"))
    }
    return try coding.decode(stored)
  }
}

extension RawRepresentable {
  fileprivate var rawAny: Any { rawValue }

  fileprivate static func value(raw stored: Any) -> Self? {
    guard let plain = RawValue.self as? any PlainStorable.Type, let raw = plain.init(stored: stored) as? RawValue else {
      return nil
    }
    return Self(rawValue: raw)
  }
}

private struct PartsEncoder: Encoder {
  let parts: CompositeParts
  var codingPath: [any CodingKey] { [] }
  var userInfo: [CodingUserInfoKey: Any] { [:] }

  func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
    KeyedEncodingContainer(PartsEncodingContainer(parts: parts))
  }
  func unkeyedContainer() -> any UnkeyedEncodingContainer { RefusingContainer() }
  func singleValueContainer() -> any SingleValueEncodingContainer { RefusingContainer() }
}

private struct PartsEncodingContainer<Key: CodingKey>: KeyedEncodingContainerProtocol {
  let parts: CompositeParts
  var codingPath: [any CodingKey] { [] }

  mutating func encodeNil(forKey key: Key) throws {}
  mutating func encode<Value: Encodable>(_ value: Value, forKey key: Key) throws { try parts.set(value, for: key) }

  /// Encodes the case of an enum, whose key it is.
  mutating func nestedContainer<Nested: CodingKey>(
    keyedBy type: Nested.Type, forKey key: Key
  ) -> KeyedEncodingContainer<Nested> {
    parts.values[key.stringValue] = key.stringValue
    return KeyedEncodingContainer(PartsEncodingContainer<Nested>(parts: parts))
  }
  mutating func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer { RefusingContainer() }
  mutating func superEncoder() -> any Encoder { PartsEncoder(parts: parts) }
  mutating func superEncoder(forKey key: Key) -> any Encoder { PartsEncoder(parts: parts) }
}

/// Refuses values of a type that encoded itself by keys when the schema was built.
private struct RefusingContainer: UnkeyedEncodingContainer, SingleValueEncodingContainer {
  var codingPath: [any CodingKey] { [] }
  var count: Int { 0 }
  private var error: UnreadableAttribute {
    UnreadableAttribute(reason: "encodes itself without keys; @Attribute(.codable) stores it as a whole")
  }

  mutating func encodeNil() throws { throw error }
  mutating func encode<Value: Encodable>(_ value: Value) throws { throw error }
  mutating func nestedContainer<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
    KeyedEncodingContainer(PartsEncodingContainer(parts: CompositeParts([], property: "")))
  }
  mutating func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer { self }
  mutating func superEncoder() -> any Encoder { PartsEncoder(parts: CompositeParts([], property: "")) }
}

private struct PartsDecoder: Decoder {
  let parts: CompositeParts
  var codingPath: [any CodingKey] { [] }
  var userInfo: [CodingUserInfoKey: Any] { [:] }

  func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedDecodingContainer<Key> {
    KeyedDecodingContainer(PartsDecodingContainer(parts: parts))
  }
  func unkeyedContainer() throws -> any UnkeyedDecodingContainer { throw unkeyed }
  func singleValueContainer() throws -> any SingleValueDecodingContainer { throw unkeyed }

  private var unkeyed: UnreadableAttribute {
    UnreadableAttribute(reason: "decodes itself without keys; @Attribute(.codable) stores it as a whole")
  }
}

private struct PartsDecodingContainer<Key: CodingKey>: KeyedDecodingContainerProtocol {
  let parts: CompositeParts
  var codingPath: [any CodingKey] { [] }
  /// The keys of the values that exist, by which an enum finds its case.
  var allKeys: [Key] { parts.values.keys.compactMap { Key(stringValue: $0) } }

  func contains(_ key: Key) -> Bool { parts.values[key.stringValue] != nil }
  func decodeNil(forKey key: Key) -> Bool { parts.values[key.stringValue] == nil }
  func decode<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value {
    if let none = (type as? any OptionalValue.Type)?.none as? Value, !contains(key) { return none }
    return try parts.value(key, of: type)
  }

  func nestedContainer<Nested: CodingKey>(
    keyedBy type: Nested.Type, forKey key: Key
  ) -> KeyedDecodingContainer<Nested> {
    KeyedDecodingContainer(PartsDecodingContainer<Nested>(parts: CompositeParts([], property: "")))
  }
  func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
    throw UnreadableAttribute(reason: "decodes a list inside '\(key.stringValue)'")
  }
  func superDecoder() -> any Decoder { PartsDecoder(parts: parts) }
  func superDecoder(forKey key: Key) -> any Decoder { PartsDecoder(parts: parts) }
}
