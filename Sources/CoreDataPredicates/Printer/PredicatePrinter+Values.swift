// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Constants, which have a literal, a cast, or only a description.
extension PredicatePrinter {
  func format(_ value: PlainValue) -> String {
    switch value {
    case .null: "nil"
    case .boolean(let value): style == .exact ? (value ? "YES" : "NO") : (value ? "1" : "0")
    case .integer(let value): String(value)
    case .real(let value): format(value)
    case .decimal(let value): style == .exact ? cast(quoted(value.description), "NSDecimalNumber") : value.description
    case .string(let text): quoted(text)
    case .date(let date): cast(seconds(date.timeIntervalSinceReferenceDate), "NSDate")
    case .data(let data): cast(quoted(data.base64EncodedString()), "NSData")
    case .uuid(let uuid): cast(quoted(uuid.uuidString), "NSUUID")
    case .url(let url): cast(quoted(url.absoluteString), "NSURL")
    case .array(let elements): collection(elements.map(format), "NSArray")
    case .set(let elements): collection(elements.map(format), "NSSet")
    case .dictionary(let dictionary):
      collection(
        dictionary.sorted { $0.key < $1.key }.flatMap { [quoted($0.key), format($0.value)] }, "NSDictionary")
    case .object(let object): String(describing: object.value)
    }
  }

  private func collection(_ elements: [String], _ type: String) -> String {
    style == .exact || type == "NSDictionary" ? cast(list(elements), type) : list(elements)
  }

  private func format(_ value: Double) -> String {
    guard value.isFinite else { return cast(quoted(value.description), "Double") }
    guard style == .foundation else { return value.description }
    return Int64(exactly: value).map(String.init) ?? value.description
  }

  /// The seconds of a date with six digits as Foundation writes them, or more where six are too few.
  private func seconds(_ interval: Double) -> String {
    let text = String(format: "%f", interval)
    return style == .foundation || Double(text) == interval ? text : interval.description
  }

  private func cast(_ value: String, _ type: String) -> String {
    "CAST(\(value), \"\(type)\")"
  }

  func quoted(_ text: String) -> String {
    var result = "\""
    for character in text {
      switch character {
      case "\"", "\\": result += "\\" + String(character)
      case "\n": result += "\\n"
      case "\t": result += "\\t"
      case "\r": result += "\\r"
      default: result.append(character)
      }
    }
    return result + "\""
  }
}
