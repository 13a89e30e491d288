// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData

/// A `#Predicate` as a store evaluates it.
struct TranslatedPredicate {
  /// The predicate for the store. Unless `isExact`, it holds for more rows than the Swift predicate does.
  let predicate: NSPredicate
  /// Whether the store's predicate selects the same rows. If not, the Swift predicate must be evaluated on each model.
  let isExact: Bool
  /// Why the predicate must be evaluated in memory: a sentence for each part that a store cannot evaluate.
  let reasons: [String]
}

/// Translates Foundation's predicates over a model class to predicates over its entity.
///
/// The result is that of the Swift predicate for every row. Where SQL differs from Swift, as it does for the lengths of
/// strings, the part is evaluated in memory.
final class PredicateTranslator {
  let names: any KeyPathNames
  /// Returns the row of a model; nil for one without a row.
  private let rowOfIdentifier: (PersistentIdentifier) -> NSManagedObjectID?
  /// The entities of classes, with those of their subclasses.
  let entities: (any PersistentModel.Type) -> [NSEntityDescription]
  var variables: [PredicateExpressions.VariableID: Term] = [:]
  /// The values of the variables that are constants.
  var bindings = PredicateBindings()
  private var variableCount = 0
  private var reasons: [String] = []

  /// Creates a translator.
  ///
  /// - Parameters:
  ///   - names: finds the stored properties.
  ///   - objectID: returns the row of a model; nil for one that has none.
  ///   - entities: returns the entities of a class and of its subclasses, for casts.
  init(
    names: any KeyPathNames = MetadataNames(), objectID: @escaping (PersistentIdentifier) -> NSManagedObjectID?,
    entities: @escaping (any PersistentModel.Type) -> [NSEntityDescription] = { _ in [] }
  ) {
    (self.names, rowOfIdentifier, self.entities) = (names, objectID, entities)
  }

  /// Translates a predicate.
  ///
  /// - Throws: `SwiftDataError.unsupportedPredicate` for an expression of an unknown type.
  func translate<T: PersistentModel>(_ predicate: Predicate<T>) throws -> TranslatedPredicate {
    begin(predicate.variable.key, T.self)
    let condition = try condition(of: predicate.expression)
    return TranslatedPredicate(
      predicate: condition.necessary.predicate, isExact: condition.isExact, reasons: condition.isExact ? [] : reasons)
  }

  /// Translates an expression with a single value; nil if a store cannot calculate it.
  ///
  /// - Throws: `SwiftDataError.unsupportedPredicate` for an expression of an unknown type.
  func translate<T: PersistentModel, Output>(_ expression: Foundation.Expression<T, Output>) throws -> NSExpression? {
    begin(expression.variable.key, T.self)
    do {
      return try scalar(try term(of: expression.expression), "The expression").expression
    } catch is NotInStore {
      return nil
    }
  }

  private func begin(_ variable: PredicateExpressions.VariableID, _ type: any PersistentModel.Type) {
    variables = [variable: .object(ObjectPath(row: RowPath(variable: nil), type: type, mayBeNil: false))]
    reasons = []
  }

  // MARK: Parts

  /// Translates a part of a predicate.
  ///
  /// - Throws: `NotInStore` if a store cannot evaluate it.
  func term<Part: PredicateExpression>(of part: Part) throws -> Term {
    if let value = constant(part) { return .constant(Self.flattened(value as Any)) }
    guard let node = PredicateNode(part) else {
      throw SwiftDataError(
        .unsupportedPredicate,
        "The predicate contains an expression of the type \(Part.self), which is not one of Foundation's.")
    }
    return try term(of: node, Part.Output.self)
  }

  private func term(of node: PredicateNode, _ type: Any.Type) throws -> Term {
    switch node {
    case .variable(let key):
      guard let term = variables[key] else {
        throw SwiftDataError(
          .unsupportedPredicate, "The predicate contains a variable of the type \(type) that it does not declare.")
      }
      return term
    case .value(let value): return .constant(value.flatMap(Self.flattened))
    case .property(let keyPath, let root): return try property(keyPath, type, of: root)
    // Foundation throws for nil, and a store leaves the row out of comparisons.
    case .unwrapped(let inner): return try term(of: inner)
    case .chain(let whole, let variable, let rest): return try chain(whole, variable, rest)
    case .coalesced(let left, let right): return try coalesced(left, right, type)
    case .conditional(let test, let yes, let no): return try conditional(test, yes, no, type)
    case .calculation(let function, let operands): return try calculation(function, operands, type)
    case .floatDivision(let dividend, let divisor): return try division(dividend, divisor, type)
    case .and(let left, let right): return .condition(.and(try condition(of: left), try condition(of: right)))
    case .or(let left, let right): return .condition(.or(try condition(of: left), try condition(of: right)))
    case .not(let inner): return .condition(try condition(of: inner).negated)
    case .comparison(let left, let op, let right):
      return .condition(try comparison(term(of: left), op, term(of: right)))
    case .contains(let sequence, let element): return .condition(try contains(sequence, element))
    case .containsWhere(let sequence, let variable, let test):
      return .condition(try hasElement(sequence, variable, "contains(where:)") { try self.condition(of: test) })
    case .allSatisfy(let sequence, let variable, let test):
      let hasOther = try hasElement(sequence, variable, "allSatisfy") { try self.condition(of: test).negated }
      return .condition(hasOther.negated)
    case .filter(let sequence, let variable, let test): return try filtered(sequence, variable, test)
    case .range(let lower, let upper, let includesUpper): return try range(lower, upper, includesUpper)
    case .rangeContains(let range, let element): return .condition(try isInRange(range, element))
    case .text(let function, let whole, let other): return try text(function, whole, other)
    case .typeCheck(let input, let type): return .condition(try typeCheck(term(of: input), type))
    case .inMemory(let reason): throw NotInStore(reason)
    case .unknownOperator(let name):
      throw SwiftDataError(.unsupportedPredicate, "The predicate contains the operator \(name).")
    }
  }

  /// Translates a part of the type `Bool`. What a store cannot evaluate becomes an unknown condition.
  func condition<Part: PredicateExpression>(of part: Part) throws -> Condition {
    do {
      return try condition(term(of: part))
    } catch let error as NotInStore {
      if !reasons.contains(error.reason) { reasons.append(error.reason) }
      return .unknown
    }
  }

  /// Returns the value of a part that contains no variables of rows.
  private func constant<Part: PredicateExpression>(_ part: Part) -> Part.Output?? {
    // A missing variable is the usual reason for failing, and nil says so.
    (try? part.evaluate(bindings)).map { .some($0) }
  }

  func condition(_ term: Term) throws -> Condition {
    switch term {
    case .constant(let value as Bool): return .constant(value)
    case .condition(let condition): return condition
    case .optionalCondition(let isNil, let holds): return .and(isNil.negated, holds)
    case .scalar(let scalar) where scalar.kind == .bool: return compare(scalar, .equalTo, Scalar.truth)
    default: throw NotInStore("A part has no truth value")
    }
  }

  /// Returns the condition under which a term is nil.
  func isNil(_ term: Term) throws -> Condition {
    switch term {
    case .constant(let value): return .constant(value == nil)
    case .condition, .collection, .range: return .constant(false)
    case .optionalCondition(let isNil, _): return isNil
    case .scalar(let scalar), .characterCount(let scalar):
      return scalar.mayBeNil ? compare(scalar, .equalTo, Scalar.missing) : .constant(false)
    case .object(let object):
      return object.mayBeNil
        ? Self.compare(object.row.expression(), .equalTo, Scalar.missing.expression) : .constant(false)
    case .composite(let composite):
      if !composite.mayBeNil { return .constant(false) }
      let parts = try composite.elements.map { try composite.part($0) }.map { part in
        var part = part
        part.setMayBeNil()
        return try isNil(part)
      }
      // All parts of a missing composite are missing.
      return Condition.or(parts.map(\.negated)).negated
    }
  }

  /// Returns a term as a scalar of a kind.
  ///
  /// - Parameters:
  ///   - kind: the kind of constants; nil for that of their type.
  ///   - place: names the part in an error.
  func scalar(_ term: Term, _ place: @autoclosure () -> String, as kind: ScalarKind? = nil) throws -> Scalar {
    switch term {
    case .scalar(let scalar): return scalar
    case .constant(let value?):
      if let scalar = try kind.map({ try Scalar(constant: value, as: $0) }) ?? Scalar(constant: value) { return scalar }
      throw NotInStore("\(place()) uses a value of the type \(type(of: value)), which is not stored as it is")
    case .condition(let condition):
      let test = try condition.exactly(place())
      return Scalar(
        NSExpression(
          forConditional: test, trueExpression: Scalar.truth.expression, falseExpression: Scalar.falsehood.expression),
        .bool, mayBeNil: false)
    default: throw NotInStore("\(place()) does not have a single value in a store")
    }
  }

  /// Returns a new name for the variable of a subquery.
  func newVariable() -> String {
    variableCount += 1
    return "element\(variableCount)"
  }

  // MARK: Comparisons

  static func compare(
    _ left: NSExpression, _ op: NSComparisonPredicate.Operator, _ right: NSExpression,
    _ options: NSComparisonPredicate.Options = []
  ) -> Condition {
    Condition(
      NSComparisonPredicate(leftExpression: left, rightExpression: right, modifier: .direct, type: op, options: options)
    )
  }

  /// Compares two scalars of the same kind.
  func compare(_ left: Scalar, _ op: NSComparisonPredicate.Operator, _ right: Scalar) -> Condition {
    let isPlain = op == .equalTo && (left.isPlainText || right.isPlainText)
    let comparesCharacters = left.kind == .string && !isPlain && !right.isMissing
    return Self.compare(left.expression, op, right.expression, comparesCharacters ? .characters : [])
  }

  func objectID(_ value: Any) -> NSManagedObjectID? {
    if let identifier = value as? PersistentIdentifier { return rowOfIdentifier(identifier) }
    if let model = value as? any PersistentModel { return rowOfIdentifier(model.persistentModelID) }
    return nil
  }

  /// Returns a value without its layers of optionals.
  static func flattened(_ value: Any) -> Any? {
    guard let optional = value as? any OptionalValue else { return value }
    return optional.someValue.flatMap(flattened)
  }
}

extension NSComparisonPredicate.Options {
  /// Compares strings as Swift does: by characters, which are equal if they are canonically equivalent.
  static let characters = NSComparisonPredicate.Options(rawValue: 16)
}
