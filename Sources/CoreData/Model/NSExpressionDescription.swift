// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataPredicates
import Foundation

/// A property that a fetch computes: a column of a dictionary result, or an element of an index over an expression.
open class NSExpressionDescription: NSPropertyDescription, @unchecked Sendable {
  internal var syntax: ExpressionSyntax? { willSet { willEdit("expression") } }

  /// The type of what the expression gives.
  open var resultType = NSAttributeDescription.AttributeType.undefined { willSet { willEdit() } }

  /// The type of what the expression gives, in the older spelling.
  open var expressionResultType: NSAttributeType {
    get { resultType.rawValue }
    set { resultType = NSAttributeDescription.AttributeType(rawValue: newValue) }
  }

  /// The element of an index that the expression is for.
  internal weak var owningElement: NSFetchIndexElementDescription?

  internal override func willEdit(_ member: String = #function) {
    super.willEdit(member)
    owningElement?.owningIndex?.willEdit("\(name).\(member)")
  }

  internal override func adopt(_ source: NSPropertyDescription) {
    super.adopt(source)
    guard let source = source as? NSExpressionDescription else { return }
    syntax = source.syntax
    resultType = source.resultType
  }

  internal override func hasContent(of other: NSPropertyDescription) -> Bool {
    guard let other = other as? NSExpressionDescription else { return false }
    return super.hasContent(of: other) && syntax == other.syntax && resultType == other.resultType
  }
}
