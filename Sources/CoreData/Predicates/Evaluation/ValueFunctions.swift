// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataPredicates
import Foundation

/// Methods of Foundation's classes that expressions may call on values: `FUNCTION($source.name, "uppercaseString")`.
///
/// Differs from Apple: without selectors, only these methods can be called. They return the same results as
/// Foundation's methods. A nil argument, like a nil operand, makes the result nil.
enum ValueFunctions {
  /// Calls a function on a value.
  ///
  /// - Throws: `EvaluationError.unknownFunction`, which lists the known names; `wrongType` for invalid arguments.
  static func call(_ name: String, on target: Any, _ arguments: [Any?]) throws -> Any? {
    let call = Call(name: name, target: target, arguments: arguments)
    if let text = target as? String { return try TextFunctions.value(call, text) }
    if type(of: target) == [String].self, let texts = target as? [String] {
      switch name {
      case "firstObject": return texts.first
      case "lastObject": return texts.last
      default: return try CollectionFunctions.value(call, texts)
      }
    }
    if let date = target as? Date { return try DateFunctions.value(call, date) }
    if let number = target as? NSNumber { return try NumberFunctions.value(call, number) }
    if let elements = Operand.elements(target) { return try CollectionFunctions.value(call, elements) }
    if let data = target as? Data { return try DataFunctions.value(call, data) }
    if let id = target as? UUID, name == "UUIDString" { return id.uuidString }
    if let url = target as? URL { return try URLFunctions.value(call, url) }
    return try call.common(known: ["description"])
  }

  /// A call, with operations common to all types of values.
  struct Call {
    let name: String
    let target: Any
    let arguments: [Any?]

    func argument(_ position: Int = 0) throws -> Any {
      guard position < arguments.count else {
        throw EvaluationError.wrongType(
          name, value: "\(arguments.count) arguments", expected: "\(name.count { $0 == ":" })")
      }
      guard let value = Operand.unwrapped(arguments[position]) else { throw MissingArgument() }
      return value
    }

    func text(_ position: Int = 0) throws -> String {
      let value = try argument(position)
      guard let text = value as? String else {
        throw EvaluationError.wrongType(name, value: Operand.description(value), expected: "a string")
      }
      return text
    }

    func number(_ position: Int = 0) throws -> Number { try Number(try argument(position), for: name) }

    /// Returns an argument that is an index from 0 to `count`.
    func index(_ position: Int = 0, upTo count: Int) throws -> Int {
      guard case .integer(let index) = try number(position), index >= 0, index <= count else {
        throw EvaluationError.wrongType(
          name, value: Operand.description(arguments[position]), expected: "an integer from 0 to \(count)")
      }
      return Int(index)
    }

    func date(_ position: Int = 0) throws -> Date {
      let value = try argument(position)
      guard let date = value as? Date else {
        throw EvaluationError.wrongType(name, value: Operand.description(value), expected: "a date")
      }
      return date
    }

    /// Calls a function that every value has. Throws an error with the known names for any other function.
    func common(known: [String]) throws -> Any? {
      switch name {
      case "self": return target
      case "description":
        if let number = target as? NSNumber { return number.stringValue }
        return Operand.described(target)
      case "isEqual:": return NSNumber(value: Operand.areEqual(target, arguments.first ?? nil))
      default:
        let names = (known + ["self", "description", "isEqual:"]).sorted().joined(separator: ", ")
        throw EvaluationError.unknownFunction(
          name, operand: "\(Operand.description(target)), which has: \(names)")
      }
    }
  }

  /// An error for a nil argument, which makes the result nil.
  struct MissingArgument: Error {}
}

/// Functions of strings. Positions and lengths count UTF-16 units, as in Foundation.
private enum TextFunctions {
  private static let names = [
    "length", "uppercaseString", "lowercaseString", "capitalizedString", "stringByAppendingString:",
    "stringByAppendingPathComponent:", "stringByAppendingPathExtension:", "lastPathComponent", "pathExtension",
    "stringByDeletingPathExtension", "stringByDeletingLastPathComponent", "componentsSeparatedByString:",
    "substringToIndex:", "substringFromIndex:", "stringByReplacingOccurrencesOfString:withString:",
    "stringByTrimmingWhitespace", "hasPrefix:", "hasSuffix:", "containsString:", "integerValue", "intValue",
    "longLongValue", "doubleValue", "floatValue", "boolValue", "compare:", "caseInsensitiveCompare:",
    "isEqualToString:",
    "dataUsingUTF8Encoding",
  ]

  static func value(_ call: ValueFunctions.Call, _ text: String) throws -> Any? {
    switch call.name {
    case "length": return text.utf16.count
    case "uppercaseString": return text.uppercased()
    case "lowercaseString": return text.lowercased()
    case "capitalizedString": return text.capitalized
    case "stringByAppendingString:": return text + (try call.text())
    case "componentsSeparatedByString:": return components(of: text, separatedBy: try call.text())
    case "substringToIndex:": return try substring(call, text) { ($0.startIndex, $1) }
    case "substringFromIndex:": return try substring(call, text) { ($1, $0.endIndex) }
    case "stringByReplacingOccurrencesOfString:withString:":
      return text.replacingOccurrences(of: try call.text(), with: try call.text(1))
    case "stringByTrimmingWhitespace": return text.trimmingCharacters(in: .whitespacesAndNewlines)
    case "hasPrefix:": return NSNumber(value: text.hasPrefix(try call.text()))
    case "hasSuffix:": return NSNumber(value: text.hasSuffix(try call.text()))
    case "containsString:": return NSNumber(value: text.contains(try call.text()))
    case "compare:": return NSNumber(value: text.compare(try call.text()).rawValue)
    case "caseInsensitiveCompare:": return NSNumber(value: text.caseInsensitiveCompare(try call.text()).rawValue)
    case "isEqualToString:": return NSNumber(value: (text as NSString).isEqual(to: try call.text()))
    case "dataUsingUTF8Encoding": return Data(text.utf8)
    default: return try number(text, call.name) ?? path(text, call) ?? call.common(known: names)
    }
  }

  private static func number(_ text: String, _ name: String) -> NSNumber? {
    let string = text as NSString
    switch name {
    case "integerValue", "longLongValue": return NSNumber(value: string.longLongValue)
    case "intValue": return NSNumber(value: string.intValue)
    case "doubleValue": return NSNumber(value: string.doubleValue)
    case "floatValue": return NSNumber(value: string.floatValue)
    case "boolValue": return NSNumber(value: string.boolValue)
    default: return nil
    }
  }

  private static func path(_ text: String, _ call: ValueFunctions.Call) throws -> String? {
    let string = text as NSString
    switch call.name {
    case "lastPathComponent": return string.lastPathComponent
    case "pathExtension": return string.pathExtension
    case "stringByDeletingPathExtension": return string.deletingPathExtension
    case "stringByDeletingLastPathComponent": return string.deletingLastPathComponent
    case "stringByAppendingPathComponent:": return string.appendingPathComponent(try call.text())
    case "stringByAppendingPathExtension:": return string.appendingPathExtension(try call.text())
    default: return nil
    }
  }

  private static func substring(
    _ call: ValueFunctions.Call, _ text: String,
    _ bounds: (String.UTF16View, String.Index) -> (String.Index, String.Index)
  ) throws -> String {
    let units = text.utf16
    let index = units.index(units.startIndex, offsetBy: try call.index(upTo: units.count))
    let (start, end) = bounds(units, index)
    // Half of a surrogate pair is replaced, as when Foundation bridges the string to Swift.
    return String(units[start..<end]) ?? String(decoding: units[start..<end], as: UTF16.self)
  }

  /// Splits a string with a literal search.
  private static func components(of text: String, separatedBy separator: String) -> [String] {
    guard !separator.isEmpty else { return [text] }
    var text = text
    return text.withUTF8 { bytes in
      var separator = separator
      return separator.withUTF8 { pattern in
        var parts: [String] = []
        var (start, position) = (0, 0)
        while position + pattern.count <= bytes.count {
          if bytes[position] == pattern[0], bytes[position..<(position + pattern.count)].elementsEqual(pattern) {
            parts.append(String(decoding: bytes[start..<position], as: UTF8.self))
            position += pattern.count
            start = position
          } else {
            position += 1
          }
        }
        parts.append(String(decoding: bytes[start..<bytes.count], as: UTF8.self))
        return parts
      }
    }
  }
}

private enum NumberFunctions {
  private static let names = [
    "stringValue", "integerValue", "intValue", "longLongValue", "doubleValue", "floatValue", "boolValue",
    "decimalValue",
    "compare:", "isEqualToNumber:",
  ]

  static func value(_ call: ValueFunctions.Call, _ number: NSNumber) throws -> Any? {
    switch call.name {
    case "stringValue": return number.stringValue
    case "integerValue", "longLongValue": return NSNumber(value: Number(number)?.integer ?? number.int64Value)
    case "intValue": return NSNumber(value: number.int32Value)
    case "doubleValue": return NSNumber(value: Number(number)?.real ?? number.doubleValue)
    case "floatValue": return NSNumber(value: Number(number).map { Float($0.real) } ?? number.floatValue)
    case "boolValue": return NSNumber(value: number.boolValue)
    case "decimalValue": return NSDecimalNumber(decimal: Number(number)?.decimal ?? number.decimalValue)
    case "compare:":
      let order = Number.compare(try Number(number, for: call.name), try call.number())
      return NSNumber(value: (order ?? .orderedSame).rawValue)
    case "isEqualToNumber:": return NSNumber(value: Operand.areEqual(number, try call.argument()))
    default: return try call.common(known: names)
    }
  }
}

private enum DateFunctions {
  private static let names = [
    "dateByAddingTimeInterval:", "timeIntervalSinceReferenceDate", "timeIntervalSince1970", "timeIntervalSinceDate:",
    "timeIntervalSinceNow", "earlierDate:", "laterDate:", "compare:",
  ]

  static func value(_ call: ValueFunctions.Call, _ date: Date) throws -> Any? {
    switch call.name {
    case "dateByAddingTimeInterval:": return date.addingTimeInterval(try call.number().real)
    case "timeIntervalSinceReferenceDate": return NSNumber(value: date.timeIntervalSinceReferenceDate)
    case "timeIntervalSince1970": return NSNumber(value: date.timeIntervalSince1970)
    case "timeIntervalSinceNow": return NSNumber(value: date.timeIntervalSinceNow)
    case "timeIntervalSinceDate:": return NSNumber(value: date.timeIntervalSince(try call.date()))
    case "earlierDate:": return min(date, try call.date())
    case "laterDate:": return max(date, try call.date())
    case "compare:": return NSNumber(value: date.compare(try call.date()).rawValue)
    default: return try call.common(known: names)
    }
  }
}

/// Functions of arrays and sets.
private enum CollectionFunctions {
  private static let names = [
    "count", "firstObject", "lastObject", "anyObject", "allObjects", "objectAtIndex:", "componentsJoinedByString:",
    "containsObject:", "arrayByAddingObject:",
  ]

  static func value(_ call: ValueFunctions.Call, _ elements: [Any]) throws -> Any? {
    switch call.name {
    case "count": return elements.count
    case "firstObject", "anyObject": return Operand.unwrapped(elements.first)
    case "lastObject": return Operand.unwrapped(elements.last)
    case "allObjects", "array": return elements
    case "objectAtIndex:":
      guard !elements.isEmpty else {
        throw EvaluationError.wrongType(call.name, value: "an empty collection", expected: "elements")
      }
      return Operand.unwrapped(elements[try call.index(upTo: elements.count - 1)])
    case "componentsJoinedByString:":
      return elements.map { $0 as? String ?? (($0 as? NSNumber)?.stringValue ?? "\($0)") }
        .joined(separator: try call.text())
    case "containsObject:":
      let wanted = try call.argument()
      return NSNumber(value: elements.contains { Operand.areEqual($0, wanted) })
    case "arrayByAddingObject:": return elements + [try call.argument()]
    default: return try call.common(known: names)
    }
  }
}

private enum DataFunctions {
  static func value(_ call: ValueFunctions.Call, _ data: Data) throws -> Any? {
    switch call.name {
    case "length": return data.count
    case "base64EncodedString": return data.base64EncodedString()
    default: return try call.common(known: ["length", "base64EncodedString"])
    }
  }
}

private enum URLFunctions {
  static func value(_ call: ValueFunctions.Call, _ url: URL) throws -> Any? {
    switch call.name {
    case "absoluteString": return url.absoluteString
    case "path": return url.path
    case "host": return url.host
    case "lastPathComponent": return url.lastPathComponent
    case "pathExtension": return url.pathExtension
    default: return try call.common(known: ["absoluteString", "path", "host", "lastPathComponent", "pathExtension"])
    }
  }
}
