// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData

// A calculation that overflows traps in Swift, and has some result in a store.

extension PredicateTranslator {
  func calculation(_ function: PredicateNode.Calculation, _ operands: [PredicateNode.Part], _ type: Any.Type) throws
    -> Term
  {
    let place = "A calculation with values of the type \(type)"
    let scalars = try operands.map { try scalar(term(of: $0), function == .negate ? "A negative number" : place) }
    guard let kind = scalars.first?.kind, kind.isExactlyCalculated, scalars.allSatisfy({ $0.kind == kind }) else {
      throw NotInStore(place)
    }
    return .scalar(
      Scalar(
        NSExpression(forFunction: function.rawValue, arguments: scalars.map(\.expression)), kind,
        mayBeNil: scalars.contains(where: \.mayBeNil), needed: scalars.reduce(into: []) { $0.formUnion($1.needed) }))
  }

  func division(_ dividend: PredicateNode.Part, _ divisor: PredicateNode.Part, _ type: Any.Type) throws -> Term {
    // The sign of a zero, which decides the result, gets lost in a store.
    guard case .constant(let number as Double) = try term(of: divisor), number != 0 else {
      throw NotInStore("A division by a number that may be zero")
    }
    return try calculation(.divide, [dividend, divisor], type)
  }
}
