// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData

// A calculation that overflows traps in Swift, and has some result in a store.

extension PredicateExpressions.Arithmetic: TranslatableExpression {
  func term(_ translator: PredicateTranslator) throws -> Term {
    let name =
      switch op {
      case .add: "add:to:"
      case .subtract: "from:subtract:"
      case .multiply: "multiply:by:"
      @unknown default: throw SwiftDataError(.unsupportedPredicate, "The predicate contains the operator \(op).")
      }
    return try translator.calculation(name, lhs, rhs)
  }
}

extension PredicateExpressions.FloatDivision: TranslatableExpression {
  func term(_ translator: PredicateTranslator) throws -> Term {
    // The sign of a zero, which decides the result, gets lost in a store.
    guard case .constant(let divisor as Double) = try translator.term(of: rhs), divisor != 0 else {
      throw NotInStore("A division by a number that may be zero")
    }
    return try translator.calculation("divide:by:", lhs, rhs)
  }
}

extension PredicateExpressions.IntDivision: TranslatableExpression {
  func term(_ translator: PredicateTranslator) throws -> Term { try translator.calculation("divide:by:", lhs, rhs) }
}

extension PredicateExpressions.IntRemainder: TranslatableExpression {
  func term(_ translator: PredicateTranslator) throws -> Term { try translator.calculation("modulus:by:", lhs, rhs) }
}

extension PredicateExpressions.UnaryMinus: TranslatableExpression {
  func term(_ translator: PredicateTranslator) throws -> Term {
    let scalar = try translator.scalar(translator.term(of: wrapped), "A negative number")
    guard scalar.kind.isExactlyCalculated else {
      throw NotInStore("A calculation with values of the type \(Output.self)")
    }
    return .scalar(
      Scalar(
        NSExpression(forFunction: "chs:", arguments: [scalar.expression]), scalar.kind, mayBeNil: scalar.mayBeNil,
        needed: scalar.needed))
  }
}

extension PredicateTranslator {
  fileprivate func calculation<Left: PredicateExpression, Right: PredicateExpression>(
    _ function: String, _ lhs: Left, _ rhs: Right
  ) throws -> Term {
    let place = "A calculation with values of the type \(Left.Output.self)"
    let (left, right) = (try scalar(term(of: lhs), place), try scalar(term(of: rhs), place))
    guard left.kind == right.kind, left.kind.isExactlyCalculated else { throw NotInStore(place) }
    return .scalar(
      Scalar(
        NSExpression(forFunction: function, arguments: [left.expression, right.expression]), left.kind,
        mayBeNil: left.mayBeNil || right.mayBeNil, needed: left.needed.union(right.needed)))
  }
}
