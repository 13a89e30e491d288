// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import CoreDataStoreFiles

/// The defaults of columns in a server: those of required attributes with a default value that all entities of a table
/// have. Other entities have no value in the column, and the server would give them one.
///
/// Rows that are written by a program that does not know the attribute, such as one with an earlier version of the
/// model, get the default value. Stores may lack the defaults: those of earlier versions, and columns that had rows
/// without a value when they were filled.
package enum ServerDefaults {
  /// Returns the defaults in a layout.
  package static func all(
    _ document: ModelDocument, _ schema: StoreSchema, values: some ProgramValues
  ) -> PostgreSQLDefinitions.Defaults {
    let index = EntityIndex(document)
    var defaults: PostgreSQLDefinitions.Defaults = [:]
    for table in schema.tables {
      guard let root = schema[table.rootEntity], let entity = index[table.rootEntity] else { continue }
      for attribute in entity.attributes {
        guard let layout = root.attributes[attribute.name], let column = layout.column, !attribute.isOptional,
          attribute.derivation == nil, attribute.kind != .transformable, let plain = attribute.defaultValue,
          // An error is reported when a row gets the default value.
          let columns = try? StoredDefault(
            attribute, entity: root.name, values: values, dialect: schema.dialect
          ).columns(of: plain, layout, of: root, in: schema),
          // NaN is stored as NULL.
          columns[column].map({ $0.postgreSQLLiterals != "NULL" }) ?? false
        else { continue }
        for (name, value) in columns {
          defaults[table.name, default: [:]][name] = .init(value, isRequired: name == column)
        }
      }
    }
    return defaults
  }
}

/// The changes of a step to the defaults of a table whose rows stay in place.
struct DefaultChanges {
  /// The new default of a column.
  struct Setting {
    let column: String
    let value: PostgreSQLDefinitions.Default
    /// Whether the column becomes required.
    let isRequired: Bool
  }

  /// Columns that lose their default and that may be NULL, by their new names.
  private(set) var dropped: [String] = []
  /// The defaults of added columns that have the same value in every row.
  private(set) var added: [String: PostgreSQLDefinitions.Default] = [:]
  /// Columns that become required, in whose NULLs the default is written.
  private(set) var filled: [(column: String, values: [(column: String, value: BoundSQL)])] = []
  /// The defaults that are set when all rows have their values.
  private(set) var set: [Setting] = []

  init(
    of table: ServerTables.Altered, from before: [String: PostgreSQLDefinitions.Default],
    to after: [String: PostgreSQLDefinitions.Default]
  ) {
    var kept: [String: PostgreSQLDefinitions.Default] = [:]
    for (column, value) in before
    where !table.columns.removed.contains(column) || table.retypedOrigins.contains(column) {
      kept[table.renames.name(column)] = value
    }
    let retyped = Set(table.retyped.map(\.column.name))
    let new = Set(table.columns.added.map(\.name))
    // A default must have the type of its column.
    dropped = kept.keys.filter { after[$0] == nil || retyped.contains($0) }.sorted()
    for (column, value) in after.sorted(by: { $0.key < $1.key }) {
      if new.contains(column), table.defaults[column] != nil {
        added[column] = value
        continue
      }
      let wasRequired = kept[column]?.isRequired ?? false
      if kept[column] == value, !retyped.contains(column) { continue }
      // Rows of stores that were made without the constraint may lack a value, and keep their state.
      set.append(Setting(column: column, value: value, isRequired: value.isRequired && !wasRequired))
      guard value.isRequired, !wasRequired, !table.fills(column) else { continue }
      let remainder = table.new.columns.first { other in
        if case .remainder = other.role {
          return other.role.owner?.property == subject(of: column, in: table)?.property
        }
        return false
      }
      var values = [(column: column, value: value.value)]
      if let remainder { values.append((remainder.name, after[remainder.name]?.value ?? "NULL")) }
      filled.append((column, values))
    }
  }

  private func subject(of column: String, in table: ServerTables.Altered) -> (entity: String, property: String)? {
    table.new.columns.first { $0.name == column }?.role.owner
  }
}

extension ServerTables.Altered {
  /// Whether the step writes a value into all rows in which a column is NULL.
  fileprivate func fills(_ column: String) -> Bool {
    rowChanges.contains { $0.nullColumn == column && $0.entities.count == concreteCount }
  }
}
