// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataPredicates

extension PredicateSQL {
  /// Returns the condition of a partial index on an entity's table, with columns qualified by the table's name; nil for
  /// a predicate that needs other tables, objects or functions of the program.
  package static func indexCondition(
    _ predicate: PredicateSyntax, of entity: EntityLayout, in schema: StoreSchema
  ) -> BoundSQL? {
    let builder = PredicateSQL(schema: schema, objects: NoObjects(), aliases: AliasNames())
    let scope = SQLScope(entity: entity, names: builder.aliases, alias: builder.aliases.table(entity.table))
    do {
      let condition = try builder.condition(predicate, SQLNames(evaluated: scope))
      // An index can have no other tables, and no functions that depend on the time zone.
      let isPlain = scope.joins.isEmpty && !condition.sql.contains("SELECT ") && !condition.sql.contains("extract(")
      return isPlain ? condition : nil
    } catch {
      // An index of all rows serves the same queries.
      return nil
    }
  }

  private struct NoObjects: ObjectKeys {
    func primaryKey(of object: OpaqueObject, root: Int) throws -> Int64? { throw NotExpressibleInSQL() }
  }
}
