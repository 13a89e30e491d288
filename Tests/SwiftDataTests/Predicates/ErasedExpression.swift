// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import Foundation

@testable import SwiftData

/// An expression of any type with an output, so that generated trees need only few generic types.
struct Erased<Output>: StandardPredicateExpression, PredicateNodeConvertible, @unchecked Sendable {
  // Holds only expressions, which are Sendable.

  private let base: any StandardPredicateExpression<Output>

  init(_ base: any StandardPredicateExpression<Output>) { self.base = base }

  func evaluate(_ bindings: PredicateBindings) throws -> Output { try base.evaluate(bindings) }
  var node: PredicateNode { .unwrapped(base) }

  private struct NotCodable: Error {}
  init(from decoder: any Decoder) throws { throw NotCodable() }
  func encode(to encoder: any Encoder) throws { throw NotCodable() }
}

extension StandardPredicateExpression {
  var erased: Erased<Output> { Erased(self) }
}
