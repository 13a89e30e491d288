// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData

extension PredicateExpressions.SequenceContainsWhere: TranslatableExpression {
  func term(_ translator: PredicateTranslator) throws -> Term {
    switch try translator.term(of: sequence) {
    case .collection(let collection):
      return .condition(try translator.exists(in: collection, variable) { try translator.condition(of: test) })
    case .constant(let value?):
      return .condition(.or(try translator.tests(of: value, variable) { try translator.condition(of: test) }))
    default: throw NotInStore("contains(where:) looks into the values of an attribute")
    }
  }
}

extension PredicateExpressions.SequenceAllSatisfy: TranslatableExpression {
  func term(_ translator: PredicateTranslator) throws -> Term {
    switch try translator.term(of: sequence) {
    case .collection(let collection):
      return .condition(
        try translator.exists(in: collection, variable) { try translator.condition(of: test).negated }.negated)
    case .constant(let value?):
      let tests = try translator.tests(of: value, variable) { try translator.condition(of: test).negated }
      return .condition(Condition.or(tests).negated)
    default: throw NotInStore("allSatisfy looks into the values of an attribute")
    }
  }
}

extension PredicateExpressions.Filter: TranslatableExpression {
  func term(_ translator: PredicateTranslator) throws -> Term {
    guard case .collection(let collection) = try translator.term(of: sequence) else {
      throw NotInStore("filter looks into the values of an attribute")
    }
    let name = translator.newVariable()
    let condition = try translator.binding(variable, name, collection) { try translator.condition(of: filter) }
    return .collection(
      ModelCollection(
        expression: NSExpression(
          forSubquery: collection.expression, usingIteratorVariable: name,
          predicate: try condition.exactly("The condition of filter")), element: collection.element))
  }
}

extension PredicateTranslator {
  /// Calls a function with a variable bound to the rows of a subquery.
  fileprivate func binding<Element, Result>(
    _ variable: PredicateExpressions.Variable<Element>, _ name: String, _ collection: ModelCollection,
    _ body: () throws -> Result
  ) rethrows -> Result {
    variables[variable.key] = .object(
      ObjectPath(row: RowPath(variable: name), type: collection.element, mayBeNil: false))
    defer { variables[variable.key] = nil }
    return try body()
  }

  /// Returns the condition that a collection has an element that satisfies a condition.
  fileprivate func exists<Element>(
    in collection: ModelCollection, _ variable: PredicateExpressions.Variable<Element>, _ test: () throws -> Condition
  ) rethrows -> Condition {
    let name = newVariable()
    let condition = try binding(variable, name, collection, test)
    if condition.isConstant(false) { return .constant(false) }
    return condition.map { predicate in
      let found = NSExpression(
        forSubquery: collection.expression, usingIteratorVariable: name, predicate: predicate)
      return .hasElements(found)
    }
  }

  private static var longestList: Int { 100 }

  /// Returns a condition for each element of a constant.
  fileprivate func tests<Element>(
    of value: Any, _ variable: PredicateExpressions.Variable<Element>, _ test: () throws -> Condition
  ) throws -> [Condition] {
    guard let elements = (value as? any Sequence).map({ Self.allElements($0) }), elements.count <= Self.longestList
    else {
      throw NotInStore("A condition is tested for each element of a long list")
    }
    let outer = bindings
    defer {
      variables[variable.key] = nil
      bindings = outer
    }
    return try elements.map { element in
      variables[variable.key] = .constant(Self.flattened(element))
      if let element = element as? Element { bindings[variable] = element }
      return try test()
    }
  }

  static func allElements(_ values: any Sequence) -> [Any] {
    func all<Values: Sequence>(_ values: Values) -> [Any] { Array(values) }
    return all(values)
  }
}

extension NSPredicate {
  /// Returns the predicate that a collection of models is not empty. In SQL this is EXISTS, which stops at the first row.
  static func hasElements(_ collection: NSExpression) -> NSPredicate {
    NSComparisonPredicate(
      leftExpression: collection, rightExpression: Scalar.missing.expression, modifier: .any, type: .notEqualTo)
  }
}

// MARK: Membership

extension PredicateExpressions.SequenceContains: TranslatableExpression {
  func term(_ translator: PredicateTranslator) throws -> Term {
    let part = try translator.term(of: element)
    switch try translator.term(of: sequence) {
    case .collection(let collection): return .condition(try translator.isMember(part, of: collection))
    case .constant(let range as any ConstantRange):
      return .condition(try translator.contains(range.term(part, translator), part))
    case .constant(let values as any Sequence):
      // A string contains characters.
      if values is any StringProtocol { break }
      return .condition(try translator.isMember(part, of: PredicateTranslator.allElements(values)))
    case .range(let lower, let upper):
      return .condition(try translator.contains(.range(lower: lower, upper: upper), part))
    case .scalar(let text) where text.kind == .string:
      let character = try translator.scalar(part, "contains of a string", as: .string)
      return .condition(PredicateTranslator.compare(text.expression, .contains, character.expression, .characters))
    default: break
    }
    throw NotInStore("contains looks into the values of an attribute")
  }
}

extension PredicateTranslator {
  fileprivate func isMember(_ part: Term, of collection: ModelCollection) throws -> Condition {
    switch part {
    case .object(let object): return Self.compare(object.row.expression(), .in, collection.expression)
    case .constant(let value?):
      guard let id = objectID(value) else { return .constant(false) }
      return Self.compare(NSExpression(forConstantValue: id), .in, collection.expression)
    default: throw NotInStore("contains looks for something other than a model")
    }
  }

  fileprivate func isMember(_ part: Term, of elements: [Any]) throws -> Condition {
    let present = elements.compactMap(Self.flattened)
    let isMissing: Condition = present.count < elements.count ? try isNil(part) : .constant(false)
    switch part {
    case .object(let object):
      let ids = present.compactMap(objectID)
      let isListed: Condition =
        ids.isEmpty
        ? .constant(false) : Self.compare(object.row.expression(), .in, NSExpression(forConstantValue: ids))
      return .or(isListed, isMissing)
    case .scalar(let scalar):
      let constants = try present.map { try self.scalar(.constant($0), "contains", as: scalar.kind) }
      if constants.isEmpty { return isMissing }
      let list = NSExpression(forConstantValue: constants.compactMap(\.expression.constantValue))
      let comparesCharacters = scalar.kind == .string && !constants.allSatisfy(\.isPlainText)
      return .or(Self.compare(scalar.expression, .in, list, comparesCharacters ? .characters : []), isMissing)
    case .condition, .optionalCondition, .composite, .characterCount:
      guard present.count <= Self.longestList else { throw NotInStore("contains has a long list") }
      return .or(try present.map { try equality(part, .constant($0)) } + [isMissing])
    case .constant, .collection, .range: throw NotInStore("contains looks for something that is not stored")
    }
  }

  /// Returns the condition that a range contains a value, which is not nil.
  fileprivate func contains(_ range: Term, _ part: Term) throws -> Condition {
    guard case .range(let lower, let upper) = range else { throw NotInStore("contains of a range") }
    var conditions = Condition.constant(true)
    if let lower {
      let isAfter = try order(.scalar(lower.value), lower.isIncluded ? .lessThanOrEqualTo : .lessThan, part)
      conditions = .and(conditions, isAfter)
    }
    if let upper {
      let isBefore = try order(part, upper.isIncluded ? .lessThanOrEqualTo : .lessThan, .scalar(upper.value))
      conditions = .and(conditions, isBefore)
    }
    return conditions
  }
}

// MARK: Ranges

extension PredicateExpressions.Range: TranslatableExpression {
  func term(_ translator: PredicateTranslator) throws -> Term {
    let place = "A bound of a range"
    return .range(
      lower: .init(value: try translator.scalar(translator.term(of: lower), place), isIncluded: true),
      upper: .init(value: try translator.scalar(translator.term(of: upper), place), isIncluded: false))
  }
}

extension PredicateExpressions.ClosedRange: TranslatableExpression {
  func term(_ translator: PredicateTranslator) throws -> Term {
    let place = "A bound of a range"
    return .range(
      lower: .init(value: try translator.scalar(translator.term(of: lower), place), isIncluded: true),
      upper: .init(value: try translator.scalar(translator.term(of: upper), place), isIncluded: true))
  }
}

extension PredicateExpressions.RangeExpressionContains: TranslatableExpression {
  func term(_ translator: PredicateTranslator) throws -> Term {
    let part = try translator.term(of: element)
    switch try translator.term(of: range) {
    case .constant(let range as any ConstantRange):
      return .condition(try translator.contains(range.term(part, translator), part))
    case let range: return .condition(try translator.contains(range, part))
    }
  }
}

/// A range of constants.
private protocol ConstantRange {
  var bounds: (lower: Any?, upper: Any?, includesUpper: Bool) { get }
}

extension ConstantRange {
  /// Returns the range with bounds of the kind of the values that are looked for.
  fileprivate func term(_ part: Term, _ translator: PredicateTranslator) throws -> Term {
    var kind: ScalarKind?
    switch part {
    case .scalar(let scalar): kind = scalar.kind
    case .characterCount: kind = nil
    default: throw NotInStore("contains of a range looks for something other than an attribute")
    }
    func bound(_ value: Any?, _ isIncluded: Bool) throws -> Term.RangeBound? {
      try value.map {
        .init(value: try translator.scalar(.constant($0), "A bound of a range", as: kind), isIncluded: isIncluded)
      }
    }
    let bounds = bounds
    return .range(lower: try bound(bounds.lower, true), upper: try bound(bounds.upper, bounds.includesUpper))
  }
}

extension Swift.Range: ConstantRange {
  fileprivate var bounds: (lower: Any?, upper: Any?, includesUpper: Bool) { (lowerBound, upperBound, false) }
}

extension Swift.ClosedRange: ConstantRange {
  fileprivate var bounds: (lower: Any?, upper: Any?, includesUpper: Bool) { (lowerBound, upperBound, true) }
}

extension PartialRangeFrom: ConstantRange {
  fileprivate var bounds: (lower: Any?, upper: Any?, includesUpper: Bool) { (lowerBound, nil, false) }
}

extension PartialRangeUpTo: ConstantRange {
  fileprivate var bounds: (lower: Any?, upper: Any?, includesUpper: Bool) { (nil, upperBound, false) }
}

extension PartialRangeThrough: ConstantRange {
  fileprivate var bounds: (lower: Any?, upper: Any?, includesUpper: Bool) { (nil, upperBound, true) }
}
