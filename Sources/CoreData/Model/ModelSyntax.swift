// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import CoreDataPredicates
import Foundation

/// Predicates in models, which are kept as trees so that they can be compared, copied and written.
internal enum ModelSyntax {
  /// The tree of a predicate. Traps for a predicate that is a closure.
  static func tree(of predicate: NSPredicate, for subject: String) -> PredicateSyntax {
    do {
      return try PredicateSyntax(predicate)
    } catch {
      preconditionFailure("\(subject) cannot be part of a model. \(error)")
    }
  }
}

extension NSPropertyDescription {
  /// The rules that values have to meet.
  public var validationPredicates: [NSPredicate] { validations.map { NSPredicate.make($0.predicate) } }

  /// What is reported for each unmet rule: an error code as a number, or the developer's own text.
  public var validationWarnings: [Any] { validations.map { $0.warning.foundationValue() } }

  /// Sets the rules that values have to meet, and a text to report for each. Traps for a rule that is a closure.
  ///
  /// - Parameter validationWarnings: as many as there are predicates; without them the error has no text of its own.
  public func setValidationPredicates(
    _ validationPredicates: [NSPredicate]?, withValidationWarnings validationWarnings: [String]?
  ) {
    let predicates = validationPredicates ?? []
    precondition(
      validationWarnings.map { $0.count == predicates.count } ?? true,
      "'\(name)' needs one validation warning for each of its \(predicates.count) predicates.")
    validations = predicates.enumerated().map { position, predicate in
      ValidationDocument(
        predicate: ModelSyntax.tree(of: predicate, for: "The property '\(name)'"),
        warning: validationWarnings.map { .string($0[position]) } ?? .null)
    }
  }
}

extension NSDerivedAttributeDescription {
  /// What the value is computed from.
  public var derivationExpression: NSExpression? {
    get { derivation.map { NSExpression(syntax: $0) } }
    set { derivation = newValue?.syntax }
  }
}

extension NSExpressionDescription {
  /// What is computed.
  public var expression: NSExpression? {
    get { syntax.map { NSExpression(syntax: $0) } }
    set { syntax = newValue?.syntax }
  }
}

extension NSFetchIndexDescription {
  /// What limits the index to a part of the rows. Traps for a predicate that is a closure.
  public var partialIndexPredicate: NSPredicate? {
    get { partialIndexSyntax.map { NSPredicate.make($0) } }
    set { partialIndexSyntax = newValue.map { ModelSyntax.tree(of: $0, for: "The index '\(name)'") } }
  }
}
