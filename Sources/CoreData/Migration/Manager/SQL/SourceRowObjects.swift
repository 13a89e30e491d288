// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataStoreFiles

/// Hands out the objects of source rows to expressions that need more than columns, and forgets their values in batches.
final class SourceRowObjects {
  private static let batch = 500

  private let stack: MigrationStack
  private var handedOut = 0

  init(_ stack: MigrationStack) {
    self.stack = stack
  }

  func object(_ entity: EntityLayout, _ key: Int64) throws -> NSManagedObject {
    if handedOut >= Self.batch {
      stack.releaseValues()
      handedOut = 0
    }
    handedOut += 1
    guard let object = stack.object(of: RowKey(entity: Int32(entity.number), number: key)) else {
      throw RowProblem(
        kind: .unknownEntity(number: Int64(entity.number)), table: entity.table, primaryKey: key, property: "")
    }
    return object
  }
}
