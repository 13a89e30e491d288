// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataPredicates
import CoreDataSQLite
import Foundation

/// A string expression over string arguments, evaluated directly on SQLite's bytes.
///
/// A migration evaluates it for every row, and boxed values, arrays of components and copied strings would take most of
/// the time. It supports the functions that migrations use most, with the results of `PredicateEvaluator`. Arguments
/// other than text and null, and all errors, are left to the evaluator.
indirect enum TextExpression {
  case input(Int)
  case constant(String)
  /// A component of the string.
  case part(TextExpression, separator: [UInt8], Part)
  case changed(TextExpression, (String) -> String)
  case joined(TextExpression, TextExpression)

  enum Part: Equatable {
    case first
    case last
    case at(Int)
  }

  /// Creates the expression; nil if it is not supported.
  ///
  /// - Parameter inputs: the variables that represent the arguments.
  init?(_ expression: ExpressionSyntax, inputs: [String]) {
    switch expression {
    case .constant(.string(let text)): self = .constant(text)
    case .variable(let name):
      guard let position = inputs.firstIndex(of: name) else { return nil }
      self = .input(position)
    case .function(
      .function(let text?, "componentsSeparatedByString:", let separators), let name, let arguments):
      guard separators.count == 1, case .constant(.string(let separator)) = separators[0],
        let part = Self.part(name, arguments), let text = TextExpression(text, inputs: inputs)
      else { return nil }
      self = .part(text, separator: Array(separator.utf8), part)
    case .function(let operand?, "stringByAppendingString:", let arguments):
      guard arguments.count == 1, let text = TextExpression(operand, inputs: inputs),
        let end = TextExpression(arguments[0], inputs: inputs)
      else { return nil }
      self = .joined(text, end)
    case .function(let operand?, let name, let arguments):
      guard arguments.isEmpty, let change = Self.changes[name], let text = TextExpression(operand, inputs: inputs)
      else { return nil }
      self = .changed(text, change)
    default: return nil
    }
  }

  private static let changes: [String: @Sendable (String) -> String] = [
    "uppercaseString": { $0.uppercased() },
    "lowercaseString": { $0.lowercased() },
    "capitalizedString": { $0.capitalized },
    "stringByTrimmingWhitespace": { $0.trimmingCharacters(in: .whitespacesAndNewlines) },
  ]

  private static func part(_ name: String, _ arguments: [ExpressionSyntax]) -> Part? {
    switch (name, arguments.first) {
    case ("firstObject", nil): .first
    case ("lastObject", nil): .last
    case ("objectAtIndex:", .constant(.integer(let place))?) where arguments.count == 1 && place >= 0:
      Int(exactly: place).map { .at($0) }
    default: nil
    }
  }

  // MARK: Results

  /// The result of an evaluation.
  private enum Outcome<Value> {
    case value(Value)
    case nothing
    /// Left to the evaluator.
    case unknown
  }

  /// Returns the value to SQL.
  ///
  /// - Returns: false if the evaluator must compute the value.
  func answer(_ call: SQLiteFunctionCall) -> Bool {
    switch slice(call) {
    case .value(let bytes):
      call.setResult(text: bytes)
      return true
    case .nothing:
      call.setResult(.null)
      return true
    case .unknown: break
    }
    switch text(call) {
    case .value(let text): call.setResult(.text(text))
    case .nothing: call.setResult(.null)
    case .unknown: return false
    }
    return true
  }

  /// Returns the value as a slice of an ASCII argument. Other text may be invalid UTF-8, which must be repaired first.
  private func slice(_ call: SQLiteFunctionCall) -> Outcome<UnsafeBufferPointer<UInt8>> {
    switch self {
    case .input(let position):
      guard let bytes = call.textBytes(position) else { return call.isNull(position) ? .nothing : .unknown }
      return bytes.allSatisfy { $0 < 0x80 } ? .value(bytes) : .unknown
    case .part(let text, let separator, let part):
      let found = text.slice(call)
      guard case .value(let bytes) = found else { return found }
      return Self.part(part, of: bytes, separatedBy: separator).map { .value($0) } ?? .unknown
    case .constant, .changed, .joined: return .unknown
    }
  }

  private func text(_ call: SQLiteFunctionCall) -> Outcome<String> {
    switch self {
    case .input(let position):
      guard let bytes = call.textBytes(position) else { return call.isNull(position) ? .nothing : .unknown }
      return .value(String(decoding: bytes, as: UTF8.self))
    case .constant(let text): return .value(text)
    case .part(let text, let separator, let part):
      let found = text.text(call)
      guard case .value(var value) = found else { return found }
      return value.withUTF8 { bytes in
        Self.part(part, of: bytes, separatedBy: separator).map { .value(String(decoding: $0, as: UTF8.self)) }
          ?? .unknown
      }
    case .changed(let text, let change):
      let found = text.text(call)
      guard case .value(let value) = found else { return found }
      return .value(change(value))
    case .joined(let text, let end):
      switch (text.text(call), end.text(call)) {
      case (.value(let text), .value(let end)): return .value(text + end)
      case (.unknown, _), (_, .unknown): return .unknown
      default: return .nothing
      }
    }
  }

  /// Returns a component, found by literal search; nil if there are too few.
  private static func part(
    _ part: Part, of bytes: UnsafeBufferPointer<UInt8>, separatedBy separator: [UInt8]
  ) -> UnsafeBufferPointer<UInt8>? {
    guard let initial = separator.first else { return part == .first || part == .last || part == .at(0) ? bytes : nil }
    var (start, position, number) = (0, 0, 0)
    while position + separator.count <= bytes.count {
      guard bytes[position] == initial, separator.count == 1 || meets(separator, bytes, at: position) else {
        position += 1
        continue
      }
      if part == .first || part == .at(number) { return .init(rebasing: bytes[start..<position]) }
      number += 1
      position += separator.count
      start = position
    }
    guard part == .first || part == .last || part == .at(number) else { return nil }
    return .init(rebasing: bytes[start...])
  }

  private static func meets(_ pattern: [UInt8], _ bytes: UnsafeBufferPointer<UInt8>, at position: Int) -> Bool {
    for offset in pattern.indices where bytes[position + offset] != pattern[offset] { return false }
    return true
  }
}
