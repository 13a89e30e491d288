// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataSQLite

extension StoreReader {
  /// What a reader should know of a store's triggers: those that Core Data does not make do nothing here, but run where
  /// other programs write.
  static func remarks(onTriggersOf catalog: DatabaseCatalog, store name: String) -> [String] {
    let foreign = catalog.triggers.filter { trigger in
      // Those of derived attributes call a function of the framework.
      !(trigger.name.hasPrefix("Z_DA_") && trigger.sql.contains("NSCoreDataDATrigger"))
    }
    guard !foreign.isEmpty else { return [] }
    let list = foreign.prefix(3).map { "'\($0.name)' on \($0.table)" }.joined(separator: ", ")
    let more = foreign.count > 3 ? " and \(foreign.count - 3) more" : ""
    return [
      "\(name) carries triggers that Core Data does not make: \(list)\(more). They do not run here, nor in a migration; "
        + "other programs that write to the store run them."
    ]
  }
}
