// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataPredicates
import Foundation

extension NSExpression {
  /// Makes an expression for a key path of the evaluated object: `NSExpression(forKeyPath: \Person.name)`.
  ///
  /// - Parameter keyPath: properties of managed objects with accessors over `ManagedProperty`, generated or ported. Any
  ///   other key path stops the program.
  public convenience init<Root: NSManagedObject, Value>(forKeyPath keyPath: KeyPath<Root, Value>) {
    self.init(forKeyPath: Misuse.stop { try KeyPathRecorder.key(for: keyPath) })
  }
}

extension KeyedSortDescriptor where Self: NSSortDescriptor {
  /// Makes a descriptor of a Swift sort descriptor: `NSSortDescriptor(SortDescriptor(\Person.name))`.
  ///
  /// Strings are compared as by `compare:`; outside Apple's systems Foundation has no other comparator.
  ///
  /// - Parameter sortDescriptor: a descriptor for properties of managed objects with accessors over `ManagedProperty`. Any
  ///   other stops the program.
  public init<Compared: NSManagedObject>(_ sortDescriptor: SortDescriptor<Compared>) {
    let keyPath = sortDescriptor.keyPath
    let key = Misuse.stop {
      guard let keyPath else { throw OpaqueCriterion(kind: .comparator) }
      return try KeyPathRecorder.key(for: keyPath)
    }
    self.init(key: key, ascending: sortDescriptor.order == .forward)
  }
}

extension NSSortDescriptor {
  /// Makes a descriptor that sorts by a property of managed objects. A store sorts by it if the key path's properties have
  /// names: accessors over `ManagedProperty` or `value(forKey:)`. By any other key path objects are sorted in memory.
  public convenience init<Root: NSManagedObject, Value: Comparable>(keyPath: KeyPath<Root, Value>, ascending: Bool) {
    self.init(keyPath, ascending: ascending) { $0 as? Value }
  }

  /// Makes a descriptor that sorts by a property of managed objects, as the initializer for values that are not optional.
  /// Nil sorts before everything.
  public convenience init<Root: NSManagedObject, Value: Comparable>(keyPath: KeyPath<Root, Value?>, ascending: Bool) {
    self.init(keyPath, ascending: ascending) { $0 as? Value }
  }

  /// Makes a descriptor that sorts by a property of managed objects whose type Swift cannot compare, such as `Bool`.
  public convenience init<Root: NSManagedObject, Value>(keyPath: KeyPath<Root, Value>, ascending: Bool) {
    do {
      self.init(key: try KeyPathRecorder.key(for: keyPath), ascending: ascending)
    } catch {
      let key = SortKey(keyPath: "self", isAscending: true)
      self.init(keyPath: keyPath, ascending: ascending) { left, right in Misuse.stop { try key.order(left, right) } }
    }
  }

  private convenience init<Root, Property, Value: Comparable>(
    _ keyPath: KeyPath<Root, Property>, ascending: Bool, value: @escaping (Any) -> Value?
  ) {
    do {
      self.init(key: try KeyPathRecorder.key(for: keyPath), ascending: ascending)
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
