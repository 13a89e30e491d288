// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import CoreDataSQLite
import CoreDataStoreFiles
import Foundation

/// A resolved mapping that SQL can carry out: its source rows, and the statement that makes rows of them.
///
/// The key of a new row is that of its source row plus the mapping's offset.
final class SQLMapping {
  let resolved: ResolvedMapping
  let rows: SourceRows
  let destination: EntityLayout
  let sourceEntity: NSEntityDescription
  let destinationEntity: NSEntityDescription
  let source: MappedStore
  let target: MappedStore
  let objects: SourceRowObjects
  /// The functions that the statements call.
  private(set) var functions: [SQLFunction] = []
  private var fileFunction: String?
  private let scope: SQLScope
  private var columns: [AttributeColumns.Column] = []
  private var conditions: [BoundSQL] = []
  /// Computes the derived attributes of the rows.
  private(set) var derivations: [BoundSQL] = []

  var name: String { resolved.name }
  private var offset: Int64 { resolved.offset ?? 0 }

  /// - Throws: `SQLObstacle` for a mapping that needs objects, or that is wrong, which objects report.
  init(_ resolved: ResolvedMapping, from source: MappedStore, to target: MappedStore, objects: SourceRowObjects) throws
  {
    guard resolved.isPlain else { throw SQLObstacle("has a policy class") }
    guard let rows = try SourceRows(of: resolved, in: source),
      rows.entity.number == resolved.sourceNumber.map(Int.init),
      let sourceEntity = resolved.sourceEntity
    else { throw SQLObstacle("has source objects of another entity than its own") }
    guard let destinationEntity = resolved.destinationEntity,
      let destination = resolved.destinationNumber.flatMap({ target.schema.entity(number: Int($0)) })
    else { throw SQLObstacle("has no destination entity") }
    if destination.isAbstract { throw SQLObstacle("makes objects of an abstract entity") }
    self.resolved = resolved
    self.rows = rows
    (self.sourceEntity, self.destinationEntity, self.destination) = (sourceEntity, destinationEntity, destination)
    (self.source, self.target, self.objects) = (source, target, objects)
    let builder = source.predicates()
    scope = SQLScope(entity: rows.entity, names: builder.aliases)
    columns = try AttributeColumns(mapping: self, scope: scope).columns()
    conditions = try rows.conditions(scope, builder, in: source)
    derivations = try DerivationStatements(mapping: self).statements()
  }

  /// Whether each row of the source's table becomes one row.
  var takesWholeTable: Bool { rows.filter == nil && !source.sharesTable(rows.entity) }

  /// Finds the rows that this mapping has made.
  func madeRows(_ alias: String) -> String {
    guard let keys = resolved.sourceKeys else { return "0" }
    return "\(alias).Z_PK BETWEEN \(offset + keys.lowerBound) AND \(offset + keys.upperBound) "
      + "AND \(alias).Z_ENT = \(destination.number)"
  }

  /// Adds a function for the statements.
  ///
  /// - Parameter texts: does the same for the arguments that it supports.
  func addFunction(
    argumentCount: Int, texts: TextExpression? = nil, _ body: @escaping ([SQLiteValue]) throws -> SQLiteValue
  ) -> String {
    let name = "CDCOPY\(resolved.position)_\(functions.count)"
    functions.append(SQLFunction(name: name, argumentCount: argumentCount, texts: texts, body: body))
    return name
  }

  /// A value that may stand in a file, which the destination gets a link to.
  func adoptedFile(_ value: BoundSQL) -> BoundSQL {
    let (old, new) = (source.external, target.external)
    let name =
      fileFunction
      ?? addFunction(argumentCount: 1) { arguments in
        .blob(try new.adopted(arguments[0].blob ?? Data(), from: old))
      }
    fileFunction = name
    // The name of a file is 38 bytes long; other values need not leave SQLite.
    return "CASE WHEN LENGTH(\(value)) = 38 THEN \(raw: name)(\(value)) ELSE \(value) END"
  }

  /// Returns the statement that makes the rows, from those of the source whose keys lie from the first to the second of its
  /// last two values.
  ///
  /// - Parameter relationships: the columns of relationships, for the alias of the source row.
  func insertion(_ relationships: (_ alias: String) -> [AttributeColumns.Column]) -> BoundSQL {
    let columns = columns + relationships(scope.alias)
    let names = ["Z_PK", "Z_ENT", "Z_OPT"] + columns.map { SQLName.quoted($0.name) }
    let values: [BoundSQL] =
      ["\(raw: scope.alias).Z_PK + \(raw: String(offset))", "\(raw: String(destination.number))", "1"]
      + columns.map(\.value)
    let conditions = conditions + ["\(raw: scope.alias).Z_PK BETWEEN ? AND ?"]
    return """
      INSERT INTO \(raw: target.table(destination.table)) (\(raw: names.joined(separator: ", "))) \
      SELECT \(values.joined(", ")) FROM \(raw: source.table(rows.entity.table)) \(raw: scope.alias)\(raw: scope.joins) \
      WHERE \(conditions.joined(" AND "))
      """
  }
}
