// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataPredicates
import Foundation

/// A property that a fetch computes: a column of a dictionary result, or an element of an index over an expression.
open class NSExpressionDescription: NSPropertyDescription, @unchecked Sendable {
  var syntax: ExpressionSyntax? { willSet { willEdit("expression") } }

  /// The type of the expression's value.
  open var resultType = NSAttributeDescription.AttributeType.undefined { willSet { willEdit() } }

  /// The type of the expression's value, as an `NSAttributeType`.
  open var expressionResultType: NSAttributeType {
    get { resultType.rawValue }
    set { resultType = NSAttributeDescription.AttributeType(rawValue: newValue) }
  }

  /// The index element that the expression belongs to.
  weak var owningElement: NSFetchIndexElementDescription?

  override func willEdit(_ member: String = #function) {
    super.willEdit(member)
    owningElement?.owningIndex?.willEdit("\(name).\(member)")
  }

  override func adopt(_ source: NSPropertyDescription) {
    super.adopt(source)
    guard let source = source as? NSExpressionDescription else { return }
    syntax = source.syntax
    resultType = source.resultType
  }

  override func hasContent(of other: NSPropertyDescription) -> Bool {
    guard let other = other as? NSExpressionDescription else { return false }
    return super.hasContent(of: other) && syntax == other.syntax && resultType == other.resultType
  }
}

extension NSExpressionDescription {
  /// The expression to compute.
  public var expression: NSExpression? {
    get { syntax.map { NSExpression(syntax: $0) } }
    set { syntax = newValue?.syntax }
  }
}
