// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataPredicates
import Foundation

/// A sort descriptor that knows its key as text, which Foundation's own on this platform does not.
internal final class KeySortDescriptor: NSSortDescriptor {
  internal let sortKey: SortKey
  internal let hasComparator: Bool
  private let customComparator: Comparator?

  internal init(_ sortKey: SortKey, comparator: Comparator? = nil) {
    self.sortKey = sortKey
    customComparator = comparator
    hasComparator = comparator != nil
    super.init(keyPath: \SortKey.keyPath, ascending: sortKey.isAscending)
  }

  override func compare(_ object1: Any, to object2: Any) -> ComparisonResult {
    do {
      return try order(object1, object2)
    } catch EvaluationError.wrongType {
      // Values of different kinds have no order.
      return .orderedSame
    } catch {
      preconditionFailure("Objects cannot be sorted by \"\(sortKey.keyPath)\": \(error)")
    }
  }

  /// The order of two objects, with every failure as an error.
  internal func order(_ object1: Any, _ object2: Any) throws -> ComparisonResult {
    guard let customComparator else { return try sortKey.orderOfObjects(object1, object2) }
    let left = try KeyPathReader.value(sortKey.keyPath, of: object1) ?? NSNull()
    let right = try KeyPathReader.value(sortKey.keyPath, of: object2) ?? NSNull()
    return sortKey.isAscending ? customComparator(left, right) : customComparator(right, left)
  }

  override var comparator: Comparator {
    customComparator ?? { [sortKey] left, right in
      var ascending = sortKey
      ascending.isAscending = true
      do {
        return try ascending.order(left, right)
      } catch {
        // Values of different kinds have no order.
        return .orderedSame
      }
    }
  }

  override var reversedSortDescriptor: Any {
    var reversed = sortKey
    reversed.isAscending.toggle()
    return KeySortDescriptor(reversed, comparator: customComparator)
  }

  override func copy(with zone: NSZone? = nil) -> Any {
    self
  }

  override func isEqual(_ object: Any?) -> Bool {
    guard let other = object as? KeySortDescriptor else { return false }
    return self === other || !hasComparator && !other.hasComparator && sortKey == other.sortKey
  }

  override var hash: Int { sortKey.hashValue }

  override var description: String {
    "(\(sortKey.keyPath), \(sortKey.isAscending ? "ascending" : "descending"), \(sortKey.method.rawValue))"
  }
}
