// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import Foundation

/// Finds values that satisfy the rules of attributes.
struct ValidValues {
  /// The error if no available value satisfies the rules.
  struct Unfound: Error, CustomStringConvertible {
    let entity: String
    let attribute: String

    var description: String {
      "No value was found that satisfies the rules of \(entity).\(attribute). Give a store with such rows."
    }
  }

  /// Returns a value that satisfies the rules of an attribute; nil if the given value does.
  ///
  /// - Parameters:
  ///   - value: the value that would be used without rules.
  ///   - number: a number that makes values differ.
  /// - Throws: `Unfound`.
  func value(like value: Any?, _ entity: NSEntityDescription, _ name: String, _ number: Int) throws -> Any? {
    guard let attribute = entity.attributesByName[name] else { return nil }
    guard let value else {
      // Only the app can create a value of this type.
      if !attribute.isOptional, !attribute.isTransient { throw Unfound(entity: entity.name ?? "", attribute: name) }
      return nil
    }
    guard !attribute.validationPredicates.isEmpty else { return nil }
    let predicates = attribute.validationPredicates
    if Self.keeps(value, predicates) { return nil }
    for candidate in Self.candidates(for: attribute, predicates, number) where Self.keeps(candidate, predicates) {
      return candidate
    }
    throw Unfound(entity: entity.name ?? "", attribute: name)
  }

  private static func keeps(_ value: Any, _ predicates: [NSPredicate]) -> Bool {
    predicates.allSatisfy { $0.evaluate(with: value) }
  }

  private static func candidates(
    for attribute: NSAttributeDescription, _ predicates: [NSPredicate], _ number: Int
  ) -> [Any] {
    // The numbers in the rules include the limits.
    let limits = predicates.flatMap { numbers(in: "\($0)") }
    let steps = [number % 7, 0, 1, -1]
    func near<Value>(_ value: (Double) -> Value) -> [Value] {
      limits.flatMap { limit in steps.map { value(limit + Double($0)) } }
    }
    switch attribute.attributeType {
    case .integer16AttributeType, .integer32AttributeType, .integer64AttributeType: return near { Int($0.rounded()) }
    case .doubleAttributeType, .floatAttributeType:
      return near { $0 } + zip(limits, limits.dropFirst()).map { ($0 + $1) / 2 }
    case .decimalAttributeType: return near { NSDecimalNumber(value: $0) }
    case .dateAttributeType: return near { Date(timeIntervalSinceReferenceDate: $0) }
    case .stringAttributeType:
      let patterns = predicates.flatMap { literals(in: "\($0)") }
      let samples: [String] = (0..<4).flatMap { shift in patterns.map { PatternSample.text($0, number * 4 + shift) } }
      return samples + texts(limits, number)
    case .binaryDataAttributeType:
      return limits.compactMap {
        $0 >= 0 && $0 < 1_000_000 ? Data(repeating: UInt8(number % 251), count: Int($0)) : nil
      }
    default: return []
    }
  }

  private static func texts(_ limits: [Double], _ number: Int) -> [String] {
    let digits = String(number)
    let lengths = Set(
      limits.filter { $0 >= 0 && $0 < 100_000 }.flatMap { [Int($0), Int($0) + 1, max(0, Int($0) - 1)] })
    let padded = lengths.sorted().flatMap { length in
      ["x", "X", "0"].map {
        String(repeating: $0, count: max(0, length - digits.count)) + String(digits.suffix(length))
      }
    }
    return padded + [
      digits, "a\(digits)", "A\(digits)", "name\(digits)@example.com", "https://example.com/\(digits)", "AB-\(digits)",
      UUID().uuidString, "2024-01-\(10 + number % 19)", "+49 30 \(100_000 + number)", "Name", "name", "NAME", "en",
      "en_US",
      "#00ff\(10 + number % 90)", "1.0.\(digits)", "", "true", "127.0.0.1",
    ]
  }

  /// Returns the string literals in a rule, one of which may be a regular expression.
  private static func literals(in text: String) -> [String] {
    var result: [String] = []
    var current: String?
    var isEscaped = false
    for character in text {
      guard var literal = current else {
        if character == "\"" { current = "" }
        continue
      }
      if isEscaped {
        literal.append(character)
        isEscaped = false
      } else if character == "\\" {
        isEscaped = true
      } else if character == "\"" {
        result.append(literal)
        current = nil
        continue
      } else {
        literal.append(character)
      }
      current = literal
    }
    return result
  }

  private static func numbers(in text: String) -> [Double] {
    text.split { !($0.isNumber || $0 == "." || $0 == "-" || $0 == "e" || $0 == "E") }.compactMap { Double($0) }
      .filter { abs($0) < 1e15 }
  }
}
