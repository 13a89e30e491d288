// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import CoreDataPredicates
import CoreDataSQLite
import Foundation

/// What must be done to stored values when an attribute's type, or the way in which it is stored, changes.
package struct ValueConversion {
  private let old: AttributeDocument
  private let new: AttributeDocument
  private let entity: String

  package init(from old: AttributeDocument, to new: AttributeDocument, entity: String) {
    self.old = old
    self.new = new
    self.entity = entity
  }

  /// The converted expression; nil when the stored values serve as they are.
  ///
  /// - Throws: 134110 for types that cannot be converted, which inference refuses before this is asked.
  package func applied(to value: ColumnExpression) throws -> ColumnExpression? {
    if old.kind == new.kind {
      guard old.kind == .binaryData, old.allowsExternalBinaryDataStorage != new.allowsExternalBinaryDataStorage else {
        return nil
      }
      return externalStorageConversion(of: value)
    }
    guard Self.numbers.contains(old.kind), Self.numbers.contains(new.kind) else {
      throw InPlaceProblem(
        entity: entity, property: new.name,
        reason:
          "The type of '\(new.name)' changes from \(old.kind) to \(new.kind), which keeps no meaning of its values.",
        suggestion: "Write a mapping model, or give the attribute another name.")
    }
    switch new.kind {
    case .boolean: return value.wrapped("(", " <> 0)")
    case .integer16, .integer32, .integer64:
      if [.double, .float, .decimal].contains(old.kind) {
        return value.wrapped("CAST(", " AS INTEGER)")
      }
      return nil
    case .float, .double:
      return value.wrapped("CAST(", " AS REAL)")
    default: return nil
    }
  }

  private static let numbers: Set<AttributeKind> = [
    .integer16, .integer32, .integer64, .boolean, .double, .float, .decimal,
  ]

  /// The SQL function that gives the value for which the bytes of a column stand, be it in a file of its own.
  package static let inlineFunction = "Z_MIGRATION_INLINE"

  /// Values that may be kept in files begin with a byte that says where they are: 1 for here.
  private func externalStorageConversion(of value: ColumnExpression) -> ColumnExpression {
    new.allowsExternalBinaryDataStorage
      ? value.unlessNull("CAST(x'01' || ", " AS BLOB)") : value.unlessNull("\(Self.inlineFunction)(", ")")
  }
}

/// Default values in the form in which a store keeps them.
package struct StoredDefault {
  private let attribute: AttributeDocument
  private let entity: String
  private let values: any ProgramValues

  package init(_ attribute: AttributeDocument, entity: String, values: any ProgramValues) {
    self.attribute = attribute
    self.entity = entity
    self.values = values
  }

  package func value(of plain: PlainValue) throws -> SQLiteValue {
    switch (plain, attribute.kind) {
    case (.null, _): return .null
    case (_, .transformable): return try archived()
    case (.boolean(let value), _): return .integer(value ? 1 : 0)
    case (.integer(let value), .double), (.integer(let value), .float): return .real(Double(value))
    case (.integer(let value), _): return .integer(value)
    case (.real(let value), .float): return .real(Double(Float(value)))
    case (.real(let value), _): return .real(value)
    case (.decimal(let value), _): return .real(NSDecimalNumber(decimal: value).doubleValue)
    case (.string(let value), _): return .text(value)
    case (.date(let value), _): return .real(value.timeIntervalSinceReferenceDate)
    case (.uuid(let value), _): return .blob(withUnsafeBytes(of: value.uuid) { Data($0) })
    case (.url(let value), _): return .text(value.absoluteString)
    case (.data(let value), _): return .blob(attribute.allowsExternalBinaryDataStorage ? Data([1]) + value : value)
    default: throw unwritable("")
    }
  }

  /// The value as a save would write it: by the attribute's transformer.
  private func archived() throws -> SQLiteValue {
    do {
      return try values.archivedDefault(of: attribute).map { .blob($0) } ?? .null
    } catch let problem as UnwritableDefault {
      throw unwritable(problem.reason.isEmpty ? "" : " \(problem.reason)")
    }
  }

  private func unwritable(_ cause: String) -> InPlaceProblem {
    InPlaceProblem(
      entity: entity, property: attribute.name,
      reason: "The default value of '\(attribute.name)' cannot be written into existing rows.\(cause)",
      suggestion: "Remove the default value, or set the values by a mapping model.")
  }
}
