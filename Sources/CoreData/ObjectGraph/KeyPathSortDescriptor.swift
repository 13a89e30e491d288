// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataPredicates
import Foundation

/// A sort descriptor over a Swift key path whose values Foundation cannot compare: optional ones, identifiers.
internal final class KeyPathSortDescriptor: NSSortDescriptor {
  private let order: (Any, Any) -> ComparisonResult

  internal init<Root: NSManagedObject, Value>(_ keyPath: KeyPath<Root, Value>, isAscending: Bool) {
    let key = SortKey(keyPath: "self", isAscending: isAscending)
    order = { left, right in
      guard let left = left as? Root, let right = right as? Root else { return .orderedSame }
      do {
        return try key.order(Self.comparable(left[keyPath: keyPath]), Self.comparable(right[keyPath: keyPath]))
      } catch {
        // Values of different kinds have no order.
        return .orderedSame
      }
    }
    super.init(keyPath: \SortKey.keyPath, ascending: isAscending)
  }

  /// Identifiers are sorted by the order in which their rows were made.
  private static func comparable(_ value: Any?) -> Any? {
    guard let id = Operand.unwrapped(value) as? NSManagedObjectID else { return value }
    return NSNumber(value: id.key.number)
  }

  override func compare(_ object1: Any, to object2: Any) -> ComparisonResult { order(object1, object2) }

  override func copy(with zone: NSZone? = nil) -> Any { self }
}

extension KeyedSortDescriptor where Self: NSSortDescriptor {
  /// Makes a descriptor that sorts managed objects by a Swift key path, also to an optional value. As the key is known to
  /// the compiler only, a fetch sorts by it in memory.
  public init<Root: NSManagedObject, Value>(keyPath: KeyPath<Root, Value>, ascending: Bool) {
    self = unsafeDowncast(
      KeyPathSortDescriptor(keyPath, isAscending: ascending) as NSSortDescriptor, to: Self.self)
  }
}
