// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import CoreDataSQLite
import CoreDataStoreFiles
import Foundation

/// Rows made up for a version of a model, which a store of either engine can have.
struct MadeUpRows {
  private struct Row {
    let entity: String
    let key: Int64
    /// A number that no other row has.
    let number: Int
  }

  private static let rowsPerEntity = 3
  private let document: EntityIndex
  private var rows: [Row] = []

  init(_ document: ModelDocument, _ schema: StoreSchema) {
    self.document = EntityIndex(document)
    var keys: [Int: Int64] = [:]
    for entity in schema.entities where !entity.isAbstract {
      for _ in 0..<Self.rowsPerEntity {
        keys[entity.rootNumber, default: 0] += 1
        rows.append(Row(entity: entity.name, key: keys[entity.rootNumber] ?? 0, number: rows.count))
      }
    }
  }

  /// Writes the rows.
  func insert(into database: any SQLDatabase, _ schema: StoreSchema) throws {
    let links = Links(self, schema)
    for row in rows {
      guard let entity = schema[row.entity] else { continue }
      var values: [(column: String, value: BoundSQL)] = [
        ("Z_PK", "\(value: .integer(row.key))"), ("Z_ENT", "\(value: .integer(Int64(entity.number)))"),
        ("Z_OPT", "\(value: .integer(1))"),
      ]
      for attribute in entity.attributes.values.sorted(by: { $0.name < $1.name }) {
        let found = document.lineage(of: row.entity).flatMap(\.attributes).first { $0.name == attribute.name }
        if let found { values += assignments(attribute, found, of: entity, schema, row) }
      }
      values += links.values(of: row, entity)
      let names = values.map { $0.column.hasPrefix("Z_") && $0.column.count <= 5 ? $0.column : SQLName.quoted($0.column) }
      let list = values.map(\.value).joined(", ")
      try database.run(
        "INSERT INTO \(SQLName.quoted(entity.table)) (\(names.joined(separator: ", "))) VALUES (\(list.sql))",
        list.values)
    }
    for statement in links.joinStatements { try database.run(statement.sql, statement.values) }
  }

  private func assignments(
    _ layout: AttributeLayout, _ document: AttributeDocument, of entity: EntityLayout, _ schema: StoreSchema, _ row: Row
  ) -> [(column: String, value: BoundSQL)] {
    if layout.column == nil {
      return layout.elements.flatMap { element in
        document.elements.first { $0.name == element.name }.map {
          assignments(element, $0, of: entity, schema, row)
        } ?? []
      }
    }
    if document.isOptional, row.number % 3 == 2 { return [] }
    return schema.assignments(of: value(layout, row.number, schema.dialect), to: layout, of: entity)
  }

  private func value(_ layout: AttributeLayout, _ number: Int, _ dialect: SQLDialect) -> SQLiteValue {
    let bytes = Data([7, UInt8(number % 256), UInt8(number / 256)])
    switch layout.kind {
    case .integer16, .integer32, .integer64: return .integer(Int64(number % 30_000) * (number % 2 == 0 ? 1 : -1))
    case .boolean: return .integer(Int64(number % 2))
    case .double, .float, .date: return .real(Double(number) + 0.625)
    case .decimal: return .real(Double(number) * 1.25)
    case .string, .uri: return .text("x\(number)")
    case .uuid: return .blob(Data(repeating: UInt8(number % 256), count: 14) + bytes.dropFirst())
    case .binaryData: return .blob(layout.allowsExternalStorage && dialect == .sqlite ? Data([1]) + bytes : bytes)
    default: return .blob(bytes)
    }
  }

  /// The pairs of objects that relationships join.
  private struct Links {
    private var columns: [String: [(column: String, value: BoundSQL)]] = [:]
    private(set) var joinStatements: [BoundSQL] = []

    init(_ made: MadeUpRows, _ schema: StoreSchema) {
      func rows(of name: String) -> [Row] {
        let numbers = schema[name]?.numbers ?? []
        return made.rows.filter { row in schema[row.entity].map { numbers.contains($0.number) } ?? false }
      }
      for entity in schema.entities {
        for relationship in entity.relationships.values.sorted(by: { $0.name < $1.name })
        where relationship.declaringEntity == entity.name {
          let (own, others) = (rows(of: entity.name), rows(of: relationship.destinationEntity))
          if own.isEmpty || others.isEmpty { continue }
          switch relationship.place {
          case .foreignKey(let key):
            let inverse = relationship.inverseName.flatMap {
              schema[relationship.destinationEntity]?.relationships[$0]
            }
            let isOneToOne = inverse.map { !$0.isToMany } ?? false
            for (position, row) in own.enumerated() {
              if isOneToOne, position >= others.count { continue }
              if row.number % 4 == 3, !isOneToOne { continue }
              let other = others[isOneToOne ? position : (position * 2) % others.count]
              add(key, to: row, other, schema)
            }
          case .inverseForeignKey(_, let key) where relationship.inverseName == nil:
            for (position, row) in others.enumerated() where position % 3 != 1 {
              add(key, to: row, own[position % own.count], schema)
            }
          case .inverseForeignKey, .joinTable: continue
          }
        }
      }
      for join in schema.joinTables {
        let (owners, members) = (rows(of: join.ownerEntity), rows(of: join.inverseEntity))
        // The same pairs, whichever of the two relationships owns the table.
        let isForward = [join.ownerEntity, join.relationship].lexicographicallyPrecedes([join.inverseEntity, join.inverse])
        for (first, owner) in owners.enumerated() {
          for (second, member) in members.enumerated()
          where isForward ? (first + second * 2) % 3 == 0 : (second + first * 2) % 3 == 0 {
            if join.isReflexive, owner.key > member.key { continue }
            var names = [join.ownerColumn, join.destinationColumn]
            var values = [owner.key, member.key]
            if let column = join.orderColumn {
              names.append(column)
              values.append(Int64(1024 * (second + 1)))
            }
            if let column = join.inverseOrderColumn {
              names.append(column)
              values.append(Int64(1024 * (owners.count - first)))
            }
            let list = names.map(SQLName.quoted).joined(separator: ", ")
            joinStatements.append(
              "INSERT INTO \(column: join.name) (\(raw: list)) VALUES (\(values: values.map { .integer($0) }))")
          }
        }
      }
    }

    private mutating func add(_ key: ForeignKeyLayout, to row: Row, _ other: Row, _ schema: StoreSchema) {
      let place = "\(row.entity)/\(row.key)"
      if columns[place]?.contains(where: { $0.column == key.column }) == true { return }
      columns[place, default: []].append((key.column, "\(value: .integer(other.key))"))
      if let column = key.entityColumn, let number = schema[other.entity]?.number {
        columns[place, default: []].append((column, "\(value: .integer(Int64(number)))"))
      }
      if let column = key.orderColumn {
        columns[place, default: []].append((column, "\(value: .integer(Int64(1024 * (row.number + 1))))"))
      }
    }

    func values(of row: Row, _ entity: EntityLayout) -> [(column: String, value: BoundSQL)] {
      columns["\(row.entity)/\(row.key)"] ?? []
    }
  }
}

/// The rows of a store of either engine as lines, which are the same for the same content.
struct RowImage {
  private(set) var lines: Set<String> = []

  init(_ database: any SQLDatabase, _ schema: StoreSchema, texts: (String) throws -> [[String?]]) throws {
    for entity in schema.entities where !entity.isAbstract {
      var columns: [(name: String, sql: String, kind: AttributeKind)] = []
      func add(_ attribute: AttributeLayout, _ path: String) {
        guard let column = attribute.column else {
          for element in attribute.elements { add(element, "\(path).\(element.name)") }
          return
        }
        columns.append((path, Self.expression(attribute, SQLName.quoted(column), schema.dialect), attribute.kind))
      }
      for attribute in entity.attributes.values { add(attribute, attribute.name) }
      for relationship in entity.relationships.values {
        guard case .foreignKey(let key) = relationship.place else { continue }
        columns.append((relationship.name, SQLName.quoted(key.column), .integer64))
        if let column = key.entityColumn {
          let names = (schema[relationship.destinationEntity]?.numbers ?? []).compactMap { schema.entity(number: $0) }
          let cases = names.map { "WHEN \($0.number) THEN '\($0.name)'" }.joined(separator: " ")
          columns.append(
            ("\(relationship.name) entity", "CASE \(SQLName.quoted(column)) \(cases) END", .string))
        }
        if let column = key.orderColumn {
          columns.append(("\(relationship.name) place", SQLName.quoted(column), .integer64))
        }
      }
      for owner in schema.entities {
        for relationship in owner.relationships.values
        where relationship.inverseName == nil && relationship.declaringEntity == owner.name {
          guard case .inverseForeignKey(entity.table, let key) = relationship.place,
            schema[relationship.destinationEntity]?.numbers.contains(entity.number) == true
          else { continue }
          columns.append(("in \(owner.name).\(relationship.name)", SQLName.quoted(key.column), .integer64))
          if let column = key.orderColumn {
            columns.append(("place in \(owner.name).\(relationship.name)", SQLName.quoted(column), .integer64))
          }
        }
      }
      columns.sort { $0.name < $1.name }
      let list = (["Z_PK"] + columns.map(\.sql)).joined(separator: ", ")
      for row in try texts("SELECT \(list) FROM \(SQLName.quoted(entity.table)) WHERE Z_ENT = \(entity.number)") {
        let place = "\(entity.name)/\(row[0] ?? "")"
        lines.insert(place)
        for (column, text) in zip(columns, row.dropFirst()) {
          lines.insert("\(place) \(column.name) = \(Self.normal(text, column.kind))")
        }
      }
    }
    for join in schema.joinTables {
      let ends = [[join.ownerEntity, join.relationship], [join.inverseEntity, join.inverse]]
        .sorted { $0.lexicographicallyPrecedes($1) }
      let end = join.end(entity: ends[0][0], relationship: ends[0][1])
      let columns = [end.sourceColumn, end.destinationColumn].map(SQLName.quoted)
        + [end.orderColumn, end.inverseOrderColumn].map { $0.map(SQLName.quoted) ?? "NULL" }
      for row in try texts("SELECT \(columns.joined(separator: ", ")) FROM \(SQLName.quoted(join.name))") {
        lines.insert("\(ends[0].joined(separator: ".")) \(row.map { $0 ?? "-" }.joined(separator: " "))")
      }
    }
  }

  private static func expression(_ attribute: AttributeLayout, _ column: String, _ dialect: SQLDialect) -> String {
    guard dialect == .postgreSQL else {
      switch attribute.kind {
      case .uuid, .transformable: return "lower(hex(\(column)))"
      case .binaryData: return "lower(hex(\(attribute.allowsExternalStorage ? "substr(\(column), 2)" : column)))"
      default: return column
      }
    }
    switch attribute.kind {
    case .boolean: return "\(column)::integer"
    case .float: return "\(column)::double precision"
    case .date:
      let remainder = attribute.remainderColumn.map(SQLName.quoted) ?? "0"
      return "(extract(epoch FROM \(column)) - 978307200)::double precision + coalesce(\(remainder), 0)"
    case .uuid: return "replace(\(column)::text, '-', '')"
    case .binaryData, .transformable: return "encode(\(column), 'hex')"
    default: return column
    }
  }

  private static func normal(_ text: String?, _ kind: AttributeKind) -> String {
    guard let text else { return "-" }
    switch kind {
    case .double, .date, .decimal: return Double(text).map { "\($0)" } ?? text
    case .float: return Double(text).map { "\(Float($0))" } ?? text
    // An empty value of bytes has no digits.
    case .uuid, .transformable, .binaryData: return text.isEmpty ? "-" : text
    default: return text
    }
  }

  func differences(from other: RowImage) -> [String] {
    lines.subtracting(other.lines).sorted().map { "only here: \($0)" }
      + other.lines.subtracting(lines).sorted().map { "missing: \($0)" }
  }
}
