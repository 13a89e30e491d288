// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataPredicates

/// An expression over numbered inputs, made ready to be evaluated for every row of a table.
///
/// Constants, inputs and functions of values become closures; everything else is left to the evaluator, which is asked with
/// the inputs as variables.
struct CompiledExpression {
  typealias Body = (_ inputs: [Any?]) throws -> Any?

  private let body: Body

  /// - Parameters:
  ///   - inputs: the variables that stand for the inputs.
  ///   - variables: further variables, whose values are always the same.
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
        // As in the evaluator, a function of nothing has no value.
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
