// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData

extension PredicateTranslator {
  /// Returns the condition that a sequence has an element that satisfies a condition.
  func hasElement(
    _ sequence: PredicateNode.Part, _ variable: any PredicateVariable, _ function: String,
    _ test: () throws -> Condition
  ) throws -> Condition {
    switch try term(of: sequence) {
    case .collection(let collection): return try exists(in: collection, variable, test)
    case .constant(let value?): return .or(try tests(of: value, variable, test))
    default: throw NotInStore("\(function) looks into the values of an attribute")
    }
  }

  func filtered(
    _ sequence: PredicateNode.Part, _ variable: any PredicateVariable, _ test: PredicateNode.Part
  ) throws -> Term {
    guard case .collection(let collection) = try term(of: sequence) else {
      throw NotInStore("filter looks into the values of an attribute")
    }
    let name = newVariable()
    let condition = try binding(variable, name, collection) { try self.condition(of: test) }
    return .collection(
      ModelCollection(
        expression: NSExpression(
          forSubquery: collection.expression, usingIteratorVariable: name,
          predicate: try condition.exactly("The condition of filter")), element: collection.element))
  }

  /// Calls a function with a variable bound to the rows of a subquery.
  private func binding<Result>(
    _ variable: any PredicateVariable, _ name: String, _ collection: ModelCollection, _ body: () throws -> Result
  ) rethrows -> Result {
    variables[variable.key] = .object(
      ObjectPath(row: RowPath(variable: name), type: collection.element, mayBeNil: false))
    defer { variables[variable.key] = nil }
    return try body()
  }

  /// Returns the condition that a collection has an element that satisfies a condition.
  private func exists(
    in collection: ModelCollection, _ variable: any PredicateVariable, _ test: () throws -> Condition
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
  private func tests(
    of value: Any, _ variable: any PredicateVariable, _ test: () throws -> Condition
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
      variable.bind(element, in: &bindings)
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

extension PredicateTranslator {
  func contains(_ sequence: PredicateNode.Part, _ element: PredicateNode.Part) throws -> Condition {
    let part = try term(of: element)
    switch try term(of: sequence) {
    case .collection(let collection): return try isMember(part, of: collection)
    case .constant(let range as any ConstantRange): return try contains(self.range(range, for: part), part)
    case .constant(let values as any Sequence):
      // A string contains characters.
      if values is any StringProtocol { break }
      return try isMember(part, of: Self.allElements(values))
    case .range(let lower, let upper): return try contains(.range(lower: lower, upper: upper), part)
    case .scalar(let text) where text.kind == .string:
      let character = try scalar(part, "contains of a string", as: .string)
      return Self.compare(text.expression, .contains, character.expression, .characters)
    default: break
    }
    throw NotInStore("contains looks into the values of an attribute")
  }

  private func isMember(_ part: Term, of collection: ModelCollection) throws -> Condition {
    switch part {
    case .object(let object): return Self.compare(object.row.expression(), .in, collection.expression)
    case .constant(let value?):
      guard let id = objectID(value) else { return .constant(false) }
      return Self.compare(NSExpression(forConstantValue: id), .in, collection.expression)
    default: throw NotInStore("contains looks for something other than a model")
    }
  }

  private func isMember(_ part: Term, of elements: [Any]) throws -> Condition {
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
  private func contains(_ range: Term, _ part: Term) throws -> Condition {
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

extension PredicateTranslator {
  func range(_ lower: PredicateNode.Part, _ upper: PredicateNode.Part, _ includesUpper: Bool) throws -> Term {
    let place = "A bound of a range"
    return .range(
      lower: .init(value: try scalar(term(of: lower), place), isIncluded: true),
      upper: .init(value: try scalar(term(of: upper), place), isIncluded: includesUpper))
  }

  func isInRange(_ range: PredicateNode.Part, _ element: PredicateNode.Part) throws -> Condition {
    let part = try term(of: element)
    switch try term(of: range) {
    case .constant(let range as any ConstantRange): return try contains(self.range(range, for: part), part)
    case let range: return try contains(range, part)
    }
  }

  /// Returns a range with bounds of the kind of the values that are looked for.
  private func range(_ range: any ConstantRange, for part: Term) throws -> Term {
    var kind: ScalarKind?
    switch part {
    case .scalar(let scalar): kind = scalar.kind
    case .characterCount: kind = nil
    default: throw NotInStore("contains of a range looks for something other than an attribute")
    }
    func bound(_ value: Any?, _ isIncluded: Bool) throws -> Term.RangeBound? {
      try value.map {
        .init(value: try scalar(.constant($0), "A bound of a range", as: kind), isIncluded: isIncluded)
      }
    }
    let bounds = range.bounds
    return .range(lower: try bound(bounds.lower, true), upper: try bound(bounds.upper, bounds.includesUpper))
  }
}
