// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataPredicates
import Foundation

/// Values of expressions.
extension PredicateEvaluator {
  /// The value of an expression for an object; nil for nothing and `NSNull`.
  internal func value(_ expression: ExpressionSyntax, with object: Any?) throws -> Any? {
    switch expression {
    case .constant(let value): return value == .null ? nil : value.foundationValue()
    case .evaluatedObject: return Operand.unwrapped(object)
    case .variable(let name):
      guard let value = variables[name] else { throw EvaluationError.missingVariable(name) }
      return Operand.unwrapped(value)
    case .keyPath(let path): return Operand.unwrapped(try KeyPathReader.value(path, of: object))
    case .keyPathOf(let operand, let path):
      return Operand.unwrapped(try KeyPathReader.value(path, of: try value(operand, with: object)))
    case .anyKey: throw EvaluationError.notEvaluable("ANYKEY")
    case .function(let operand?, let name, let arguments):
      let target = try value(operand, with: object)
      // As a message to nil has none, a function of nothing has no value.
      guard let target else { return nil }
      return try Self.callFunction(name, on: target, try arguments.map { try value($0, with: object) })
    case .function(nil, PredefinedFunction.index, let arguments) where arguments.count == 2:
      return try element(arguments[1], of: try value(arguments[0], with: object), with: object)
    case .function(nil, let name, let arguments):
      return try FunctionLibrary.call(name, try arguments.map { try value($0, with: object) })
    case .aggregate(let elements): return try elements.map { try value($0, with: object) ?? NSNull() }
    case .union(let left, let right):
      return NSSet(array: try elements(left, "UNION", object) + elements(right, "UNION", object))
    case .intersect(let left, let right):
      let others = try elements(right, "INTERSECT", object)
      return NSSet(
        array: try elements(left, "INTERSECT", object).filter { element in
          others.contains { Operand.areEqual($0, element) }
        })
    case .minus(let left, let right):
      let others = try elements(right, "MINUS", object)
      return NSSet(
        array: try elements(left, "MINUS", object).filter { element in
          !others.contains { Operand.areEqual($0, element) }
        })
    case .subquery(let collection, let variable, let predicate):
      return try subquery(collection, variable, predicate, object)
    case .conditional(let condition, let whenTrue, let whenFalse):
      return try value(try evaluate(condition, with: object) ? whenTrue : whenFalse, with: object)
    case .fetch(let request, let context, let countOnly):
      guard let context = try value(context, with: object) as? any FetchEvaluating else {
        throw EvaluationError.notEvaluable("A fetch without a managed object context")
      }
      return try context.evaluateFetch(try value(request, with: object), countOnly: countOnly)
    }
  }

  /// Calls a function of a manager, a policy, an object, or a plain value.
  internal static func callFunction(_ name: String, on target: Any, _ arguments: [Any?]) throws -> Any? {
    do {
      // Casts of what is a text or a list of texts already are what evaluations would spend most of their time on.
      if type(of: target) == String.self || type(of: target) == [String].self {
        return try ValueFunctions.call(name, on: target, arguments)
      }
      // Objective-C's way to read a property, by its name or by key-value coding.
      if arguments.isEmpty, let reading = target as? any KeyValueReading {
        return Operand.unwrapped(try reading.value(forKeyPathComponent: name))
      }
      if name == "valueForKey:" || name == "valueForKeyPath:", arguments.count == 1,
        let path = Operand.unwrapped(arguments[0]) as? String
      {
        return Operand.unwrapped(try KeyPathReader.value(path, of: target))
      }
      if let provider = target as? any FunctionProviding {
        return try provider.callFunction(name, arguments: arguments)
      }
      return try ValueFunctions.call(name, on: target, arguments)
    } catch is ValueFunctions.MissingArgument {
      return nil
    }
  }

  private func elements(_ expression: ExpressionSyntax, _ name: String, _ object: Any?) throws -> [Any] {
    guard let value = try value(expression, with: object) else { return [] }
    guard let elements = Operand.elements(value) else {
      throw EvaluationError.wrongType(name, value: Operand.description(value), expected: "collections")
    }
    return elements
  }

  private func subquery(
    _ collection: ExpressionSyntax, _ variable: String, _ predicate: PredicateSyntax, _ object: Any?
  ) throws -> [Any] {
    var inner = self
    return try elements(collection, "SUBQUERY", object).filter { element in
      inner.variables[variable] = .some(element)
      return try inner.evaluate(predicate, with: object)
    }
  }

  private func element(_ index: ExpressionSyntax, of collection: Any?, with object: Any?) throws -> Any? {
    guard let collection else { return nil }
    guard let elements = Operand.elements(collection) else {
      guard case let key? = try value(index, with: object) else { return nil }
      return Operand.unwrapped(try KeyPathReader.value(String(describing: key), of: collection))
    }
    switch index {
    case .function(nil, "FIRST", _): return Operand.unwrapped(elements.first)
    case .function(nil, "LAST", _): return Operand.unwrapped(elements.last)
    case .function(nil, "SIZE", _): return elements.count
    default:
      guard case .integer(let position) = try Number(try value(index, with: object), for: "An index") else {
        throw EvaluationError.wrongType("An index", value: "a fraction", expected: "a whole number")
      }
      guard position >= 0, position < elements.count else { return nil }
      return Operand.unwrapped(elements[Int(position)])
    }
  }
}
