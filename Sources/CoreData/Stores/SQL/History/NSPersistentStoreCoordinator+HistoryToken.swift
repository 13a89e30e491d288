// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

extension NSPersistentStoreCoordinator {
  /// Returns the position after the last transaction of each store.
  ///
  /// - Parameter stores: `NSPersistentStore`s of this coordinator; nil for all.
  /// - Returns: nil if none of the stores has history, or the history cannot be read.
  public func currentPersistentHistoryToken(fromStores stores: [Any]?) -> NSPersistentHistoryToken? {
    withLock {
      let wanted = stores?.compactMap { $0 as? NSPersistentStore } ?? persistentStores
      var numbers: [String: Int64] = [:]
      for case let store as any HistoryStore in wanted where store.persistentStoreCoordinator === self {
        // The next history request throws the error.
        guard let identifier = store.identifier, let number = try? store.lastTransaction() else { continue }
        numbers[identifier] = number
      }
      return numbers.isEmpty ? nil : NSPersistentHistoryToken(numbers)
    }
  }
}
