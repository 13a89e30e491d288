// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataPredicates
import Foundation

extension FormattedPredicate where Self: NSPredicate {
  /// Creates a predicate from Foundation's `#Predicate`: `NSPredicate(#Predicate<Person> { $0.age > 30 })`.
  ///
  /// Supports properties of managed objects with accessors over `ManagedProperty`, including through relationships and
  /// `?`, captured values, comparisons, `&&`, `||`, `!`, `+`, `-`, `*`, `??`, conditions, ranges, `contains`,
  /// `contains(where:)`, `allSatisfy`, `filter`, and `starts(with:)` and `contains` of strings.
  ///
  /// - Parameter predicate: the predicate. If it contains anything else, the result is nil.
  public init?<Input: NSManagedObject>(_ predicate: Predicate<Input>) {
    var translation = PredicateTranslation()
    translation.names[predicate.variable.key] = .evaluatedObject
    do {
      let syntax = try translation.condition(predicate.expression)
      self = unsafeDowncast(NSPredicate.make(syntax), to: Self.self)
    } catch {
      // Apple's initializer gives no reason either.
      return nil
    }
  }
}

/// The translation of a `#Predicate` to the format language, with its variables.
private struct PredicateTranslation {
  typealias Part = PredicateNode.Part
  struct Unsupported: Error {}

  /// What an expression becomes.
  private enum Meaning {
    case value(ExpressionSyntax)
    case condition(PredicateSyntax)
  }

  var names: [PredicateExpressions.VariableID: ExpressionSyntax] = [:]
  private var count = 0

  /// Returns the syntax of an expression, or throws for one that has none.
  mutating func value(_ part: Part) throws -> ExpressionSyntax {
    switch try meaning(of: part) {
    case .value(let value): value
    case .condition(let test): .conditional(test, .constant(.boolean(true)), .constant(.boolean(false)))
    }
  }

  mutating func condition(_ part: Part) throws -> PredicateSyntax {
    if case .value(let truth as Bool) = PredicateNode(part) { return .constant(truth) }
    return switch try meaning(of: part) {
    case .value(let value): .comparison(ComparisonSyntax(value, .equalTo, .constant(.boolean(true))))
    case .condition(let condition): condition
    }
  }

  private mutating func meaning(of part: Part) throws -> Meaning {
    switch PredicateNode(part) {
    case .variable(let key):
      guard let name = names[key] else { throw Unsupported() }
      return .value(name)
    case .value(let value): return .value(constant(value))
    case .property(let keyPath, let root): return .value(path(try value(root), try KeyPathRecorder.key(for: keyPath)))
    case .unwrapped(let inner): return .value(try value(inner))
    case .chain(let wrapped, let variable, let rest):
      names[variable.key] = try value(wrapped)
      return .value(try value(rest))
    case .coalesced(let left, let right):
      let left = try value(left)
      let isMissing = PredicateSyntax.comparison(ComparisonSyntax(left, .equalTo, .constant(.null)))
      return .value(.conditional(isMissing, try value(right), left))
    case .conditional(let test, let yes, let no):
      return .value(.conditional(try condition(test), try value(yes), try value(no)))
    case .calculation(let calculation, let operands):
      guard [.add, .subtract, .multiply].contains(calculation) else { throw Unsupported() }
      let arguments = try operands.map { try value($0) }
      return .value(.function(operand: nil, name: calculation.rawValue, arguments: arguments))
    case .and(let left, let right): return .condition(.and([try condition(left), try condition(right)]))
    case .or(let left, let right): return .condition(.or([try condition(left), try condition(right)]))
    case .not(let inner): return .condition(.not(try condition(inner)))
    case .comparison(let left, let op, let right):
      guard let op = ComparisonSyntax.Operator(rawValue: op.rawValue) else { throw Unsupported() }
      return .condition(.comparison(ComparisonSyntax(try value(left), op, try value(right))))
    case .contains(let sequence, let element):
      return .condition(.comparison(ComparisonSyntax(try value(element), .in, try value(sequence))))
    case .containsWhere(let sequence, let variable, let test):
      let found = try subquery(sequence, variable) { try $0.condition(test) }
      return .condition(
        .comparison(ComparisonSyntax(.keyPathOf(found, "@count"), .greaterThan, .constant(.integer(0)))))
    case .allSatisfy(let sequence, let variable, let test):
      let others = try subquery(sequence, variable) { .not(try $0.condition(test)) }
      return .condition(.comparison(ComparisonSyntax(.keyPathOf(others, "@count"), .equalTo, .constant(.integer(0)))))
    case .filter(let sequence, let variable, let test):
      return .value(try subquery(sequence, variable) { try $0.condition(test) })
    case .range(let lower, let upper, true): return .value(.aggregate([try value(lower), try value(upper)]))
    case .rangeContains(let range, let element):
      let element = try value(element)
      return .condition(.comparison(ComparisonSyntax(element, .between, try bounds(of: range))))
    case .text(let function, let whole, let other):
      return .condition(try comparison(function, whole, other))
    case .range, .floatDivision, .typeCheck, .inMemory, .unknownOperator, nil: throw Unsupported()
    }
  }

  private func constant(_ value: Any?) -> ExpressionSyntax {
    .constant(Operand.unwrapped(value).map { PlainValue($0) } ?? .null)
  }

  private func path(_ base: ExpressionSyntax, _ key: String) -> ExpressionSyntax {
    switch base {
    case _ where key == "self": base
    case .evaluatedObject: .keyPath(key)
    case .keyPath(let path): .keyPath("\(path).\(key)")
    case .keyPathOf(let operand, let path): .keyPathOf(operand, "\(path).\(key)")
    default: .keyPathOf(base, key)
    }
  }

  /// Returns the members of a collection that satisfy a condition.
  private mutating func subquery(
    _ collection: Part, _ variable: any PredicateVariable, _ test: (inout Self) throws -> PredicateSyntax
  ) throws -> ExpressionSyntax {
    let collection = try value(collection)
    count += 1
    let name = "element\(count)"
    names[variable.key] = .variable(name)
    return .subquery(collection: collection, variable: name, predicate: try test(&self))
  }

  /// Returns both ends of a range.
  private mutating func bounds(of range: Part) throws -> ExpressionSyntax {
    switch PredicateNode(range) {
    case .range(_, _, true): return try value(range)
    case .value(let range as any ConstantRange):
      let bounds = range.bounds
      guard let lower = bounds.lower, let upper = bounds.upper, bounds.includesUpper else { throw Unsupported() }
      return .aggregate([.constant(PlainValue(lower)), .constant(PlainValue(upper))])
    default: throw Unsupported()
    }
  }

  private mutating func comparison<Whole: PredicateExpression>(
    _ function: PredicateNode.TextFunction, _ whole: Whole, _ other: Part
  ) throws -> PredicateSyntax {
    guard Whole.Output.self is any StringProtocol.Type else { throw Unsupported() }
    let op: ComparisonSyntax.Operator =
      switch function {
      case .startsWith: .beginsWith
      case .contains: .contains
      case .localizedStandardContains, .caseInsensitiveCompare, .localizedCompare: throw Unsupported()
      }
    return .comparison(ComparisonSyntax(try value(whole), op, try value(other)))
  }
}
