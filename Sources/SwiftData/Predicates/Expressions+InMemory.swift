// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData

extension PredicateExpressions.TypeCheck: TranslatableExpression {
  func term(_ translator: PredicateTranslator) throws -> Term {
    guard case .object(let object) = try translator.term(of: input),
      let type = Desired.self as? any PersistentModel.Type
    else { throw NotInStore("'is' checks the type of a value that is not a model") }
    let entities = translator.entities(type)
    if entities.isEmpty { throw NotInStore("'is' checks for \(Desired.self), which the schema does not contain") }
    // A class that is the checked one or a subclass of it.
    if ObjectPath.isKind(object.type, of: type), !object.mayBeNil { return .condition(.constant(true)) }
    return .condition(
      PredicateTranslator.compare(object.row.expression("entity"), .in, NSExpression(forConstantValue: entities)))
  }
}

extension ObjectPath {
  fileprivate static func isKind(_ type: any PersistentModel.Type, of other: any PersistentModel.Type) -> Bool {
    ModelLayout.classes(of: type).contains { $0 == other }
  }
}

extension PredicateExpressions.ConditionalCast: TranslatableExpression {
  func term(_ translator: PredicateTranslator) throws -> Term {
    throw NotInStore("'as?' leads to properties of the subclass \(Desired.self)")
  }
}

extension PredicateExpressions.ForceCast: TranslatableExpression {
  func term(_ translator: PredicateTranslator) throws -> Term {
    throw NotInStore("'as!' leads to properties of the subclass \(Desired.self)")
  }
}

extension PredicateExpressions.ExpressionEvaluate: TranslatableExpression {
  func term(_ translator: PredicateTranslator) throws -> Term {
    throw NotInStore("evaluate(_:) calls another expression")
  }
}

extension PredicateExpressions.StringContainsRegex: TranslatableExpression {
  func term(_ translator: PredicateTranslator) throws -> Term {
    throw NotInStore("contains(_:) searches for a regular expression")
  }
}

extension PredicateExpressions.CollectionIndexSubscript: TranslatableExpression {
  func term(_ translator: PredicateTranslator) throws -> Term {
    throw NotInStore("A subscript depends on the order of a collection's elements")
  }
}

extension PredicateExpressions.CollectionRangeSubscript: TranslatableExpression {
  func term(_ translator: PredicateTranslator) throws -> Term {
    throw NotInStore("A subscript depends on the order of a collection's elements")
  }
}

extension PredicateExpressions.DictionaryKeySubscript: TranslatableExpression {
  func term(_ translator: PredicateTranslator) throws -> Term {
    throw NotInStore("A subscript looks into a dictionary")
  }
}

extension PredicateExpressions.DictionaryKeyDefaultValueSubscript: TranslatableExpression {
  func term(_ translator: PredicateTranslator) throws -> Term {
    throw NotInStore("A subscript looks into a dictionary")
  }
}

extension PredicateExpressions.SequenceMinimum: TranslatableExpression {
  func term(_ translator: PredicateTranslator) throws -> Term {
    throw NotInStore("min() looks into the values of an attribute")
  }
}

extension PredicateExpressions.SequenceMaximum: TranslatableExpression {
  func term(_ translator: PredicateTranslator) throws -> Term {
    throw NotInStore("max() looks into the values of an attribute")
  }
}
