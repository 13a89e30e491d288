// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import CoreDataPredicates
import CoreDataSQLite

/// The triggers by which Core Data keeps derived attributes up to date, to the letter as Core Data writes them.
///
/// They are for programs of Apple's framework: contexts here compute the values, and connections here run no trigger. Their text is
/// known for counts of an unordered to-many relationship with a to-one inverse, between two tables of one entity each. No
/// others are written.
package enum DerivedTriggers {
  private static let updated = "NSCoreDataDATriggerUpdatedAffectedObjectValue"
  private static let inserted = "NSCoreDataDATriggerInsertUpdatedAffectedObjectValue"

  /// The triggers of all derived attributes.
  package static func statements(_ schema: StoreSchema, _ document: ModelDocument) -> [SchemaStatement] {
    schema.entities.flatMap { entity -> [SchemaStatement] in
      let attributes = document.entities.first { $0.name == entity.name }?.attributes ?? []
      return attributes.sorted { $0.name < $1.name }.flatMap { attribute -> [SchemaStatement] in
        guard let relationship = attribute.derivation?.countedRelationship else { return [] }
        return Count(attribute.name, of: relationship, entity, schema)?.statements ?? []
      }
    }
  }

  /// A derived attribute that counts the members of a relationship.
  private struct Count {
    let entity: EntityLayout
    let attribute: String
    let column: String
    /// The table of the members, and its column with the key of the owner.
    let members: String
    let key: String

    init?(_ attribute: String, of relationship: String, _ entity: EntityLayout, _ schema: StoreSchema) {
      func isAlone(_ entity: EntityLayout) -> Bool {
        entity.isRoot && schema.entity(number: entity.rootNumber)?.numbers.count == 1
      }
      guard let column = entity.attributes[attribute]?.column, let counted = entity.relationships[relationship],
        counted.isToMany, !counted.isOrdered, counted.inverseName != nil,
        case .inverseForeignKey(let members, let key) = counted.place, members != entity.table,
        let destination = schema[counted.destinationEntity], isAlone(entity), isAlone(destination)
      else { return nil }
      (self.entity, self.attribute, self.column, self.members) = (entity, attribute, column, members)
      self.key = key.column
    }

    var statements: [SchemaStatement] {
      let (keyName, columnName) = (SQLName.quoted(key), SQLName.quoted(column))
      let count = "(SELECT IFNULL(COUNT(\(keyName)), 0) FROM \(SQLName.quoted(members)) WHERE \(keyName) = NEW.Z_PK)"
      return [
        trigger("PARAMETER_INSERT", "INSERT", row: "NEW", "IFNULL(\(columnName), 0) + 1"),
        trigger("PARAMETER_UPDATE_INCREMENT", "UPDATE OF \(keyName)", row: "NEW", "\(columnName) + 1"),
        trigger("PARAMETER_UPDATE_DECREMENT", "UPDATE OF \(keyName)", row: "OLD", "\(columnName) - 1"),
        trigger("PARAMETER_DELETE", "DELETE", row: "OLD", "\(columnName) - 1"),
        statement(
          "SOURCE_INSERT", on: entity.table, "INSERT", condition: "", count, function: DerivedTriggers.inserted,
          key: "NEW.Z_PK"),
      ]
    }

    /// A trigger of the members' table, for a row that has an owner.
    private func trigger(_ suffix: String, _ event: String, row: String, _ value: String) -> SchemaStatement {
      let owner = "\(row).\(SQLName.quoted(key))"
      return statement(
        suffix, on: members, event, condition: " WHEN (\(owner) NOT NULL)", value, function: DerivedTriggers.updated,
        key: owner)
    }

    private func literal(_ text: String) -> String {
      "'" + text.split(separator: "'", omittingEmptySubsequences: false).joined(separator: "''") + "'"
    }

    private func statement(
      _ suffix: String, on table: String, _ event: String, condition: String, _ value: String, function: String,
      key: String
    ) -> SchemaStatement {
      let name = "Z_DA_\(table)_\(entity.name)_\(attribute)_\(suffix)"
      let (owners, column) = (SQLName.quoted(entity.table), SQLName.quoted(column))
      return SchemaStatement(
        name: name,
        sql: "CREATE TRIGGER \(SQLName.quoted(name)) AFTER \(event) ON \(SQLName.quoted(table)) FOR EACH ROW"
          + "\(condition) BEGIN UPDATE \(owners) SET \(column) = \(value) WHERE Z_PK = \(key); "
          + "SELECT \(function)(\(literal(entity.table)), Z_ENT, Z_PK, \(literal(attribute)), \(column)) "
          + "FROM \(owners) WHERE Z_PK = \(key); END")
    }
  }
}

extension ExpressionSyntax {
  /// The relationship whose members the expression counts; nil for other expressions.
  fileprivate var countedRelationship: String? {
    switch self {
    case .keyPath(let path):
      let parts = path.split(separator: ".").map(String.init)
      return parts.count == 2 && parts[1] == "@count" ? parts[0] : nil
    case .function(operand: nil, "count:", let arguments) where arguments.count == 1:
      guard case .keyPath(let name) = arguments[0], !name.contains(".") else { return nil }
      return name
    default: return nil
    }
  }
}
