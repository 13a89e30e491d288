// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataMistakes
import CoreDataPredicates
import Foundation

/// Evaluates predicates and expressions in memory.
struct PredicateEvaluator {
  var variables: [String: Any?]

  init(variables: [String: Any?] = [:]) {
    self.variables = variables
  }

  /// Returns whether an object satisfies a predicate.
  func evaluate(_ predicate: PredicateSyntax, with object: Any?) throws -> Bool {
    switch predicate {
    case .constant(let value): return value
    case .comparison(let comparison): return try evaluate(comparison, with: object)
    case .and(let operands): return try operands.allSatisfy { try evaluate($0, with: object) }
    case .or(let operands): return try operands.contains { try evaluate($0, with: object) }
    case .not(let operand): return try !evaluate(operand, with: object)
    }
  }

  private func evaluate(_ comparison: ComparisonSyntax, with object: Any?) throws -> Bool {
    let left = try value(comparison.left, with: object)
    if comparison.op == .in, comparison.modifier == .direct, let text = left as? String,
      let isListed = listed(text, comparison)
    {
      return isListed
    }
    let right = try value(comparison.right, with: object)
    guard comparison.modifier != .direct else { return try compare(left, right, comparison) }
    let elements = Operand.unwrapped(left).map { Operand.flattened([$0]) } ?? []
    return comparison.modifier == .any
      ? try elements.contains { try compare($0, right, comparison) }
      : try elements.allSatisfy { try compare($0, right, comparison) }
  }

  /// Returns whether a string is in the constant list of a comparison; nil if each element must be compared.
  private func listed(_ text: String, _ comparison: ComparisonSyntax) -> Bool? {
    switch comparison.right {
    case .constant(.array(let list)), .constant(.set(let list)):
      FoldedTexts.contains(text, in: list, comparison.options)
    default: nil
    }
  }

  private func compare(_ left: Any?, _ right: Any?, _ comparison: ComparisonSyntax) throws -> Bool {
    let text = TextComparison(comparison.options)
    switch comparison.op {
    case .equalTo: return Operand.areEqual(left, right, text)
    case .notEqualTo: return !Operand.areEqual(left, right, text)
    case .lessThan: return try Operand.order(left, right, text) == .orderedAscending
    case .lessThanOrEqualTo: return try Operand.order(left, right, text).map { $0 != .orderedDescending } ?? false
    case .greaterThan: return try Operand.order(left, right, text) == .orderedDescending
    case .greaterThanOrEqualTo: return try Operand.order(left, right, text).map { $0 != .orderedAscending } ?? false
    case .between: return try isBetween(left, right, text)
    case .in: return try contains(right, left, text, "IN")
    case .contains: return try contains(left, right, text, "CONTAINS")
    case .beginsWith: return try compareTexts(left, right, "BEGINSWITH") { text.begins($0, with: $1) }
    case .endsWith: return try compareTexts(left, right, "ENDSWITH") { text.ends($0, with: $1) }
    case .like: return try compareTexts(left, right, "LIKE") { text.isLike($0, $1) }
    case .matches:
      do {
        return try compareTexts(left, right, "MATCHES") { try text.matches($0, pattern: $1) }
      } catch let error as InvalidPattern {
        throw EvaluationError(error)
      }
    case .customSelector:
      throw EvaluationError.notEvaluable("A comparison with the selector \(comparison.selector ?? "")")
    }
  }

  private func isBetween(_ value: Any?, _ bounds: Any?, _ text: TextComparison) throws -> Bool {
    guard let bounds = Operand.unwrapped(bounds).flatMap(Operand.elements), bounds.count == 2 else {
      throw EvaluationError.wrongType(
        "BETWEEN", value: Operand.description(bounds), expected: "an array of the lower and the upper bound")
    }
    guard let lower = try Operand.order(bounds[0], value, text), let upper = try Operand.order(value, bounds[1], text)
    else { return false }
    return lower != .orderedDescending && upper != .orderedDescending
  }

  private func contains(_ whole: Any?, _ part: Any?, _ text: TextComparison, _ name: String) throws -> Bool {
    guard let whole = Operand.unwrapped(whole) else { return false }
    if let elements = Operand.elements(whole) { return elements.contains { Operand.areEqual($0, part, text) } }
    if let dictionary = whole as? NSDictionary {
      return dictionary.allValues.contains { Operand.areEqual($0, part, text) }
    }
    return try compareTexts(whole, part, name) { text.contains($0, $1) }
  }

  private func compareTexts(
    _ left: Any?, _ right: Any?, _ name: String, _ compare: (String, String) throws -> Bool
  ) throws -> Bool {
    guard let left = Operand.unwrapped(left), let right = Operand.unwrapped(right) else { return false }
    guard let leftText = Operand.text(left), let rightText = Operand.text(right) else {
      let wrong = left is String ? right : left
      throw EvaluationError.wrongType(name, value: Operand.description(wrong), expected: "strings")
    }
    return try compare(leftText, rightText)
  }

  /// Returns the value of an expression for an object; nil instead of `NSNull`.
  func value(_ expression: ExpressionSyntax, with object: Any?) throws -> Any? {
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
      // Like a message to nil.
      guard let target else { return nil }
      return try Self.callFunction(name, on: target, try arguments.map { try value($0, with: object) })
    case .function(nil, PredefinedFunction.index, let arguments) where arguments.count == 2:
      return try element(arguments[1], of: try value(arguments[0], with: object), with: object)
    case .function(nil, let name, let arguments):
      return try FunctionLibrary.call(name, try arguments.map { try value($0, with: object) })
    case .aggregate(let elements): return try elements.map { try value($0, with: object) ?? NSNull() }
    case .union(let left, let right):
      return ValueSet.make(try elements(left, "UNION", object) + elements(right, "UNION", object))
    case .intersect(let left, let right):
      let others = try elements(right, "INTERSECT", object)
      return ValueSet.make(
        try elements(left, "INTERSECT", object).filter { element in
          others.contains { Operand.areEqual($0, element) }
        })
    case .minus(let left, let right):
      let others = try elements(right, "MINUS", object)
      return ValueSet.make(
        try elements(left, "MINUS", object).filter { element in
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

  /// Calls a function of an object, a function provider such as a migration policy, or a plain value.
  static func callFunction(_ name: String, on target: Any, _ arguments: [Any?]) throws -> Any? {
    do {
      // A fast path: for functions of strings, the casts below would take most of the time.
      if type(of: target) == String.self || type(of: target) == [String].self {
        return try ValueFunctions.call(name, on: target, arguments)
      }
      // A method without arguments is a getter.
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
        throw EvaluationError.wrongType("An index", value: "a fraction", expected: "an integer")
      }
      guard position >= 0, position < elements.count else { return nil }
      return Operand.unwrapped(elements[Int(position)])
    }
  }

  // Evaluation for Foundation's methods that cannot throw: errors other than those caused by data trap.

  /// Returns whether an object satisfies a predicate; false for values that cannot be compared and for patterns that
  /// take too long, because both depend on data.
  func evaluateOrStop(_ syntax: PredicateSyntax, with object: Any?) -> Bool {
    do {
      return try evaluate(syntax, with: object)
    } catch EvaluationError.wrongType {
      return false
    } catch let error as EvaluationError where error.isCostly {
      FileHandle.standardError.write(Data("CoreData: \(error)\n".utf8))
      return false
    } catch {
      trap("The predicate \(PredicatePrinter().format(syntax)) cannot be evaluated: \(error)")
    }
  }

  /// Returns the value of an expression for an object; nil if a function gets a value of the wrong type.
  func valueOrStop(_ syntax: ExpressionSyntax, with object: Any?) -> Any? {
    do {
      return try value(syntax, with: object)
    } catch EvaluationError.wrongType {
      return nil
    } catch let error as EvaluationError where error.isCostly {
      FileHandle.standardError.write(Data("CoreData: \(error)\n".utf8))
      return nil
    } catch {
      trap("The expression \(PredicatePrinter().format(syntax)) cannot be evaluated: \(error)")
    }
  }
}

/// The reason why a predicate or expression has no value.
package enum EvaluationError: Error, Equatable, CustomStringConvertible {
  case unknownKey(String, object: String)
  case unknownFunction(String, operand: String)
  case missingVariable(String)
  case wrongType(String, value: String, expected: String)
  case invalidPattern(String)
  case costlyPattern(String)
  case notEvaluable(String)

  fileprivate var isCostly: Bool {
    if case .costlyPattern = self { true } else { false }
  }

  package init(_ error: InvalidPattern) {
    switch error.reason {
    case .notAnExpression: self = .invalidPattern(error.pattern)
    case .tooMuchWork: self = .costlyPattern(error.pattern)
    }
  }

  package var description: String {
    switch self {
    case .unknownKey(let key, let object): "\(object) has no value for the key \"\(key)\"."
    case .unknownFunction(let name, let operand): "The function \"\(name)\" is not known to \(operand)."
    case .missingVariable(let name): "The variable $\(name) has no value: add it to the substitution variables."
    case .wrongType(let operation, let value, let expected): "\(operation) needs \(expected), but found \(value)."
    case .invalidPattern(let pattern): "\"\(pattern)\" is not a regular expression."
    case .costlyPattern(let pattern):
      "The regular expression \"\(pattern)\" was given up, because matching it took more than two seconds beyond what the "
        + "lengths of the strings account for. Write it without nested repetitions, such as (a+)+."
    case .notEvaluable(let what): "\(what) cannot be evaluated in memory."
    }
  }
}

/// Reads key paths from dictionaries, collections and `KeyValueReading` objects.
enum KeyPathReader {
  /// The form of the values of an ordered set and of collection operators' results.
  enum Style {
    /// An array with an element for each missing value, as predicates count them in SQL too.
    case arrays
    /// A collection of the same kind as the source of the values, as in key-value coding.
    case collections
  }

  static func value(_ path: String, of object: Any?, _ style: Style = .arrays) throws -> Any? {
    // The common case first: a key of an object.
    if !path.utf8.contains(where: { $0 == UInt8(ascii: ".") || $0 == UInt8(ascii: "@") }), path != "self",
      let reading = object as? any KeyValueReading
    {
      return Operand.unwrapped(try reading.value(forKeyPathComponent: path))
    }
    return try value(path.split(separator: ".").map(String.init)[...], of: object, style)
  }

  private static func value(_ path: ArraySlice<String>, of object: Any?, _ style: Style) throws -> Any? {
    guard let key = path.first, let object = Operand.unwrapped(object) else { return Operand.unwrapped(object) }
    let rest = path.dropFirst()
    if key.hasPrefix("@") { return try collectionOperator(key, rest, object, style) }
    if rest.first == "@count", let count = (object as? any KeyValueReading)?.memberCount(forKey: key) { return count }
    guard let elements = Operand.elements(object) else {
      return try value(rest, of: try value(key, ofSingle: object), style)
    }
    if let last = path.last, last.hasPrefix("@"), !path.dropLast().contains(where: { $0.hasPrefix("@") }) {
      // `items.price.@sum` adds up all prices, so equal ones must not be merged in a set.
      return try collectionOperator(last, [], allValues(path.dropLast(), of: elements), style)
    }
    // As in Foundation, the values of the elements, in a collection of the same kind.
    let values = try elements.map { try value(path, of: $0, style) }
    if Operand.isSet(object) { return ValueSet.make(values.compactMap { $0 }) }
    if style == .collections, object is NSOrderedSet { return distinct(values.compactMap { $0 }, like: object) }
    return values.map { $0 ?? NSNull() }
  }

  /// Returns distinct values in a collection of the same kind as another one. Decimal numbers of an ordered set are
  /// returned in an array, because Foundation's ordered sets on Linux cannot contain any.
  private static func distinct(_ values: [Any], like collection: Any) -> Any {
    if Operand.isSet(collection) { return ValueSet.make(values) }
    if collection is NSOrderedSet, !values.contains(where: { $0 is NSDecimalNumber }) {
      return NSOrderedSet(array: values)
    }
    return Aggregates.distinct(values)
  }

  /// Returns all values of a path without operators, flattening the collections along it.
  private static func allValues(_ path: ArraySlice<String>, of object: Any?) throws -> [Any] {
    guard let object = Operand.unwrapped(object) else { return [] }
    if let elements = Operand.elements(object) { return try elements.flatMap { try allValues(path, of: $0) } }
    guard let key = path.first else { return [object] }
    return try allValues(path.dropFirst(), of: value(key, ofSingle: object))
  }

  private static func value(_ key: String, ofSingle object: Any) throws -> Any? {
    if key == "self" { return object }
    switch object {
    case let reading as any KeyValueReading: return try reading.value(forKeyPathComponent: key)
    case let dictionary as [String: Any]: return dictionary[key]
    case let dictionary as NSDictionary: return dictionary.object(forKey: key)
    case let dictionary as [AnyHashable: Any]: return dictionary[key]
    case let text as String:
      switch key {
      case "length": return text.utf16.count
      case "lowercaseString": return text.lowercased()
      case "uppercaseString": return text.uppercased()
      case "description": return text
      default: break
      }
    case let data as Data where key == "length": return data.count
    default: break
    }
    throw EvaluationError.unknownKey(key, object: Operand.description(object))
  }

  private static func collectionOperator(
    _ name: String, _ rest: ArraySlice<String>, _ object: Any, _ style: Style
  ) throws -> Any? {
    guard let elements = Operand.elements(object) else {
      throw EvaluationError.wrongType(name, value: Operand.description(object), expected: "a collection")
    }
    if name == "@count" { return elements.count }
    let values = try elements.compactMap { try value(rest, of: $0, style) }
    func distinct(_ values: [Any]) -> Any {
      style == .collections ? Self.distinct(values, like: object) : Aggregates.distinct(values)
    }
    switch name {
    case "@sum": return try Aggregates.sum(values)
    case "@avg": return try Aggregates.average(values)
    case "@min": return try Aggregates.extreme(values, .orderedAscending)
    case "@max": return try Aggregates.extreme(values, .orderedDescending)
    case "@unionOfObjects": return values
    case "@distinctUnionOfObjects": return distinct(values)
    case "@unionOfSets" where style == .collections: return ValueSet.make(Operand.flattened(values))
    case "@unionOfArrays", "@unionOfSets": return Operand.flattened(values)
    case "@distinctUnionOfSets" where style == .collections: return ValueSet.make(Operand.flattened(values))
    case "@distinctUnionOfArrays", "@distinctUnionOfSets": return distinct(Operand.flattened(values))
    default: throw EvaluationError.unknownFunction(name, operand: "collections")
    }
  }
}

/// An object whose keys an evaluator can read, such as a managed object. Dictionaries and collections need not conform.
protocol KeyValueReading {
  /// Returns the value of one key of a key path; nil if there is none.
  ///
  /// - Throws: `EvaluationError.unknownKey`, or an error of its own, for an unknown key.
  func value(forKeyPathComponent key: String) throws -> Any?

  /// Returns the number of members of a to-many relationship, without creating a collection; nil for other keys.
  func memberCount(forKey key: String) -> Int?
}

extension KeyValueReading {
  func memberCount(forKey key: String) -> Int? { nil }
}

/// A value that predicates compare by identity: an object, or its identifier.
protocol ComparedByIdentity {
  /// The identity, which is equal for an object and its identifier.
  var identity: NSObject { get }
}

/// An operand of `FUNCTION(operand, "name:", …)`: a migration manager, a policy, a block.
protocol FunctionProviding {
  func callFunction(_ name: String, arguments: [Any?]) throws -> Any?
}

/// The context of `FETCH(request, context, countOnly)`: a managed object context.
protocol FetchEvaluating {
  func evaluateFetch(_ request: Any?, countOnly: Bool) throws -> Any?
}
