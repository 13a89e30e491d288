// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataPredicates
import Foundation

/// An attribute whose value is computed when objects are saved.
open class NSDerivedAttributeDescription: NSAttributeDescription, @unchecked Sendable {
  var derivation: ExpressionSyntax? { willSet { willEdit("derivationExpression") } }

  override func adopt(_ source: NSPropertyDescription) {
    super.adopt(source)
    derivation = (source as? NSDerivedAttributeDescription)?.derivation
  }
}

extension NSDerivedAttributeDescription {
  /// The expression that computes the value.
  public var derivationExpression: NSExpression? {
    get { derivation.map { NSExpression(syntax: $0) } }
    set { derivation = newValue?.syntax }
  }
}
