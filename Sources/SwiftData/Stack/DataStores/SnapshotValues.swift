// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import Foundation

/// The values of a snapshot of any type, and their stored form.
enum SnapshotValues {
  /// Returns the values by the names of properties. A property without a value has nil, or is left out.
  static func values(of snapshot: any DataStoreSnapshot) throws -> [String: Any?] {
    if let snapshot = snapshot as? DefaultSnapshot {
      if let problem = snapshot.problem { throw problem }
      return snapshot.values.mapValues { $0 as Any? }
    }
    let recorder = ValueRecorder()
    try snapshot.encode(to: RecordingEncoder(recorder: recorder))
    return recorder.values
  }

  /// Returns the value in nested optionals; nil for none.
  static func flattened(_ value: Any) -> Any? {
    guard let optional = value as? any OptionalValue else { return value }
    return optional.someValue.flatMap { flattened($0) }
  }
}

private final class ValueRecorder {
  var values: [String: Any?] = [:]
}

/// Records what a snapshot encodes, as it is.
private struct RecordingEncoder: Encoder {
  let recorder: ValueRecorder
  var codingPath: [any CodingKey] { [] }
  var userInfo: [CodingUserInfoKey: Any] { [:] }

  func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
    KeyedEncodingContainer(RecordingContainer(recorder: recorder))
  }
  func unkeyedContainer() -> any UnkeyedEncodingContainer { RefusingEncoder() }
  func singleValueContainer() -> any SingleValueEncodingContainer { RefusingEncoder() }
}

private struct RecordingContainer<Key: CodingKey>: KeyedEncodingContainerProtocol {
  let recorder: ValueRecorder
  var codingPath: [any CodingKey] { [] }

  mutating func encodeNil(forKey key: Key) throws { recorder.values[key.stringValue] = .some(nil) }
  mutating func encode<Value: Encodable>(_ value: Value, forKey key: Key) throws {
    recorder.values[key.stringValue] = .some(SnapshotValues.flattened(value))
  }
  mutating func nestedContainer<Nested: CodingKey>(
    keyedBy type: Nested.Type, forKey key: Key
  ) -> KeyedEncodingContainer<Nested> { KeyedEncodingContainer(RefusingKeys()) }
  mutating func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer { RefusingEncoder() }
  mutating func superEncoder() -> any Encoder { RecordingEncoder(recorder: recorder) }
  mutating func superEncoder(forKey key: Key) -> any Encoder { RecordingEncoder(recorder: recorder) }
}

extension SnapshotProblem {
  fileprivate static let withoutKeys = SnapshotProblem(
    "A snapshot must encode its values with keys that are the names of properties, without nested containers.")
}

private struct RefusingKeys<Key: CodingKey>: KeyedEncodingContainerProtocol {
  var codingPath: [any CodingKey] { [] }
  mutating func encodeNil(forKey key: Key) throws { throw SnapshotProblem.withoutKeys }
  mutating func encode<Value: Encodable>(_ value: Value, forKey key: Key) throws { throw SnapshotProblem.withoutKeys }
  mutating func nestedContainer<Nested: CodingKey>(
    keyedBy type: Nested.Type, forKey key: Key
  ) -> KeyedEncodingContainer<Nested> { KeyedEncodingContainer(RefusingKeys<Nested>()) }
  mutating func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer { RefusingEncoder() }
  mutating func superEncoder() -> any Encoder { RecordingEncoder(recorder: ValueRecorder()) }
  mutating func superEncoder(forKey key: Key) -> any Encoder { RecordingEncoder(recorder: ValueRecorder()) }
}

private struct RefusingEncoder: UnkeyedEncodingContainer, SingleValueEncodingContainer {
  var codingPath: [any CodingKey] { [] }
  var count: Int { 0 }
  mutating func encodeNil() throws { throw SnapshotProblem.withoutKeys }
  mutating func encode<Value: Encodable>(_ value: Value) throws { throw SnapshotProblem.withoutKeys }
  mutating func nestedContainer<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
    KeyedEncodingContainer(RefusingKeys())
  }
  mutating func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer { self }
  mutating func superEncoder() -> any Encoder { RecordingEncoder(recorder: ValueRecorder()) }
}
