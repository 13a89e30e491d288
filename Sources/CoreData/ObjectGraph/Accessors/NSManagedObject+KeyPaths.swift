// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataPredicates
import Foundation

extension NSExpression {
  /// Creates an expression for a key path of the evaluated object: `NSExpression(forKeyPath: \Person.name)`.
  ///
  /// - Parameter keyPath: a key path of managed objects' properties whose accessors use `ManagedProperty`, generated or
  ///   ported. Any other key path traps.
  public convenience init<Root: NSManagedObject, Value>(forKeyPath keyPath: KeyPath<Root, Value>) {
    self.init(forKeyPath: Misuse.stop { try KeyPathRecorder.key(for: keyPath) })
  }
}

extension KeyedSortDescriptor where Self: NSSortDescriptor {
  /// Creates a descriptor from a Swift sort descriptor: `NSSortDescriptor(SortDescriptor(\Person.name))`.
  ///
  /// Strings are compared as by `compare:`, because Foundation has no other comparator outside Apple's systems.
  ///
  /// - Parameter sortDescriptor: a descriptor for managed objects. If its key path consists of properties with
  ///   accessors over `ManagedProperty`, the store sorts; otherwise objects are sorted in memory.
  public init<Compared: NSManagedObject>(_ sortDescriptor: SortDescriptor<Compared>) {
    do {
      guard let keyPath = sortDescriptor.keyPath else { throw OpaqueCriterion(kind: .comparator) }
      self.init(key: try KeyPathRecorder.sortKey(for: keyPath), ascending: sortDescriptor.order == .forward)
    } catch {
      let inMemory = NSSortDescriptor(keyPath: \Compared.self, ascending: true) { left, right in
        guard let left = left as? Compared, let right = right as? Compared else { return .orderedSame }
        return sortDescriptor.compare(left, right)
      }
      // As in `KeyedSortDescriptor`, `Self` is always `NSSortDescriptor`.
      self = unsafeDowncast(inMemory, to: Self.self)
    }
  }
}

extension NSSortDescriptor {
  /// Creates a descriptor that sorts by a property of managed objects. If the key path's properties have names, because
  /// their accessors use `ManagedProperty` or `value(forKey:)`, the store sorts; otherwise objects are sorted in
  /// memory.
  public convenience init<Root: NSManagedObject, Value: Comparable>(keyPath: KeyPath<Root, Value>, ascending: Bool) {
    self.init(keyPath, ascending: ascending) { $0 as? Value }
  }

  /// Creates a descriptor that sorts by an optional property of managed objects, like the initializer for other values.
  /// Nil sorts before everything.
  public convenience init<Root: NSManagedObject, Value: Comparable>(keyPath: KeyPath<Root, Value?>, ascending: Bool) {
    self.init(keyPath, ascending: ascending) { $0 as? Value }
  }

  /// Creates a descriptor that sorts by a property of managed objects whose type Swift cannot compare, such as `Bool`,
  /// or by their identifiers, that is, in the order of their rows.
  public convenience init<Root: NSManagedObject, Value>(keyPath: KeyPath<Root, Value>, ascending: Bool) {
    do {
      self.init(key: try KeyPathRecorder.sortKey(for: keyPath), ascending: ascending)
    } catch {
      self.init(keyPath: keyPath, ascending: ascending) { Self.order($0, $1) }
    }
  }

  private static func order(_ left: Any, _ right: Any) -> ComparisonResult {
    if let left = left as? NSManagedObjectID, let right = right as? NSManagedObjectID {
      let (left, right) = (left.current.key, right.current.key)
      let (a, b) = ((left.store, left.root, left.number), (right.store, right.root, right.number))
      return a < b ? .orderedAscending : a > b ? .orderedDescending : .orderedSame
    }
    return Misuse.stop { try SortKey(keyPath: "self", isAscending: true).order(left, right) }
  }

  private convenience init<Root, Property, Value: Comparable>(
    _ keyPath: KeyPath<Root, Property>, ascending: Bool, value: @escaping (Any) -> Value?
  ) {
    do {
      self.init(key: try KeyPathRecorder.sortKey(for: keyPath), ascending: ascending)
    } catch {
      self.init(keyPath: keyPath, ascending: ascending) { left, right in
        switch (value(left), value(right)) {
        case (let left?, let right?):
          left < right ? .orderedAscending : left > right ? .orderedDescending : .orderedSame
        case (nil, .some): .orderedAscending
        case (.some, nil): .orderedDescending
        case (nil, nil): .orderedSame
        }
      }
    }
  }
}
