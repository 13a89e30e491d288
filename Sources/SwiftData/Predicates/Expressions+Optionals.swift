// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData

extension Term {
  /// Returns the value of an optional that is not nil, for the part of a chain that follows.
  fileprivate func unwrapped(as variable: PredicateExpressions.VariableID) -> Term {
    switch self {
    case .scalar(var scalar):
      scalar.mayBeNil = false
      scalar.needed.insert(variable)
      return .scalar(scalar)
    case .characterCount(var scalar):
      scalar.mayBeNil = false
      scalar.needed.insert(variable)
      return .characterCount(scalar)
    case .object(var object):
      object.mayBeNil = false
      object.needed.insert(variable)
      return .object(object)
    case .composite(var composite):
      composite.mayBeNil = false
      composite.needed.insert(variable)
      return .composite(composite)
    case .optionalCondition(_, let holds): return .condition(holds)
    case .constant, .condition, .collection, .range: return self
    }
  }

  /// Makes the term an optional, whose expression is null for nil.
  mutating func setMayBeNil() {
    switch self {
    case .scalar(var scalar):
      scalar.mayBeNil = true
      self = .scalar(scalar)
    case .characterCount(var scalar):
      scalar.mayBeNil = true
      self = .characterCount(scalar)
    case .object(var object):
      object.mayBeNil = true
      self = .object(object)
    case .composite(var composite):
      composite.mayBeNil = true
      self = .composite(composite)
    case .constant, .condition, .optionalCondition, .collection, .range: break
    }
  }

  /// Returns whether the term's expression is null where a variable is nil.
  fileprivate func needs(_ variable: PredicateExpressions.VariableID) -> Bool {
    switch self {
    case .scalar(let scalar), .characterCount(let scalar): scalar.needed.contains(variable)
    case .object(let object): object.needed.contains(variable)
    case .composite(let composite): composite.needed.contains(variable)
    case .constant, .condition, .optionalCondition, .collection, .range: false
    }
  }
}

extension PredicateTranslator {
  /// Returns the value of an optional chain, in whose rest the variable is the value of the optional.
  func chain(_ optional: PredicateNode.Part, _ variable: any PredicateVariable, _ rest: PredicateNode.Part) throws
    -> Term
  {
    let whole = try term(of: optional)
    if case .constant(nil) = whole { return whole }
    let isNil = try isNil(whole)
    variables[variable.key] = whole.unwrapped(as: variable.key)
    if case .constant(let value?) = whole { variable.bind(value, in: &bindings) }
    defer { variables[variable.key] = nil }
    return try chained(try term(of: rest), variable.key, isNil)
  }

  /// Returns the value of an optional chain: nil under a condition, and otherwise the value of its rest.
  private func chained(
    _ rest: Term, _ variable: PredicateExpressions.VariableID, _ isNil: Condition
  ) throws -> Term {
    if isNil.isConstant(false) { return rest }
    if rest.needs(variable) {
      var result = rest
      result.setMayBeNil()
      return result
    }
    switch rest {
    case .condition(let holds): return .optionalCondition(isNil: isNil, holds: holds)
    case .optionalCondition(let restIsNil, let holds):
      return .optionalCondition(isNil: .or(isNil, restIsNil), holds: holds)
    case .constant(nil): return rest
    case .constant(let truth as Bool): return .optionalCondition(isNil: isNil, holds: .constant(truth))
    case .constant, .scalar:
      var scalar = try self.scalar(rest, "An optional chain")
      scalar = Scalar(
        NSExpression(
          forConditional: try isNil.exactly("An optional chain"), trueExpression: Scalar.missing.expression,
          falseExpression: scalar.expression), scalar.kind, mayBeNil: true)
      return .scalar(scalar)
    case .characterCount, .object, .composite, .collection, .range:
      throw NotInStore("An optional chain ends in a value that does not depend on its beginning")
    }
  }

  func coalesced(_ left: PredicateNode.Part, _ right: PredicateNode.Part, _ type: Any.Type) throws -> Term {
    let left = try term(of: left)
    let isNil = try isNil(left)
    if isNil.isConstant(false) { return left }
    let isTruth = type == Bool.self || type == Bool?.self
    if isTruth {
      guard type == Bool.self else { throw NotInStore("A default for a truth value is optional itself") }
      let otherwise = try condition(of: right)
      let holds: Condition
      switch left {
      case .optionalCondition(_, let condition): holds = condition
      default: holds = try condition(left)
      }
      return .condition(.or(.and(isNil, otherwise), .and(isNil.negated, holds)))
    }
    let scalar = try scalar(left, "The operator ??")
    var right = try term(of: right)
    if case .constant(let value?) = right {
      right = .scalar(try self.scalar(.constant(value), "The operator ??", as: scalar.kind))
    }
    let otherwise = try self.scalar(right, "The operator ??")
    guard scalar.kind == otherwise.kind else { throw NotInStore("The operator ?? has values of two forms") }
    return .scalar(
      Scalar(
        NSExpression(
          forConditional: try isNil.exactly("The operator ??"), trueExpression: otherwise.expression,
          falseExpression: scalar.expression), scalar.kind, mayBeNil: otherwise.mayBeNil))
  }

  func conditional(
    _ test: PredicateNode.Part, _ yes: PredicateNode.Part, _ no: PredicateNode.Part, _ type: Any.Type
  ) throws -> Term {
    let test = try condition(of: test)
    if type == Bool.self {
      return .condition(
        .or(
          .and(test, try condition(of: yes)),
          .and(test.negated, try condition(of: no))))
    }
    let place = "A conditional expression"
    let predicate = try test.exactly(place)
    var (yes, no) = (try term(of: yes), try term(of: no))
    if case .scalar(let scalar) = yes, case .constant(let value?) = no {
      no = .scalar(try self.scalar(.constant(value), place, as: scalar.kind))
    } else if case .scalar(let scalar) = no, case .constant(let value?) = yes {
      yes = .scalar(try self.scalar(.constant(value), place, as: scalar.kind))
    }
    let known = [yes, no].filter { if case .constant(nil) = $0 { false } else { true } }
    let scalars = try known.map { try scalar($0, place) }
    guard let kind = scalars.first?.kind, scalars.allSatisfy({ $0.kind == kind }) else {
      throw NotInStore("\(place) has values of two forms")
    }
    let missing = Scalar.missing.expression
    func expression(_ term: Term) throws -> NSExpression {
      if case .constant(nil) = term { missing } else { try scalar(term, place).expression }
    }
    return .scalar(
      Scalar(
        NSExpression(
          forConditional: predicate, trueExpression: try expression(yes), falseExpression: try expression(no)),
        kind, mayBeNil: scalars.count < 2 || scalars.contains(where: \.mayBeNil)))
  }
}
