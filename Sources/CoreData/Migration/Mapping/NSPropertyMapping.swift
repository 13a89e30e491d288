// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataPredicates
import Foundation

/// How one property of a destination entity gets its value.
open class NSPropertyMapping: NSObject {
  /// The name of the property in the destination entity.
  open var name: String?

  /// Custom information.
  open var userInfo: [AnyHashable: Any]?

  /// The tree of the value's expression; nil where the property keeps its default value.
  package internal(set) var valueSyntax: ExpressionSyntax?

  /// What gives the value; nil where the property keeps its default value.
  open var valueExpression: NSExpression? {
    get { valueSyntax.map { NSExpression(syntax: $0) } }
    set { valueSyntax = newValue?.syntax }
  }

  /// Makes a mapping without name and value.
  public override init() {
    super.init()
  }

  open override var description: String {
    "(\(type(of: self)) \(name ?? ""))"
  }
}
