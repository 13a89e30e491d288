// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

/// A row with an invalid value or an unknown entity.
package struct RowProblem: Error, CustomStringConvertible {
  package enum Kind: Equatable {
    /// A stored value that is not of the property's type.
    case unreadableValue(found: String)
    /// The row's `Z_ENT` is not the number of an entity in its table.
    case unknownEntity(number: Int64)
    /// The file of a large value is missing or cannot be read.
    case unreadableFile(entity: String, reason: String, isLasting: Bool)
    /// A value whose type the property cannot have.
    case unwritableValue(found: String)

    /// PostgreSQL's text cannot contain U+0000.
    package static let zeroCharacter = Kind.unwritableValue(
      found: "a text with the character U+0000, which PostgreSQL cannot store")
  }

  package let kind: Kind
  package let table: String
  /// 0 if the value could not be written and the row is unknown.
  package let primaryKey: Int64
  package let property: String

  package init(kind: Kind, table: String, primaryKey: Int64, property: String) {
    self.kind = kind
    self.table = table
    self.primaryKey = primaryKey
    self.property = property
  }

  package var description: String {
    let place = "\(property.isEmpty ? "" : "\(property) of ")the row \(primaryKey) in \(table)"
    switch kind {
    case .unreadableValue(let found): return "The value in \(place) cannot be read: it is \(found)."
    case .unknownEntity(let number):
      return "The entity of \(place) is not in the model: its number is \(number)."
    case .unreadableFile(let entity, let reason, _):
      return "The value of '\(property)' of the row \(primaryKey) in \(table), entity '\(entity)', cannot be read: "
        + "\(reason)."
    case .unwritableValue(let found): return "The value for \(place) cannot be written: it is \(found)."
    }
  }
}
