// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataPredicates
import Foundation

/// An attribute whose value the store computes when objects are saved.
open class NSDerivedAttributeDescription: NSAttributeDescription, @unchecked Sendable {
  internal var derivation: ExpressionSyntax? { willSet { willEdit("derivationExpression") } }

  internal override func adopt(_ source: NSPropertyDescription) {
    super.adopt(source)
    derivation = (source as? NSDerivedAttributeDescription)?.derivation
  }
}
