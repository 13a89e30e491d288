// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import CoreDataPredicates
import CoreDataSQLite
import CoreDataStoreFiles
import Foundation

/// A mapping model worked out as SQL: statements that copy rows from one database to another of the same connection, and the
/// functions in Swift that they call.
///
/// The statements know the keys that copies get, so that keys of relationships are computed and not looked up.
final class CopyPlan {
  let source: CopySide
  let target: CopySide
  let objects: SourceObjects
  let copies: [EntityCopy]
  /// Whether nobody has written the mapping model.
  let isInferred: Bool
  /// What earlier migrations have made, for relationships that lead there.
  var earlier = Associations()
  private(set) var functions: [CopyFunction] = []
  private var fileFunction: String?

  /// A plan for a whole mapping model.
  ///
  /// - Throws: `CopyBarrier` where a mapping has source objects that SQL cannot find; `CopyProblem` for one that makes no
  ///   sense.
  convenience init(
    _ mapping: NSMappingModel, from source: CopySide, to target: CopySide, objects: SourceObjects
  ) throws {
    let copies = try mapping.entityMappings.enumerated().compactMap { position, mapping in
      if try PlanBuilder.policyClass(of: mapping) != NSEntityMigrationPolicy.self {
        throw CopyBarrier(mapping: mapping.name ?? "", reason: "has a policy class")
      }
      return try EntityCopy(mapping, position: position, from: source, to: target)
    }
    self.init(copies, isInferred: mapping.inferred != nil, from: source, to: target, objects: objects)
  }

  /// A plan for some entity mappings.
  init(
    _ copies: [EntityCopy], isInferred: Bool, from source: CopySide, to target: CopySide, objects: SourceObjects
  ) {
    self.source = source
    self.target = target
    self.objects = objects
    self.isInferred = isInferred
    self.copies = copies
  }

  /// A function for the statements.
  ///
  /// - Parameter texts: does the same for the arguments that it knows to deal with.
  func addFunction(
    argumentCount: Int, texts: TextExpression? = nil, _ body: @escaping ([SQLiteValue]) throws -> SQLiteValue
  ) -> String {
    let name = "CDCOPY\(functions.count)"
    functions.append(CopyFunction(name: name, argumentCount: argumentCount, texts: texts, body: body))
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

  /// What the rows of a mapping are made of: a query of the source whose columns are those of the destination.
  struct Selection {
    /// The names of the columns, as statements have to call them; the primary key is the first.
    let columns: [String]
    let values: BoundSQL
    let rows: BoundSQL
  }

  /// The rows of a mapping.
  ///
  /// - Parameters:
  ///   - links: what is known of relationships; nil for rows without.
  ///   - condition: is to hold for the row whose alias it is given.
  func selection(
    _ copy: EntityCopy, links: CopyLinks?, where condition: ((String) -> BoundSQL)? = nil
  ) throws -> Selection {
    let builder = source.predicates()
    let scope = SQLScope(entity: copy.rows.entity, names: builder.aliases)
    let columns =
      try AttributeCopy(plan: self, copy: copy, scope: scope).columns()
      + (links?.columns(of: copy, scope: scope, builder: builder) ?? [])
    let conditions =
      try copy.rows.conditions(scope, builder, in: source) + (condition.map { [$0(scope.alias)] } ?? [])
    let key = copy.copiedKey("\(raw: scope.alias).Z_PK")
    let rows: BoundSQL = "\(raw: source.table(copy.rows.entity.table)) \(raw: scope.alias)\(raw: scope.joins)"
    return Selection(
      columns: ["Z_PK", "Z_ENT", "Z_OPT"] + columns.map { SQLName.quoted($0.name) },
      values: ([key, "\(raw: String(copy.destination.number))", "1"] + columns.map(\.value)).joined(", "),
      rows: conditions.isEmpty ? rows : "\(rows) WHERE \(conditions.joined(" AND "))")
  }

  /// The statement that makes the rows of a mapping, from those of the source whose keys lie from the first to the second of
  /// its last two values.
  func insertion(_ copy: EntityCopy, links: CopyLinks) throws -> BoundSQL {
    let made = try selection(copy, links: links) { "\(raw: $0).Z_PK BETWEEN ? AND ?" }
    return """
      INSERT INTO \(raw: target.table(copy.destination.table)) (\(raw: made.columns.joined(separator: ", "))) \
      SELECT \(made.values) FROM \(made.rows)
      """
  }
}
