// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataPredicates
import Foundation

/// Sorts objects in memory, as the store would.
struct ObjectOrder {
  private let keys: [SortKey]

  init(_ keys: [SortKey]) {
    self.keys = keys
  }

  /// The objects in order; equal ones keep their order.
  func sorted(_ objects: [NSManagedObject]) throws -> [NSManagedObject] {
    let rows = try objects.enumerated().map { offset, object in
      (offset, object, try keys.map { try KeyPathReader.value($0.keyPath, of: object) })
    }
    return try rows.sorted { a, b in
      for (position, key) in keys.enumerated() {
        switch try key.order(a.2[position], b.2[position]) {
        case .orderedAscending: return true
        case .orderedDescending: return false
        case .orderedSame: continue
        }
      }
      return a.0 < b.0
    }.map(\.1)
  }
}

extension SortKey {
  /// The key of a request's descriptor; nil for one that only the program can read: a Swift key path.
  ///
  /// - Throws: 134060 for one with a comparator.
  init?(described descriptor: NSSortDescriptor, entity: NSEntityDescription) throws {
    do {
      try self.init(descriptor)
    } catch let opaque as OpaqueCriterion {
      if opaque.kind == .swiftKeyPath { return nil }
      throw ObjectGraphErrors.badRequest(
        opaque.description, entity: entity,
        suggestion: "Sort the fetched objects in memory, or give the descriptor a key.")
    }
  }
}
