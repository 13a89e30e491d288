// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import CoreDataPredicates
import CoreDataSQLite

/// The triggers that keep derived attributes up to date, with exactly the text that Core Data writes.
///
/// They are for programs that use Apple's framework: this framework's contexts compute the values, and its connections
/// run no trigger. The text is known for two kinds of derivation, and only these triggers are written: counts of an
/// unordered to-many relationship with a to-one inverse, between two tables of one entity each; and attributes of the
/// destination of a to-one relationship, for root entities.
package enum DerivedTriggers {
  /// Returns the triggers of all derived attributes.
  package static func statements(_ schema: StoreSchema, _ document: ModelDocument) -> [SchemaStatement] {
    let derived = Dictionary(
      document.entities.map { ($0.name, $0.attributes.filter { $0.derivation != nil }) },
      uniquingKeysWith: { first, _ in first })
    return schema.entities.flatMap { entity -> [SchemaStatement] in
      let attributes = derived[entity.name] ?? []
      return attributes.sorted { $0.name < $1.name }.flatMap { attribute -> [SchemaStatement] in
        guard let derivation = attribute.derivation, let column = entity.attributes[attribute.name]?.column else {
          return []
        }
        let target = DerivedColumn(entity: entity.name, table: entity.table, attribute: attribute.name, column: column)
        if let relationship = derivation.countedRelationship {
          return DerivedCount(target, of: relationship, entity, schema)?.statements ?? []
        }
        if let (relationship, value) = derivation.destinationAttribute {
          return DerivedCopy(target, of: value, through: relationship, entity, schema)?.statements ?? []
        }
        return []
      }
    }
  }
}

/// The column that triggers keep up to date.
private struct DerivedColumn {
  let entity: String
  let table: String
  let attribute: String
  let column: String

  /// The Core Data function that a trigger calls with the changed rows.
  enum Function: String {
    case updated = "NSCoreDataDATriggerUpdatedAffectedObjectValue"
    case inserted = "NSCoreDataDATriggerInsertUpdatedAffectedObjectValue"
  }

  /// Returns a trigger that sets the column.
  ///
  /// - Parameters:
  ///   - suffix: the end of the trigger's name.
  ///   - table: the table whose changes fire the trigger.
  ///   - event: the change.
  ///   - guardText: the condition under which it fires, as SQL beginning with ` WHEN`.
  ///   - value: the value, as SQL.
  ///   - condition: the rows to update, as SQL.
  func trigger(
    _ suffix: String, on table: String, after event: String, when guardText: String = "", sets value: String,
    where condition: String, function: Function
  ) -> SchemaStatement {
    let name = "Z_DA_\(table)_\(entity)_\(attribute)_\(suffix)"
    let (owners, column) = (SQLName.quoted(self.table), SQLName.quoted(column))
    return SchemaStatement(
      name: name,
      sql: "CREATE TRIGGER \(SQLName.quoted(name)) AFTER \(event) ON \(SQLName.quoted(table)) FOR EACH ROW"
        + "\(guardText) BEGIN UPDATE \(owners) SET \(column) = \(value) WHERE \(condition); "
        + "SELECT \(function.rawValue)(\(literal(self.table)), Z_ENT, Z_PK, \(literal(attribute)), \(column)) "
        + "FROM \(owners) WHERE \(condition); END")
  }

  private func literal(_ text: String) -> String {
    "'" + text.split(separator: "'", omittingEmptySubsequences: false).joined(separator: "''") + "'"
  }
}

/// A derived attribute that counts the members of a relationship.
private struct DerivedCount {
  let target: DerivedColumn
  /// The members' table, and its column with the key of the owner.
  let members: String
  let key: String

  init?(_ target: DerivedColumn, of relationship: String, _ entity: EntityLayout, _ schema: StoreSchema) {
    func isAlone(_ entity: EntityLayout) -> Bool {
      entity.isRoot && schema.entity(number: entity.rootNumber)?.numbers.count == 1
    }
    guard let counted = entity.relationships[relationship], counted.isToMany, !counted.isOrdered,
      counted.inverseName != nil, case .inverseForeignKey(let members, let key) = counted.storage,
      members != entity.table, let destination = schema[counted.destinationEntity], isAlone(entity),
      isAlone(destination)
    else { return nil }
    (self.target, self.members, self.key) = (target, members, key.column)
  }

  var statements: [SchemaStatement] {
    let (keyName, columnName) = (SQLName.quoted(key), SQLName.quoted(target.column))
    let count = "(SELECT IFNULL(COUNT(\(keyName)), 0) FROM \(SQLName.quoted(members)) WHERE \(keyName) = NEW.Z_PK)"
    return [
      trigger("PARAMETER_INSERT", "INSERT", row: "NEW", "IFNULL(\(columnName), 0) + 1"),
      trigger("PARAMETER_UPDATE_INCREMENT", "UPDATE OF \(keyName)", row: "NEW", "\(columnName) + 1"),
      trigger("PARAMETER_UPDATE_DECREMENT", "UPDATE OF \(keyName)", row: "OLD", "\(columnName) - 1"),
      trigger("PARAMETER_DELETE", "DELETE", row: "OLD", "\(columnName) - 1"),
      target.trigger(
        "SOURCE_INSERT", on: target.table, after: "INSERT", sets: count, where: "Z_PK = NEW.Z_PK", function: .inserted),
    ]
  }

  /// Returns a trigger of the members' table for a row that has an owner.
  private func trigger(_ suffix: String, _ event: String, row: String, _ value: String) -> SchemaStatement {
    let owner = "\(row).\(SQLName.quoted(key))"
    return target.trigger(
      suffix, on: members, after: event, when: " WHEN (\(owner) NOT NULL)", sets: value, where: "Z_PK = \(owner)",
      function: .updated)
  }
}

/// A derived attribute that copies an attribute of a to-one relationship's destination.
private struct DerivedCopy {
  let target: DerivedColumn
  /// The column with the key of the destination.
  let key: String
  /// The destination's table, and its column with the value.
  let parameters: String
  let value: String

  init?(
    _ target: DerivedColumn, of attribute: String, through relationship: String, _ entity: EntityLayout,
    _ schema: StoreSchema
  ) {
    // An attribute of a sub-entity would need conditions on entity numbers, whose text is not known.
    guard entity.isRoot, let link = entity.relationships[relationship], case .foreignKey(let key) = link.storage,
      let destination = schema[link.destinationEntity], let source = destination.attributes[attribute],
      !source.allowsExternalStorage, let value = source.column
    else { return nil }
    (self.target, self.key, parameters, self.value) = (target, key.column, destination.table, value)
  }

  var statements: [SchemaStatement] {
    let (keyName, valueName) = (SQLName.quoted(key), SQLName.quoted(value))
    let own = "(SELECT \(valueName) FROM \(SQLName.quoted(parameters)) WHERE Z_PK = NEW.\(keyName))"
    return [
      target.trigger(
        "SOURCE_INSERT", on: target.table, after: "INSERT", sets: own, where: "Z_PK = NEW.Z_PK", function: .inserted),
      target.trigger(
        "SOURCE_UPDATE", on: target.table, after: "UPDATE OF \(keyName)", sets: own, where: "Z_PK = NEW.Z_PK",
        function: .updated),
      target.trigger(
        "PARAMETER_INSERT", on: parameters, after: "INSERT", sets: "NEW.\(valueName)", where: "\(keyName) = NEW.Z_PK",
        function: .inserted),
      target.trigger(
        "PARAMETER_UPDATE", on: parameters, after: "UPDATE OF \(valueName)", sets: "NEW.\(valueName)",
        where: "\(keyName) = NEW.Z_PK", function: .updated),
    ]
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

  /// The relationship, and the attribute of its destination, that form the key path; nil for other expressions.
  fileprivate var destinationAttribute: (relationship: String, attribute: String)? {
    guard case .keyPath(let path) = self else { return nil }
    let parts = path.split(separator: ".").map(String.init)
    return parts.count == 2 && !parts[1].hasPrefix("@") ? (parts[0], parts[1]) : nil
  }
}
