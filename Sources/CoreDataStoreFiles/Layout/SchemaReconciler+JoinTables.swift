// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataSQLite

extension SchemaReconciler {
  /// The join table as the file has it.
  ///
  /// Looked for under the expected name, then under that of the inverse (which of two names a table within one entity
  /// carries cannot be told from the model), then under both with another number.
  package func reconciled(_ join: JoinTableLayout) throws -> JoinTableLayout {
    let others = ["Z_\(number(in: join.destinationColumn))\(join.inverse.uppercased())", join.name]
    let exact = ([join.name] + others).compactMap(catalog.table(named:))
    let alike = catalog.tables.filter { table in
      others.contains { NumberedName(table.name.uppercased()).isLike(NumberedName($0)) }
    }
    for table in exact + alike {
      if let found = columns(of: join, in: table) { return found }
    }
    throw SchemaProblem.joinTableNotInStore(
      entity: join.ownerEntity, relationship: join.relationship, table: join.name)
  }

  private func number(in column: String) -> Substring { NumberedName(column).number }

  private func columns(of join: JoinTableLayout, in table: DatabaseCatalog.Table) -> JoinTableLayout? {
    let keys = table.columns.map(\.name).filter { !$0.uppercased().hasPrefix("Z_FOK_") }
    guard keys.count == 2, let owner = key(join.ownerColumn, of: join.inverse, among: keys) else { return nil }
    let rest = keys.filter { $0 != owner }
    guard let destination = key(join.destinationColumn, of: join.relationship, among: rest) else { return nil }
    var found = join
    found.name = table.name
    found.ownerColumn = owner
    found.destinationColumn = destination
    found.orderColumn = order(join.orderColumn, in: table)
    found.inverseOrderColumn = order(join.inverseOrderColumn, in: table)
    let isComplete =
      (found.orderColumn == nil) == (join.orderColumn == nil)
      && (found.inverseOrderColumn == nil) == (join.inverseOrderColumn == nil)
    return isComplete ? found : nil
  }

  /// The key column named for a relationship: as expected, else with another number, or another suffix after a clash.
  private func key(_ expected: String, of relationship: String, among names: [String]) -> String? {
    if let exact = names.first(where: { $0.uppercased() == expected.uppercased() }) { return exact }
    return names.first { name in
      let rest = NumberedName(name.uppercased()).rest
      let base = relationship.uppercased()
      return rest.hasPrefix(base) && rest.dropFirst(base.count).allSatisfy { $0.isASCII && $0.isNumber }
    }
  }

  private func order(_ expected: String?, in table: DatabaseCatalog.Table) -> String? {
    expected.flatMap { table.spelling(of: $0) ?? table.column(likeNumbered: $0) }
  }
}
