// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import Foundation

/// Learns the elements of a `Codable` type by having it decode itself from sample values.
enum ShapeProbe {
  /// Returns the elements of a type, in the order in which it decodes them.
  ///
  /// - Throws: `UnstorableType` for a type that does not decode keyed values, and one that refuses sample values.
  static func elements(of type: any Decodable.Type) throws(UnstorableType) -> [ValueShape.Element] {
    if let raw = (type as? any RawRepresentable.Type)?.rawType {
      guard let plain = raw as? any PlainStorable.Type else {
        throw UnstorableType(type: type, reason: "has raw values of the type \(raw), which cannot be stored")
      }
      // The element of an enum has the name of the property; the schema sets it.
      return [ValueShape.Element(name: "", isOptional: true, shape: .plain(plain.attributeType))]
    }
    if let cases = EnumCases(of: type) {
      guard cases.payloads == 0 else {
        throw UnstorableType(
          type: type, reason: "has cases with associated values; @Attribute(.codable) stores it as a whole")
      }
      return cases.names.map {
        ValueShape.Element(name: $0, isOptional: true, shape: .plain(.stringAttributeType))
      }
    }
    let recorder = Recorder(type)
    var sample: (any Decodable)?
    do {
      try SampleChoices.search { choices in
        recorder.elements = []
        sample = try type.init(from: ProbingDecoder(recorder, choices))
      }
    } catch let error as UnstorableType {
      throw error
    } catch {
      if recorder.isList {
        throw UnstorableType(
          type: type, reason: "decodes itself as a list, without keys; @Attribute(.codable) stores it as a whole")
      }
      let part = recorder.elements.last.map { " in '\($0.name)', which it read last," } ?? ""
      throw UnstorableType(
        type: type,
        reason: "refuses the sample values\(part) by which a schema learns its parts (\(error)); @Attribute(.codable) "
          + "stores it as a whole")
    }
    guard recorder.isKeyed else {
      throw UnstorableType(
        type: type, reason: "does not decode itself by keys; @Attribute(.codable) stores it as a whole")
    }
    if let sample = sample as? any Encodable { try checkEncoding(of: sample, recorder) }
    return recorder.elements
  }

  /// Checks that a type encodes the parts that it decodes. Otherwise setting a property would trap.
  private static func checkEncoding(of sample: any Encodable, _ recorder: Recorder) throws(UnstorableType) {
    do {
      try CompositeParts(recorder.elements, property: "").encode(sample)
    } catch let error as UnreadableAttribute {
      throw UnstorableType(
        type: recorder.type, reason: "\(error.reason), but it encodes others; @Attribute(.codable) stores it as a whole"
      )
    } catch {
      // A type may refuse to encode a sample, which no program has made.
    }
  }

  /// Returns a sample of a type.
  static func sample<Value: Decodable>(_ type: Value.Type) throws -> Value {
    var sample: Value?
    try SampleChoices.search { sample = try self.sample(type, $0) }
    guard let sample else { throw UnstorableType(type: type, reason: "has no sample value") }
    return sample
  }

  fileprivate static func sample<Value: Decodable>(_ type: Value.Type, _ choices: SampleChoices) throws -> Value {
    if let plain = type as? any PlainStorable.Type, let value = choices.value(of: plain) as? Value { return value }
    if let value = EnumCases.first(of: type) { return value }
    return try type.init(from: ProbingDecoder(Recorder(type), choices))
  }
}

extension RawRepresentable {
  fileprivate static var rawType: Any.Type { RawValue.self }
}

/// What one type has decoded.
private final class Recorder {
  let type: Any.Type
  var isKeyed = false
  /// Whether the type asked for a list, and not for keys.
  var isList = false
  var elements: [ValueShape.Element] = []
  /// The shapes of the parts, which are the same for all samples.
  private var shapes: [String: ValueShape] = [:]

  init(_ type: Any.Type) { self.type = type }

  func record(_ key: any CodingKey, _ type: Any.Type, isOptional: Bool) throws {
    let name = key.stringValue
    guard !elements.contains(where: { $0.name == name }) else { return }
    do throws(UnstorableType) {
      let shape = if let known = shapes[name] { known } else { try self.shape(of: type, name) }
      shapes[name] = shape
      // A decoder may look whether there is a value before it asks for one.
      let isOptional = isOptional || StructFields.type(named: name, of: self.type) is any OptionalValue.Type
      elements.append(ValueShape.Element(name: name, isOptional: isOptional, shape: shape))
    } catch {
      throw error.inside(name, of: self.type)
    }
  }

  private func shape(of type: Any.Type, _ name: String) throws(UnstorableType) -> ValueShape {
    let shape = try ValueShape.find((type as? any OptionalValue.Type)?.wrapped ?? type)
    guard case .composite(var elements) = shape, elements.first?.name == "" else { return shape }
    elements[0].name = name
    return .composite(elements)
  }
}

private struct ProbingDecoder: Decoder {
  let recorder: Recorder
  let choices: SampleChoices
  var codingPath: [any CodingKey] = []
  let userInfo: [CodingUserInfoKey: Any] = [:]

  init(_ recorder: Recorder, _ choices: SampleChoices) { (self.recorder, self.choices) = (recorder, choices) }

  func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedDecodingContainer<Key> {
    (recorder.isKeyed, recorder.isList) = (true, false)
    return KeyedDecodingContainer(ProbingContainer(recorder: recorder, choices: choices))
  }

  func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
    recorder.isList = !recorder.isKeyed
    return SampleList(length: choices.choose(among: 2), choices: choices)
  }
  func singleValueContainer() throws -> any SingleValueDecodingContainer {
    SampleValue(choices: choices)
  }
}

private struct ProbingContainer<Key: CodingKey>: KeyedDecodingContainerProtocol {
  let recorder: Recorder
  let choices: SampleChoices
  var codingPath: [any CodingKey] { [] }
  var allKeys: [Key] { [] }

  func contains(_ key: Key) -> Bool { true }
  // A value that is looked for is there, so that its type is asked for as well.
  func decodeNil(forKey key: Key) -> Bool { false }

  func decode<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value {
    try recorder.record(key, type, isOptional: type is any OptionalValue.Type)
    return try ShapeProbe.sample(type, choices)
  }

  func decodeIfPresent<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value? {
    try missing(type, key)
  }

  private func missing<Value>(_ type: Value.Type, _ key: Key) throws -> Value? {
    try recorder.record(key, type, isOptional: true)
    return nil
  }

  // The protocol has its own implementations for these types, which would ask for a value.
  func decodeIfPresent(_ type: Bool.Type, forKey key: Key) throws -> Bool? { try missing(type, key) }
  func decodeIfPresent(_ type: String.Type, forKey key: Key) throws -> String? { try missing(type, key) }
  func decodeIfPresent(_ type: Double.Type, forKey key: Key) throws -> Double? { try missing(type, key) }
  func decodeIfPresent(_ type: Float.Type, forKey key: Key) throws -> Float? { try missing(type, key) }
  func decodeIfPresent(_ type: Int.Type, forKey key: Key) throws -> Int? { try missing(type, key) }
  func decodeIfPresent(_ type: Int8.Type, forKey key: Key) throws -> Int8? { try missing(type, key) }
  func decodeIfPresent(_ type: Int16.Type, forKey key: Key) throws -> Int16? { try missing(type, key) }
  func decodeIfPresent(_ type: Int32.Type, forKey key: Key) throws -> Int32? { try missing(type, key) }
  func decodeIfPresent(_ type: Int64.Type, forKey key: Key) throws -> Int64? { try missing(type, key) }
  func decodeIfPresent(_ type: UInt.Type, forKey key: Key) throws -> UInt? { try missing(type, key) }
  func decodeIfPresent(_ type: UInt8.Type, forKey key: Key) throws -> UInt8? { try missing(type, key) }
  func decodeIfPresent(_ type: UInt16.Type, forKey key: Key) throws -> UInt16? { try missing(type, key) }
  func decodeIfPresent(_ type: UInt32.Type, forKey key: Key) throws -> UInt32? { try missing(type, key) }
  func decodeIfPresent(_ type: UInt64.Type, forKey key: Key) throws -> UInt64? { try missing(type, key) }

  func nestedContainer<Nested: CodingKey>(
    keyedBy type: Nested.Type, forKey key: Key
  ) throws -> KeyedDecodingContainer<Nested> {
    throw UnstorableType(
      type: recorder.type, path: [key.stringValue],
      reason: "decodes keys inside another key; @Attribute(.codable) stores it as a whole")
  }

  func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
    throw UnstorableType(
      type: recorder.type, path: [key.stringValue],
      reason: "decodes a list inside a key; @Attribute(.codable) stores it as a whole")
  }

  func superDecoder() throws -> any Decoder { ProbingDecoder(recorder, choices) }
  func superDecoder(forKey key: Key) throws -> any Decoder { ProbingDecoder(recorder, choices) }
}

/// The single value of a sample.
private struct SampleValue: SingleValueDecodingContainer {
  let choices: SampleChoices
  var codingPath: [any CodingKey] { [] }
  func decodeNil() -> Bool { false }
  func decode<Value: Decodable>(_ type: Value.Type) throws -> Value { try ShapeProbe.sample(type, choices) }
}

/// A list of samples.
private struct SampleList: UnkeyedDecodingContainer {
  let length: Int
  let choices: SampleChoices
  var codingPath: [any CodingKey] { [] }
  var count: Int? { length }
  var isAtEnd: Bool { currentIndex >= length }
  private(set) var currentIndex = 0

  init(length: Int, choices: SampleChoices) { (self.length, self.choices) = (length, choices) }

  private var end: DecodingError {
    DecodingError.valueNotFound(
      Any.self, DecodingError.Context(codingPath: [], debugDescription: "A sample list has no more elements."))
  }

  mutating func decodeNil() throws -> Bool { isAtEnd }
  mutating func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
    if isAtEnd { throw end }
    currentIndex += 1
    return try ShapeProbe.sample(type, choices)
  }
  mutating func nestedContainer<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
    throw end
  }
  mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer { throw end }
  mutating func superDecoder() throws -> any Decoder { throw end }
}
