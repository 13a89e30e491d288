// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

// The nodes of Foundation's expressions.

// MARK: Values and optionals

extension PredicateExpressions.Variable: PredicateNodeConvertible, PredicateVariable {
  package var node: PredicateNode { .variable(key) }

  package func bind(_ value: Any, in bindings: inout PredicateBindings) {
    if let value = value as? Output { bindings[self] = value }
  }
}

extension PredicateExpressions.Value: PredicateNodeConvertible {
  package var node: PredicateNode { .value(value) }
}

extension PredicateExpressions.NilLiteral: PredicateNodeConvertible {
  package var node: PredicateNode { .value(nil) }
}

extension PredicateExpressions.KeyPath: PredicateNodeConvertible {
  package var node: PredicateNode { .property(keyPath, of: root) }
}

extension PredicateExpressions.ForcedUnwrap: PredicateNodeConvertible {
  package var node: PredicateNode { .unwrapped(inner) }
}

extension PredicateExpressions.OptionalFlatMap: PredicateNodeConvertible {
  package var node: PredicateNode { .chain(wrapped, variable, rest: transform) }
}

extension PredicateExpressions.NilCoalesce: PredicateNodeConvertible {
  package var node: PredicateNode { .coalesced(lhs, otherwise: rhs) }
}

extension PredicateExpressions.Conditional: PredicateNodeConvertible {
  package var node: PredicateNode { .conditional(test: test, trueBranch, otherwise: falseBranch) }
}

// MARK: Calculations

extension PredicateExpressions.Arithmetic: PredicateNodeConvertible {
  package var node: PredicateNode {
    switch op {
    case .add: .calculation(.add, [lhs, rhs])
    case .subtract: .calculation(.subtract, [lhs, rhs])
    case .multiply: .calculation(.multiply, [lhs, rhs])
    @unknown default: .unknownOperator("\(op)")
    }
  }
}

extension PredicateExpressions.FloatDivision: PredicateNodeConvertible {
  package var node: PredicateNode { .floatDivision(lhs, rhs) }
}

extension PredicateExpressions.IntDivision: PredicateNodeConvertible {
  package var node: PredicateNode { .calculation(.divide, [lhs, rhs]) }
}

extension PredicateExpressions.IntRemainder: PredicateNodeConvertible {
  package var node: PredicateNode { .calculation(.remainder, [lhs, rhs]) }
}

extension PredicateExpressions.UnaryMinus: PredicateNodeConvertible {
  package var node: PredicateNode { .calculation(.negate, [wrapped]) }
}

// MARK: Conditions

extension PredicateExpressions.Conjunction: PredicateNodeConvertible {
  package var node: PredicateNode { .and(lhs, rhs) }
}

extension PredicateExpressions.Disjunction: PredicateNodeConvertible {
  package var node: PredicateNode { .or(lhs, rhs) }
}

extension PredicateExpressions.Negation: PredicateNodeConvertible {
  package var node: PredicateNode { .not(wrapped) }
}

extension PredicateExpressions.Equal: PredicateNodeConvertible {
  package var node: PredicateNode { .comparison(lhs, .equalTo, rhs) }
}

extension PredicateExpressions.NotEqual: PredicateNodeConvertible {
  package var node: PredicateNode { .comparison(lhs, .notEqualTo, rhs) }
}

extension PredicateExpressions.Comparison: PredicateNodeConvertible {
  package var node: PredicateNode {
    switch op {
    case .lessThan: .comparison(lhs, .lessThan, rhs)
    case .lessThanOrEqual: .comparison(lhs, .lessThanOrEqualTo, rhs)
    case .greaterThan: .comparison(lhs, .greaterThan, rhs)
    case .greaterThanOrEqual: .comparison(lhs, .greaterThanOrEqualTo, rhs)
    @unknown default: .unknownOperator("\(op)")
    }
  }
}

// MARK: Collections, ranges and strings

extension PredicateExpressions.SequenceContains: PredicateNodeConvertible {
  package var node: PredicateNode { .contains(sequence, element) }
}

extension PredicateExpressions.SequenceContainsWhere: PredicateNodeConvertible {
  package var node: PredicateNode { .containsWhere(sequence, variable, test: test) }
}

extension PredicateExpressions.SequenceAllSatisfy: PredicateNodeConvertible {
  package var node: PredicateNode { .allSatisfy(sequence, variable, test: test) }
}

extension PredicateExpressions.Filter: PredicateNodeConvertible {
  package var node: PredicateNode { .filter(sequence, variable, test: filter) }
}

extension PredicateExpressions.Range: PredicateNodeConvertible {
  package var node: PredicateNode { .range(lower: lower, upper: upper, includesUpper: false) }
}

extension PredicateExpressions.ClosedRange: PredicateNodeConvertible {
  package var node: PredicateNode { .range(lower: lower, upper: upper, includesUpper: true) }
}

extension PredicateExpressions.RangeExpressionContains: PredicateNodeConvertible {
  package var node: PredicateNode { .rangeContains(range, element) }
}

extension PredicateExpressions.SequenceStartsWith: PredicateNodeConvertible {
  package var node: PredicateNode { .text(.startsWith, base, prefix) }
}

extension PredicateExpressions.CollectionContainsCollection: PredicateNodeConvertible {
  package var node: PredicateNode { .text(.contains, base, other) }
}

// MARK: Types

extension PredicateExpressions.TypeCheck: PredicateNodeConvertible {
  package var node: PredicateNode { .typeCheck(input, Desired.self) }
}

extension PredicateExpressions.ConditionalCast: PredicateNodeConvertible {
  package var node: PredicateNode { .inMemory(reason: "'as?' leads to properties of the subclass \(Desired.self)") }
}

extension PredicateExpressions.ForceCast: PredicateNodeConvertible {
  package var node: PredicateNode { .inMemory(reason: "'as!' leads to properties of the subclass \(Desired.self)") }
}

// MARK: What only Swift evaluates

extension PredicateExpressions.ExpressionEvaluate: PredicateNodeConvertible {
  package var node: PredicateNode { .inMemory(reason: "evaluate(_:) calls another expression") }
}

extension PredicateExpressions.StringContainsRegex: PredicateNodeConvertible {
  package var node: PredicateNode { .inMemory(reason: "contains(_:) searches for a regular expression") }
}

extension PredicateExpressions.CollectionIndexSubscript: PredicateNodeConvertible {
  package var node: PredicateNode { .inMemory(reason: "A subscript depends on the order of a collection's elements") }
}

extension PredicateExpressions.CollectionRangeSubscript: PredicateNodeConvertible {
  package var node: PredicateNode { .inMemory(reason: "A subscript depends on the order of a collection's elements") }
}

extension PredicateExpressions.DictionaryKeySubscript: PredicateNodeConvertible {
  package var node: PredicateNode { .inMemory(reason: "A subscript looks into a dictionary") }
}

extension PredicateExpressions.DictionaryKeyDefaultValueSubscript: PredicateNodeConvertible {
  package var node: PredicateNode { .inMemory(reason: "A subscript looks into a dictionary") }
}

extension PredicateExpressions.SequenceMinimum: PredicateNodeConvertible {
  package var node: PredicateNode { .inMemory(reason: "min() looks into the values of an attribute") }
}

extension PredicateExpressions.SequenceMaximum: PredicateNodeConvertible {
  package var node: PredicateNode { .inMemory(reason: "max() looks into the values of an attribute") }
}
