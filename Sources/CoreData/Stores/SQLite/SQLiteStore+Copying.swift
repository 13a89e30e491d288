// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataStoreFiles
import Foundation

extension SQLiteStore: CopyDestination {
  package static var roundsDecimals: Bool { true }

  package func prepareForCopies(recordsHistory: Bool) throws { recordsCopies = recordsHistory }

  package func finishCopies() throws { recordsCopies = true }

  package func reserveNumbers(of entity: NSEntityDescription, through number: Int64) throws {
    guard let own = self.number(of: entity), let root = rootNumber(ofEntity: own) else {
      throw StoreErrors.operationFailed(
        url: url, reason: "The store has no table for the entity '\(entity.name ?? "")'.")
    }
    try reserveKeys(ofRoot: root, through: number)
  }

  package func insertCopies(_ rows: [RowChange]) throws {
    try copying { state in
      if recordsCopies { try recordHistory(rows, state) }
      try state.writer.insertCopies(rows)
    }
  }

  package func connectCopies(_ rows: [RowChange]) throws {
    try copying { try $0.writer.connectCopies(rows) }
  }
}
