// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import CoreDataPredicates
import CoreDataSQLite
import CoreDataStoreFiles
import Foundation

/// The conversion of stored values when an attribute's type, or the way in which it is stored, changes.
package struct ValueConversion {
  /// The SQL function that returns the value of a column's bytes, also where it is in a file of its own.
  package static let inlineFunction = "Z_MIGRATION_INLINE"

  private enum Change {
    case none, boolean, integer, real, intoFiles, outOfFiles
  }

  private let change: Change

  /// - Throws: `InPlaceProblem` for types that cannot be converted, which inference refuses before.
  package init(from old: AttributeDocument, to new: AttributeDocument, entity: String) throws {
    if old.kind == new.kind {
      let movesValues = old.allowsExternalBinaryDataStorage != new.allowsExternalBinaryDataStorage
      change =
        old.kind != .binaryData || !movesValues ? .none : new.allowsExternalBinaryDataStorage ? .intoFiles : .outOfFiles
      return
    }
    guard old.kind.isNumeric, new.kind.isNumeric else {
      throw InPlaceProblem(
        entity: entity, property: new.name,
        reason: "The type of '\(new.name)' changes from \(old.kind) to \(new.kind), and no conversion is defined.",
        suggestion: "Write a mapping model, or give the attribute another name.")
    }
    let isReal = [.double, .float, .decimal].contains(old.kind)
    change =
      switch new.kind {
      case .boolean: .boolean
      case .integer16, .integer32, .integer64: isReal ? .integer : .none
      case .float, .double: .real
      default: .none
      }
  }

  /// Whether the stored values serve as they are.
  package var keepsValues: Bool { change == .none }

  /// The converted value as SQL.
  package func sql(_ value: BoundSQL) -> BoundSQL {
    switch change {
    case .none: value
    case .boolean: "(\(value) <> 0)"
    case .integer: "CAST(\(value) AS INTEGER)"
    case .real: "CAST(\(value) AS REAL)"
    // Values that may be kept in files begin with a byte that says where they are: 1 for here.
    case .intoFiles: "CASE WHEN \(value) IS NULL THEN NULL ELSE CAST(x'01' || \(value) AS BLOB) END"
    case .outOfFiles:
      "CASE WHEN \(value) IS NULL THEN NULL ELSE \(raw: Self.inlineFunction)(\(value)) END"
    }
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
