// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

@testable import SwiftData

/// An expression of any type with an output, so that generated trees need only few generic types.
struct Erased<Output>: StandardPredicateExpression, TranslatableExpression, @unchecked Sendable {
  // Holds only expressions, which are Sendable.

  private let base: any StandardPredicateExpression<Output>

  init(_ base: any StandardPredicateExpression<Output>) { self.base = base }

  func evaluate(_ bindings: PredicateBindings) throws -> Output { try base.evaluate(bindings) }
  func term(_ translator: PredicateTranslator) throws -> Term { try translator.term(of: base) }

  private struct NotCodable: Error {}
  init(from decoder: any Decoder) throws { throw NotCodable() }
  func encode(to encoder: any Encoder) throws { throw NotCodable() }
}

extension StandardPredicateExpression {
  var erased: Erased<Output> { Erased(self) }
}
