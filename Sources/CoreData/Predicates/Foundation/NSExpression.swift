// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataMistakes
import CoreDataPredicates
// Like Apple's Core Data, this module re-exports Foundation. A file that imports only `CoreData` sees this module's
// `NSExpression` and `NSComparisonPredicate` instead of Foundation's, which do nothing on Linux.
@_exported import Foundation

/// An expression in a predicate, a derived attribute or a mapping. Immutable: threads share only its constants and its
/// block.
open class NSExpression: NSObject, NSCopying, @unchecked Sendable {
  /// The type of an expression.
  public enum ExpressionType: UInt, Sendable {
    case constantValue = 0
    case evaluatedObject = 1
    case variable = 2
    case keyPath = 3
    case function = 4
    case unionSet = 5
    case intersectSet = 6
    case minusSet = 7
    case subquery = 13
    case aggregate = 14
    case anyKey = 15
    case block = 19
    case conditional = 20
    /// A fetch request: `NSFetchRequestExpressionType`.
    case fetchRequest = 50
  }

  let syntax: ExpressionSyntax

  init(syntax: ExpressionSyntax) {
    self.syntax = syntax
  }

  // MARK: Creating expressions

  /// Creates an expression from a format string. Traps if the format cannot be parsed.
  public convenience init(format expressionFormat: String, _ arguments: Any?...) {
    self.init(format: expressionFormat, argumentArray: arguments.map { $0 ?? NSNull() })
  }

  /// Creates an expression from a format string and an array of arguments.
  public convenience init(format expressionFormat: String, argumentArray arguments: [Any]) {
    self.init(
      syntax: Misuse.stop {
        try PredicateParser.parseExpression(
          expressionFormat, arguments: arguments.map(PredicateArgument.init(checked:)))
      })
  }

  /// Creates a constant expression.
  public convenience init(forConstantValue value: Any?) {
    self.init(syntax: .constant(Operand.unwrapped(value).map { PlainValue($0) } ?? .null))
  }

  /// Returns the expression for the evaluated object: `SELF`.
  open class func expressionForEvaluatedObject() -> NSExpression {
    NSExpression(syntax: .evaluatedObject)
  }

  /// Returns the expression for any key.
  open class func expressionForAnyKey() -> NSExpression { NSExpression(syntax: .anyKey) }

  /// Creates an expression for a variable: `$name`.
  public convenience init(forVariable string: String) {
    self.init(syntax: .variable(string))
  }

  /// Creates an expression for a key path of the evaluated object.
  public convenience init(forKeyPath keyPath: String) {
    self.init(syntax: .keyPath(keyPath))
  }

  /// Creates an expression that calls a predefined function such as `sum:`.
  public convenience init(forFunction name: String, arguments parameters: [Any]) {
    self.init(syntax: .function(operand: nil, name: name, arguments: parameters.map(Self.syntax)))
  }

  /// Creates an expression that calls a method on the value of another expression.
  public convenience init(
    forFunction target: NSExpression, selectorName name: String, arguments parameters: [Any]?
  ) {
    let arguments = (parameters ?? []).map(Self.syntax)
    self.init(syntax: .function(operand: target.syntax, name: name, arguments: arguments))
  }

  /// Creates an expression for an array of expressions.
  public convenience init(forAggregate subexpressions: [Any]) {
    self.init(syntax: .aggregate(subexpressions.map(Self.syntax)))
  }

  /// Creates an expression for the union of two collections.
  public convenience init(forUnionSet left: NSExpression, with right: NSExpression) {
    self.init(syntax: .union(left.syntax, right.syntax))
  }

  /// Creates an expression for the intersection of two collections.
  public convenience init(forIntersectSet left: NSExpression, with right: NSExpression) {
    self.init(syntax: .intersect(left.syntax, right.syntax))
  }

  /// Creates an expression for the elements of the first collection that are not in the second.
  public convenience init(forMinusSet left: NSExpression, with right: NSExpression) {
    self.init(syntax: .minus(left.syntax, right.syntax))
  }

  /// Creates an expression for the elements of a collection that satisfy a predicate.
  ///
  /// Traps for a predicate created from a block.
  public convenience init(
    forSubquery expression: NSExpression, usingIteratorVariable variable: String, predicate: NSPredicate
  ) {
    let syntax = Misuse.stop { try PredicateSyntax(predicate) }
    self.init(syntax: .subquery(collection: expression.syntax, variable: variable, predicate: syntax))
  }

  /// Creates an expression for one of two values, chosen by a predicate. Traps for a predicate created from a block.
  public convenience init(
    forConditional predicate: NSPredicate, trueExpression: NSExpression, falseExpression: NSExpression
  ) {
    let condition = Misuse.stop { try PredicateSyntax(predicate) }
    self.init(syntax: .conditional(condition, trueExpression.syntax, falseExpression.syntax))
  }

  /// Creates an expression whose value a block computes from the evaluated object, the values of the arguments and a
  /// context.
  ///
  /// Differs from Apple: the context that the block receives is always nil.
  public convenience init(
    forBlock block: @escaping (Any?, [Any], NSMutableDictionary?) -> Any, arguments: [NSExpression]?
  ) {
    let box = ExpressionBlock(block)
    self.init(
      syntax: .function(
        operand: .constant(.object(OpaqueObject(box))), name: ExpressionBlock.name,
        arguments: [.evaluatedObject] + (arguments ?? []).map(\.syntax)))
  }

  private static func syntax(_ argument: Any) -> ExpressionSyntax {
    (argument as? NSExpression)?.syntax ?? .constant(PlainValue(argument))
  }

  // MARK: Evaluating

  /// Returns the value of the expression for an object.
  ///
  /// - Parameters:
  ///   - object: the evaluated object.
  ///   - context: values of variables by name.
  open func expressionValue(with object: Any?, context: NSMutableDictionary?) -> Any? {
    PredicateEvaluator(variables: context as? [String: Any] ?? [:]).valueOrStop(syntax, with: object)
  }

  // MARK: NSObject

  /// Returns the expression itself, which is immutable.
  open func copy(with zone: NSZone? = nil) -> Any { self }

  /// Returns whether an object is an equal expression.
  open override func isEqual(_ object: Any?) -> Bool { (object as? NSExpression)?.syntax == syntax }

  /// A hash of the expression.
  open override var hash: Int { syntax.hashValue }

  /// The expression in the format language.
  open override var description: String { PredicatePrinter().format(syntax) }
}

/// The block of an expression, represented in the syntax tree as a function of this operand.
final class ExpressionBlock: NSObject, FunctionProviding {
  static let name = "block:"
  let block: (Any?, [Any], NSMutableDictionary?) -> Any

  init(_ block: @escaping (Any?, [Any], NSMutableDictionary?) -> Any) {
    self.block = block
  }

  func callFunction(_ name: String, arguments: [Any?]) throws -> Any? {
    guard let object = arguments.first else { return nil }
    return Operand.unwrapped(block(object, arguments.dropFirst().map { $0 ?? NSNull() }, nil))
  }
}

/// The parts of an expression. Reading a part that the expression does not have traps.
extension NSExpression {
  /// The type of the expression.
  public var expressionType: ExpressionType {
    switch syntax {
    case .constant: .constantValue
    case .evaluatedObject: .evaluatedObject
    case .variable: .variable
    case .keyPath, .keyPathOf: .keyPath
    case .anyKey: .anyKey
    case .function: block == nil ? .function : .block
    case .aggregate: .aggregate
    case .union: .unionSet
    case .intersect: .intersectSet
    case .minus: .minusSet
    case .subquery: .subquery
    case .conditional: .conditional
    case .fetch: .fetchRequest
    }
  }

  /// The value of a constant.
  public var constantValue: Any? {
    guard case .constant(let value) = syntax else { missing("constant value") }
    return value == .null ? nil : value.foundationValue()
  }

  /// The key path.
  public var keyPath: String {
    switch syntax {
    case .keyPath(let path), .keyPathOf(_, let path): path
    default: missing("key path")
    }
  }

  /// The name of the function.
  public var function: String {
    guard case .function(_, let name, _) = syntax else { missing("function") }
    return name
  }

  /// The name of the variable, or of the iterator variable of a subquery.
  public var variable: String {
    switch syntax {
    case .variable(let name), .subquery(_, let name, _): name
    default: missing("variable")
    }
  }

  /// The operand of a function, or the object from which a key path starts.
  public var operand: NSExpression {
    switch syntax {
    case .keyPath: NSExpression(syntax: .evaluatedObject)
    case .keyPathOf(let operand, _), .function(let operand?, _, _): NSExpression(syntax: operand)
    case .function: NSExpression(forConstantValue: nil)
    default: missing("operand")
    }
  }

  /// The arguments of a function or block.
  public var arguments: [NSExpression]? {
    guard case .function(_, _, let arguments) = syntax else { return nil }
    return arguments.dropFirst(block == nil ? 0 : 1).map { NSExpression(syntax: $0) }
  }

  /// The elements of an aggregate, or the collection of a subquery.
  public var collection: Any {
    switch syntax {
    case .aggregate(let elements): elements.map { NSExpression(syntax: $0) }
    case .subquery(let collection, _, _): NSExpression(syntax: collection)
    default: missing("collection")
    }
  }

  /// The predicate of a subquery or condition.
  public var predicate: NSPredicate {
    switch syntax {
    case .subquery(_, _, let predicate), .conditional(let predicate, _, _): .make(predicate)
    default: missing("predicate")
    }
  }

  /// The left side of a union, intersection or difference.
  public var left: NSExpression {
    switch syntax {
    case .union(let left, _), .intersect(let left, _), .minus(let left, _): NSExpression(syntax: left)
    default: missing("left side")
    }
  }

  /// The right side of a union, intersection or difference.
  public var right: NSExpression {
    switch syntax {
    case .union(_, let right), .intersect(_, let right), .minus(_, let right): NSExpression(syntax: right)
    default: missing("right side")
    }
  }

  /// The value of a conditional expression if its predicate is true.
  public var `true`: NSExpression {
    guard case .conditional(_, let expression, _) = syntax else { missing("expression for true") }
    return NSExpression(syntax: expression)
  }

  /// The value of a conditional expression if its predicate is false.
  public var `false`: NSExpression {
    guard case .conditional(_, _, let expression) = syntax else { missing("expression for false") }
    return NSExpression(syntax: expression)
  }

  /// The block of a block expression.
  public var expressionBlock: (Any?, [Any], NSMutableDictionary?) -> Any {
    guard let block else { missing("block") }
    return block.block
  }

  private var block: ExpressionBlock? {
    guard case .function(.constant(.object(let object))?, ExpressionBlock.name, _) = syntax else { return nil }
    return object.value.base as? ExpressionBlock
  }

  private func missing(_ part: String) -> Never {
    trap("The expression \(self) has no \(part).")
  }
}
