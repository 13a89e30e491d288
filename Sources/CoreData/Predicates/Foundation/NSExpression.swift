// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataPredicates
import Foundation

/// An expression within a predicate, a derived attribute or a mapping.
open class NSExpression: NSObject, NSCopying, @unchecked Sendable {
  /// What an expression is.
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
    /// `NSFetchRequestExpressionType`
    case fetchRequest = 50
  }

  internal let syntax: ExpressionSyntax

  internal init(syntax: ExpressionSyntax) {
    self.syntax = syntax
  }

  // MARK: Making expressions

  /// Makes an expression from the format language; a format that cannot be read traps.
  public convenience init(format expressionFormat: String, _ arguments: Any?...) {
    self.init(format: expressionFormat, argumentArray: arguments.map { $0 ?? NSNull() })
  }

  /// Makes an expression from the format language and an array of arguments.
  public convenience init(format expressionFormat: String, argumentArray arguments: [Any]) {
    self.init(
      syntax: Misuse.stop {
        try PredicateParser.parseExpression(
          expressionFormat, arguments: arguments.map(PredicateArgument.init(checked:)))
      })
  }

  /// Makes an expression that is a constant.
  public convenience init(forConstantValue value: Any?) {
    self.init(syntax: .constant(Operand.unwrapped(value).map { PlainValue($0) } ?? .null))
  }

  /// The expression that is the evaluated object: `SELF`.
  open class func expressionForEvaluatedObject() -> NSExpression {
    NSExpression(syntax: .evaluatedObject)
  }

  /// The expression that stands for any key.
  open class func expressionForAnyKey() -> NSExpression {
    NSExpression(syntax: .anyKey)
  }

  /// Makes an expression that is a variable: `$name`.
  public convenience init(forVariable string: String) {
    self.init(syntax: .variable(string))
  }

  /// Makes an expression that is a key path of the evaluated object.
  public convenience init(forKeyPath keyPath: String) {
    self.init(syntax: .keyPath(keyPath))
  }

  /// Makes an expression that calls a predefined function such as `sum:`.
  public convenience init(forFunction name: String, arguments parameters: [Any]) {
    self.init(syntax: .function(operand: nil, name: name, arguments: parameters.map(Self.syntax)))
  }

  /// Makes an expression that calls a method of the value of another expression.
  public convenience init(
    forFunction target: NSExpression, selectorName name: String, arguments parameters: [Any]?
  ) {
    let arguments = (parameters ?? []).map(Self.syntax)
    self.init(syntax: .function(operand: target.syntax, name: name, arguments: arguments))
  }

  /// Makes an expression that is a list of expressions.
  public convenience init(forAggregate subexpressions: [Any]) {
    self.init(syntax: .aggregate(subexpressions.map(Self.syntax)))
  }

  /// Makes an expression that unites two collections.
  public convenience init(forUnionSet left: NSExpression, with right: NSExpression) {
    self.init(syntax: .union(left.syntax, right.syntax))
  }

  /// Makes an expression of what two collections have in common.
  public convenience init(forIntersectSet left: NSExpression, with right: NSExpression) {
    self.init(syntax: .intersect(left.syntax, right.syntax))
  }

  /// Makes an expression of what is in the first collection and not in the second.
  public convenience init(forMinusSet left: NSExpression, with right: NSExpression) {
    self.init(syntax: .minus(left.syntax, right.syntax))
  }

  /// Makes an expression of the elements of a collection that a predicate holds for.
  ///
  /// A predicate made from a block traps: it has no form that an expression can carry.
  public convenience init(
    forSubquery expression: NSExpression, usingIteratorVariable variable: String, predicate: NSPredicate
  ) {
    let syntax = Misuse.stop { try PredicateSyntax(predicate) }
    self.init(syntax: .subquery(collection: expression.syntax, variable: variable, predicate: syntax))
  }

  /// Makes an expression that is one of two, as a predicate decides.
  public convenience init(
    forConditional predicate: NSPredicate, trueExpression: NSExpression, falseExpression: NSExpression
  ) {
    let condition = Misuse.stop { try PredicateSyntax(predicate) }
    self.init(syntax: .conditional(condition, trueExpression.syntax, falseExpression.syntax))
  }

  /// Makes an expression whose value a block gives for the evaluated object, the values of the arguments and the
  /// context of the evaluation (empty here).
  ///
  /// Differs from Apple: the context that the block receives is always empty.
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

  /// The value of the expression for an object.
  ///
  /// - Parameters:
  ///   - object: The evaluated object.
  ///   - context: Values of variables by name.
  open func expressionValue(with object: Any?, context: NSMutableDictionary?) -> Any? {
    let variables = context as? [String: Any] ?? [:]
    return EvaluationFace.value(syntax, with: object, variables)
  }

  // MARK: NSObject

  /// The expression itself, which never changes.
  open func copy(with zone: NSZone? = nil) -> Any {
    self
  }

  /// Whether the other is the same expression.
  open override func isEqual(_ object: Any?) -> Bool {
    (object as? NSExpression)?.syntax == syntax
  }

  /// A hash of the expression.
  open override var hash: Int { syntax.hashValue }

  /// The expression in the format language.
  open override var description: String { PredicatePrinter().format(syntax) }
}

/// The block of an expression, as the function of an operand.
internal final class ExpressionBlock: NSObject, FunctionProviding {
  internal static let name = "block:"
  internal let block: (Any?, [Any], NSMutableDictionary?) -> Any

  internal init(_ block: @escaping (Any?, [Any], NSMutableDictionary?) -> Any) {
    self.block = block
  }

  internal func callFunction(_ name: String, arguments: [Any?]) throws -> Any? {
    guard let object = arguments.first else { return nil }
    return Operand.unwrapped(block(object, arguments.dropFirst().map { $0 ?? NSNull() }, nil))
  }
}
