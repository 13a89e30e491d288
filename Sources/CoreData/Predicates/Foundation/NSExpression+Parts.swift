// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataPredicates
import Foundation

/// The parts of an expression. Asking for one that the expression does not have is a mistake in the program and traps.
extension NSExpression {
  /// What the expression is.
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

  /// The name of the variable, also of a subquery.
  public var variable: String {
    switch syntax {
    case .variable(let name), .subquery(_, let name, _): name
    default: missing("variable")
    }
  }

  /// What a function is called on, or where a key path begins.
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

  /// The value of a conditional expression where its predicate holds.
  public var `true`: NSExpression {
    guard case .conditional(_, let expression, _) = syntax else { missing("expression for true") }
    return NSExpression(syntax: expression)
  }

  /// The value of a conditional expression where its predicate does not hold.
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
    preconditionFailure("The expression \(self) has no \(part).")
  }
}
