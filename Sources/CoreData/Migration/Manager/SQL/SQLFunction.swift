// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataPredicates
import CoreDataSQLite
import CoreDataStoreFiles
import Foundation

/// A Swift function that the statements of a mapping call for operations SQL lacks.
struct SQLFunction {
  let name: String
  let argumentCount: Int
  /// Computes most values without calling `body`; nil if unavailable.
  var texts: TextExpression?
  let body: ([SQLiteValue]) throws -> SQLiteValue

  func answer(_ call: SQLiteFunctionCall) throws {
    if let texts, texts.answer(call) { return }
    call.setResult(try body((0..<call.argumentCount).map(call.value)))
  }
}

extension [SQLFunction] {
  /// Registers the functions while a body runs.
  ///
  /// - Throws: the error of a function if one has ended a statement; otherwise the error of the body.
  func calling<Result>(on connection: SQLiteConnection, _ body: () throws -> Result) throws -> Result {
    var failure: (any Error)?
    for function in self {
      try connection.register(directFunction: function.name, argumentCount: function.argumentCount) { call in
        do {
          try function.answer(call)
        } catch {
          // SQLite passes on only the text of an error.
          failure = error
          throw error
        }
      }
    }
    defer {
      // No other statement calls them, and they disappear with the connection.
      for function in self {
        try? connection.unregister(function: function.name, argumentCount: function.argumentCount)
      }
    }
    do {
      return try body()
    } catch {
      throw failure ?? error
    }
  }
}

/// Converts the values of a column to those that expressions use, and back.
struct ColumnConverter {
  private let coding: ColumnCoding
  private let attribute: NSAttributeDescription
  private let external: ExternalData

  init?(_ layout: AttributeLayout, _ attribute: NSAttributeDescription, external: ExternalData) {
    guard let coding = ColumnCoding(layout) else { return nil }
    self.coding = coding
    self.attribute = attribute
    self.external = external
  }

  /// Whether values are strings both in the column and in expressions.
  var isText: Bool { if case .string = coding { true } else { false } }

  /// Returns the value of a column as an object would return it.
  func value(_ stored: SQLiteValue) throws -> Any? {
    // The common case needs no slot.
    if case .text(let text) = stored, case .string = coding { return text }
    guard let slot = try coding.slot(of: stored, external: external) else {
      throw UnreadableValue(attribute: attribute.name, found: stored.shortLiteral)
    }
    if case .archived(let data) = slot { return TransformableValues.decode(data, of: attribute) }
    return slot.publicValue
  }

  /// Converts a value for the column, as setting it on an object would.
  ///
  /// - Throws: `UnfitValue` for a value that does not have the attribute's type.
  func stored(_ value: Any?) throws -> SQLiteValue {
    guard let value else { return .null }
    if case .string = coding, let text = value as? String { return .text(text) }
    guard var slot = Slot(migrated: value, for: attribute) else {
      throw unacceptable(value)
    }
    if case .archived = coding, case .object(let object) = slot {
      slot = try TransformableValues.encode(object, of: attribute).map { .archived($0) } ?? .null
    }
    guard let stored = try coding.value(of: slot, external: external) else { throw unacceptable(value) }
    return stored
  }

  private func unacceptable(_ value: Any) -> UnfitValue {
    UnfitValue(attribute: attribute.name, found: Operand.description(value), wanted: attribute.wantedValue)
  }

  struct UnfitValue: Error, CustomStringConvertible {
    let attribute: String
    let found: String
    let wanted: String

    var description: String { "The value of '\(attribute)' is \(found), and \(wanted) is needed." }
  }

  struct UnreadableValue: Error, CustomStringConvertible {
    let attribute: String
    let found: String

    var description: String { "The value of '\(attribute)' cannot be read: it is \(found)." }
  }
}

/// An expression compiled for evaluation on every row of a table.
///
/// Constants, inputs and function calls become closures. Everything else is left to the evaluator, with the inputs as
/// variables.
struct CompiledExpression {
  typealias Body = (_ inputs: [Any?]) throws -> Any?

  private let body: Body

  /// - Parameters:
  ///   - inputs: the variables that represent the inputs, in order.
  ///   - variables: variables with the same value for every row.
  init(_ expression: ExpressionSyntax, inputs: [String], variables: [String: Any?]) {
    body = Self.compiled(expression, inputs, variables)
  }

  func value(_ inputs: [Any?]) throws -> Any? { try body(inputs) }

  private static func compiled(
    _ expression: ExpressionSyntax, _ inputs: [String], _ variables: [String: Any?]
  ) -> Body {
    switch expression {
    case .constant(let value):
      let constant = value == .null ? nil : value.foundationValue()
      return { _ in constant }
    case .variable(let name):
      if let position = inputs.firstIndex(of: name) { return { $0[position] } }
    case .function(let operand?, let name, let arguments):
      let target = compiled(operand, inputs, variables)
      let values = arguments.map { compiled($0, inputs, variables) }
      return { row in
        // As in the evaluator, a function called on null returns null.
        guard let target = try target(row) else { return nil }
        return try PredicateEvaluator.callFunction(name, on: target, try values.map { try $0(row) })
      }
    default: break
    }
    var evaluator = PredicateEvaluator(variables: variables)
    return { row in
      for (position, name) in inputs.enumerated() { evaluator.variables[name] = .some(row[position]) }
      return try evaluator.value(expression, with: nil)
    }
  }
}
