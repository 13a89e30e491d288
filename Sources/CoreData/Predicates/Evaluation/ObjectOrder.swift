// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataPredicates
import Foundation

/// Sorts objects in memory, as a store would.
struct ObjectOrder {
  private let keys: [SortKey]

  init(_ keys: [SortKey]) {
    self.keys = keys
  }

  /// Returns managed objects, or other values with their keys, in order. The sort is stable.
  func sorted<Object>(_ objects: [Object]) throws -> [Object] {
    let rows = try objects.enumerated().map { offset, object in (offset, object, try values(of: object)) }
    return try rows.sorted { a, b in
      switch try order(a.2, b.2) {
      case .orderedAscending: true
      case .orderedDescending: false
      case .orderedSame: a.0 < b.0
      }
    }.map(\.1)
  }

  /// Returns the values by which an object is sorted.
  func values(of object: Any) throws -> [Any?] { try keys.map { try KeyPathReader.value($0.keyPath, of: object) } }

  /// Returns the order of two objects with these values.
  func order(_ left: [Any?], _ right: [Any?]) throws -> ComparisonResult {
    for (position, key) in keys.enumerated() {
      let order = try key.order(left[position], right[position])
      if order != .orderedSame { return order }
    }
    return .orderedSame
  }
}
