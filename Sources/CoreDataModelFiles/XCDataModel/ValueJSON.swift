// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataPredicates
import Foundation

/// A value as JSON, for values that a model source has no text for: user info that is not a string, and default values
/// such as arrays and dictionaries, which SwiftData writes into models.
///
/// Strings, Booleans, integers and arrays are written as they are. Other values are objects with one key that begins with
/// `$` and names the type.
struct ValueJSON: Codable {
  let value: PlainValue

  /// Returns the JSON text of a value; nil for a value of a class that only a program knows.
  static func text(of value: PlainValue) -> String? {
    guard isPlain(value) else { return nil }
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    // Numbers that JSON lacks are written as text, so that every plain value can be encoded.
    let data = try? encoder.encode(ValueJSON(value: value))
    return data.map { String(decoding: $0, as: UTF8.self) }
  }

  /// Returns the value of a JSON text; nil if it is not one that `text(of:)` returns.
  static func value(of text: String) -> PlainValue? {
    // The caller warns about the text.
    try? JSONDecoder().decode(ValueJSON.self, from: Data(text.utf8)).value
  }

  private static func isPlain(_ value: PlainValue) -> Bool {
    switch value {
    case .object: false
    case .array(let values), .set(let values): values.allSatisfy(isPlain)
    case .dictionary(let values): values.values.allSatisfy(isPlain)
    default: true
    }
  }

  private init(value: PlainValue) { self.value = value }

  private enum Tag: String {
    case real, decimal, date, data, uuid, url, set, dictionary

    var key: String { "$" + rawValue }
  }

  func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    func tagged(_ tag: Tag, _ text: String) throws { try container.encode([tag.key: text]) }
    switch value {
    case .null: try container.encodeNil()
    case .boolean(let flag): try container.encode(flag)
    case .integer(let number): try container.encode(number)
    case .string(let text): try container.encode(text)
    case .array(let values): try container.encode(values.map { ValueJSON(value: $0) })
    case .real(let number): try tagged(.real, "\(number)")
    case .decimal(let number): try tagged(.decimal, "\(number)")
    case .date(let date): try tagged(.date, "\(date.timeIntervalSinceReferenceDate)")
    case .data(let data): try tagged(.data, data.base64EncodedString())
    case .uuid(let uuid): try tagged(.uuid, uuid.uuidString)
    case .url(let url): try tagged(.url, url.absoluteString)
    case .set(let values): try container.encode([Tag.set.key: values.map { ValueJSON(value: $0) }])
    case .dictionary(let values):
      try container.encode([Tag.dictionary.key: values.mapValues { ValueJSON(value: $0) }])
    case .object(let object):
      throw EncodingError.invalidValue(
        object.value, EncodingError.Context(codingPath: encoder.codingPath, debugDescription: "not a plain value"))
    }
  }

  init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    func decoded<Value: Decodable>(_ type: Value.Type) -> Value? {
      // The types exclude one another: one of the attempts succeeds, or the value is unknown.
      try? container.decode(type)
    }
    if container.decodeNil() {
      value = .null
    } else if let flag = decoded(Bool.self) {
      value = .boolean(flag)
    } else if let number = decoded(Int64.self) {
      value = .integer(number)
    } else if let text = decoded(String.self) {
      value = .string(text)
    } else if let values = decoded([ValueJSON].self) {
      value = .array(values.map(\.value))
    } else if let tagged = decoded([String: String].self), let found = Self.scalar(tagged) {
      value = found
    } else if let tagged = decoded([String: [ValueJSON]].self), tagged.count == 1,
      let values = tagged[Tag.set.key]
    {
      value = .set(values.map(\.value))
    } else if let tagged = decoded([String: [String: ValueJSON]].self), tagged.count == 1,
      let values = tagged[Tag.dictionary.key]
    {
      value = .dictionary(values.mapValues(\.value))
    } else {
      throw DecodingError.dataCorruptedError(in: container, debugDescription: "unknown value")
    }
  }

  private static func scalar(_ tagged: [String: String]) -> PlainValue? {
    guard tagged.count == 1, let (key, text) = tagged.first, key.hasPrefix("$") else { return nil }
    switch Tag(rawValue: String(key.dropFirst())) {
    case .real: return Double(text).map { .real($0) }
    case .decimal: return Decimal(string: text, locale: Locale(identifier: "en_US_POSIX")).map { .decimal($0) }
    case .date: return Double(text).map { .date(Date(timeIntervalSinceReferenceDate: $0)) }
    case .data: return Data(base64Encoded: text).map { .data($0) }
    case .uuid: return UUID(uuidString: text).map { .uuid($0) }
    case .url: return URL(string: text).map { .url($0) }
    case .set, .dictionary, nil: return nil
    }
  }
}
