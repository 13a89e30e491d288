// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData

extension PredicateTranslator {
  /// Returns the condition that a model is of a class, or of a subclass of it.
  func typeCheck(_ term: Term, _ desired: Any.Type) throws -> Condition {
    guard case .object(let object) = term, let type = desired as? any PersistentModel.Type else {
      throw NotInStore("'is' checks the type of a value that is not a model")
    }
    let entities = entities(type)
    if entities.isEmpty { throw NotInStore("'is' checks for \(desired), which the schema does not contain") }
    // A class that is the checked one or a subclass of it.
    if ModelLayout.classes(of: object.type).contains(where: { $0 == type }), !object.mayBeNil { return .constant(true) }
    return Self.compare(object.row.expression("entity"), .in, NSExpression(forConstantValue: entities))
  }
}
