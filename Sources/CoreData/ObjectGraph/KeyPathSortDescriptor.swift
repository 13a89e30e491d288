// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataPredicates
import Foundation

/// A sort descriptor over a Swift key path to values that Foundation cannot compare: optionals and identifiers.
final class KeyPathSortDescriptor: NSSortDescriptor {
  private let order: (Any, Any) -> ComparisonResult

  init<Root: NSManagedObject, Value>(_ keyPath: KeyPath<Root, Value>, isAscending: Bool) {
    let key = SortKey(keyPath: "self", isAscending: isAscending)
    order = { left, right in
      guard let left = left as? Root, let right = right as? Root else { return .orderedSame }
      do {
        return try key.order(Self.comparable(left[keyPath: keyPath]), Self.comparable(right[keyPath: keyPath]))
      } catch {
        // Values of different types have no order.
        return .orderedSame
      }
    }
    super.init(keyPath: \SortKey.keyPath, ascending: isAscending)
  }

  /// Replaces an identifier by its primary key, which sorts rows in the order of their insertion.
  private static func comparable(_ value: Any?) -> Any? {
    guard let id = Operand.unwrapped(value) as? NSManagedObjectID else { return value }
    return NSNumber(value: id.key.number)
  }

  override func compare(_ object1: Any, to object2: Any) -> ComparisonResult { order(object1, object2) }

  override func copy(with zone: NSZone? = nil) -> Any { self }
}

extension KeyedSortDescriptor where Self: NSSortDescriptor {
  /// Makes a descriptor that sorts managed objects by a Swift key path, possibly to an optional. Fetches sort by it in
  /// memory.
  public init<Root: NSManagedObject, Value>(keyPath: KeyPath<Root, Value>, ascending: Bool) {
    self = unsafeDowncast(
      KeyPathSortDescriptor(keyPath, isAscending: ascending) as NSSortDescriptor, to: Self.self)
  }
}
