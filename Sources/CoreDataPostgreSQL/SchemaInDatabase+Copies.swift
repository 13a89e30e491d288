// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataPostgreSQLClient
import CoreDataSQLite
import CoreDataStoreFiles

extension SchemaInDatabase {
  /// Removes the tables of a store with an unfinished copy, in the caller's transaction.
  ///
  /// - Parameter discardsOthers: Whether rows that the copy has not written are removed too.
  /// - Returns: false for a complete store, which is unchanged.
  /// - Throws: 134070 if there are such rows and they are not to be removed.
  func dropUnfinishedCopy(discardsOthers: Bool) throws -> Bool {
    try lock()
    guard let mark = try metadata()[StoreMetadata.Key.unfinishedCopy] else { return false }
    if !discardsOthers {
      let copied = CopyProgress(propertyList: mark)?.digest.entities.mapValues(\.count) ?? [:]
      let others = try rowCounts().compactMap { name, count in
        let added = count - (copied[name] ?? 0)
        return added > 0 ? (entity: name, count: added) : nil
      }
      if !others.isEmpty { throw CopyErrors.hasOtherRows(url: url, others.sorted { $0.entity < $1.entity }) }
    }
    try dropTables()
    return true
  }

  /// Returns the numbers of rows by the names of their entities. Others cannot change them until the transaction ends.
  private func rowCounts() throws -> [String: Int] {
    guard let document = try cachedModel() else { return [:] }
    let catalog = try database.catalog()
    // A store of a configuration has only some of the tables.
    let layout = try StoreSchema(document: document, catalog: catalog, primaryKeys: primaryKeys(), allowsMissing: true)
    var counts: [String: Int] = [:]
    for table in layout.tables where catalog.table(named: table.name) != nil {
      let name = "\(SQLName.quoted(address.schema)).\(SQLName.quoted(table.name))"
      try connection.execute("LOCK TABLE \(name) IN SHARE ROW EXCLUSIVE MODE")
      let rows = try connection.query("SELECT coalesce(z_ent, 0)::bigint, count(*) FROM \(name) GROUP BY 1")
      for row in 0..<rows.count {
        let number = Int(rows.int64(row, 0))
        counts[layout.entity(number: number)?.name ?? "entity \(number)", default: 0] += Int(rows.int64(row, 1))
      }
    }
    return counts
  }
}
