// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataMigration
import Foundation

/// Errors of migrations with a mapping model, which name the entity mapping, the property and the expression.
internal enum MappingErrors {
  /// An additional key for the part of a mapping model that an error is about.
  static let mappingKey = "mapping"
  static let expressionKey = "expression"

  /// The part of a mapping model that an error is about.
  struct Subject {
    var mapping: String
    var entity: String?
    var property: String?
    var expression: String?

    fileprivate var details: [String: Any] {
      var details = ErrorDetail.userInfo(entity: entity, property: property)
      details[MappingErrors.mappingKey] = mapping
      details[MappingErrors.expressionKey] = expression
      return details
    }

    var text: String {
      var text = "the entity mapping '\(mapping)'"
      if let property { text = "the property '\(property)' in \(text)" }
      return text
    }
  }

  /// 134110: the hashes in a mapping model differ from those of the models.
  static func hashMismatch(
    mapping: String, entity: String, side: String, expected: Data?, found: Data?
  ) -> NSError {
    failed(
      Subject(mapping: mapping, entity: entity),
      reason: found == nil
        ? "Mismatch between mapping and \(side) model: the \(side) model has no entity '\(entity)', which the entity "
          + "mapping '\(mapping)' names."
        : "Mismatch between mapping and \(side) model: the entity mapping '\(mapping)' was made for '\(entity)' with the "
          + "version hash \(hex(expected)), and the \(side) model's has \(hex(found)).",
      suggestion: "Create the mapping model again from these versions, or migrate with the versions it was made for.")
  }

  private static func hex(_ hash: Data?) -> String {
    (hash ?? Data()).map { byte in (byte < 16 ? "0" : "") + String(byte, radix: 16) }.joined()
  }

  /// 134110: a part of a mapping model that cannot be executed.
  static func failed(
    _ subject: Subject, reason: String, suggestion: String = "Correct the mapping model.",
    underlying: (any Error)? = nil
  ) -> NSError {
    .cocoa(
      NSMigrationError, "An error occurred during persistent store migration.", reason: reason, suggestion: suggestion,
      underlying: underlying, subject.details)
  }

  /// 134110: an expression that has no value.
  static func failedExpression(_ subject: Subject, _ cause: any Error) -> NSError {
    failed(
      subject,
      reason: "The expression for \(subject.text) cannot be evaluated: \(cause) The expression is: "
        + "\(subject.expression ?? "").",
      underlying: cause)
  }

  /// 134110: the value of an expression does not fit the property.
  static func unfitValue(_ subject: Subject, found: String, wanted: String) -> NSError {
    failed(
      subject,
      reason: "The expression for \(subject.text) returns \(found), but \(wanted) is needed. The expression is: "
        + "\(subject.expression ?? "").",
      suggestion: "Correct the expression, or convert the value in it.")
  }

  /// 134110: a custom entity mapping names no policy, or one that cannot be used.
  static func noPolicy(_ subject: Subject, class name: String?, isKnown: Bool) -> NSError {
    guard let name else {
      return failed(
        subject,
        reason: "The entity mapping '\(subject.mapping)' is of custom type, but names no migration policy class.",
        suggestion: "Set entityMigrationPolicyClassName, or another mapping type.")
    }
    return failed(
      subject,
      reason: isKnown
        ? "The class '\(name)', which the entity mapping '\(subject.mapping)' names as its migration policy, is not "
          + "a subclass of NSEntityMigrationPolicy."
        : "There is no class '\(name)', which the entity mapping '\(subject.mapping)' names as its migration policy.",
      suggestion: isKnown
        ? "Name a subclass of NSEntityMigrationPolicy."
        : (name.contains(".") ? "Link the class into the program" : "Name it with its module, as in 'App.\(name)'")
          + ", or register it with MigrationPolicyClasses.register(_:as:).")
  }

  /// 134110: a store type that this migration cannot read or write.
  static func unsupportedStore(_ type: String) -> NSError {
    .cocoa(
      NSMigrationError, "An error occurred during persistent store migration.",
      reason: "A migration with a mapping model reads and writes SQLite, XML and binary stores, not '\(type)'.",
      suggestion:
        "Use NSSQLiteStoreType, NSXMLStoreType or NSBinaryStoreType. Rows of any other store can be moved to and "
        + "from these by migratePersistentStore(_:to:options:type:).")
  }

  /// 134110: an expression names an entity mapping that does not exist.
  static func unknownMapping(_ name: String, known: [String], _ subject: Subject) -> NSError {
    failed(
      subject,
      reason: "The expression for \(subject.text) names the entity mapping '\(name)', which does not exist; there are "
        + "\(known.map { "'\($0)'" }.joined(separator: ", ")). The expression is: \(subject.expression ?? "").")
  }

  /// 134110: a policy asks for an entity mapping that does not exist.
  static func unknownMapping(_ name: String, known: [String]) -> NSError {
    failed(
      Subject(mapping: name),
      reason: "A migration policy asked for the objects of the entity mapping '\(name)', which the mapping model does "
        + "not have; there are \(known.map { "'\($0)'" }.joined(separator: ", ")).")
  }
}

extension MappingMismatch {
  var sentence: String {
    let subject = "The mapping '\(mapping)' is for the \(side.rawValue) entity '\(entity)'"
    guard let found else { return "\(subject), which the \(side.rawValue) model does not have." }
    guard let wanted else {
      return "\(subject), but has no version hash for it; the model's is \(ErrorDetail.hex(found))."
    }
    return
      "\(subject) with the version hash \(ErrorDetail.hex(wanted)); the \(side.rawValue) model's is \(ErrorDetail.hex(found))."
  }
}
