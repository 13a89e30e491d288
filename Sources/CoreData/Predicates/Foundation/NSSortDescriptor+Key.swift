// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataMistakes
import CoreDataPredicates
import Foundation

/// A protocol that gives `NSSortDescriptor` initializers which return another class. Only initializers of a protocol
/// can assign `self`.
public protocol KeyedSortDescriptor {}

extension NSSortDescriptor: KeyedSortDescriptor {
  /// The key path to sort by; nil if the descriptor was created from a Swift key path without names.
  public var key: String? { (self as? KeySortDescriptor)?.sortKey.keyPath }
}

extension KeyedSortDescriptor where Self: NSSortDescriptor {
  /// Creates a descriptor that sorts by a key path, or, for nil, compares the objects themselves.
  public init(key: String?, ascending: Bool) {
    self = Self.make(SortKey(keyPath: key ?? "self", isAscending: ascending))
  }

  /// Creates a descriptor that sorts by a key path and a comparison method of strings.
  ///
  /// - Parameters:
  ///   - key: the key path; nil for the objects themselves.
  ///   - ascending: whether the smallest value comes first.
  ///   - selector: `compare:`, `caseInsensitiveCompare:`, `localizedCompare:`, `localizedCaseInsensitiveCompare:` or
  ///     `localizedStandardCompare:`. Traps for any other selector.
  ///
  /// Differs from Apple: the selector is a string, because there are no selectors without Objective-C.
  public init(key: String?, ascending: Bool, selector: String?) {
    guard let method = SortKey.Method(rawValue: selector ?? SortKey.Method.compare.rawValue) else {
      trap("NSSortDescriptor cannot sort by the method \(selector ?? ""). Use a comparator instead.")
    }
    self = Self.make(SortKey(keyPath: key ?? "self", isAscending: ascending, method: method))
  }

  /// Creates a descriptor that compares the values of a key path with a closure. Stores cannot sort by it.
  public init(key: String?, ascending: Bool, comparator cmptr: @escaping Comparator) {
    self = Self.make(SortKey(keyPath: key ?? "self", isAscending: ascending), cmptr)
  }

  private static func make(_ key: SortKey, _ comparator: Comparator? = nil) -> Self {
    // `Self` is always `NSSortDescriptor`, because these initializers are not called on its subclasses.
    unsafeDowncast(KeySortDescriptor(key, comparator: comparator) as NSSortDescriptor, to: Self.self)
  }
}

/// A sort descriptor with a string key, which Foundation's class does not support on Linux.
final class KeySortDescriptor: NSSortDescriptor {
  let sortKey: SortKey
  let hasComparator: Bool
  private let customComparator: Comparator?

  init(_ sortKey: SortKey, comparator: Comparator? = nil) {
    self.sortKey = sortKey
    customComparator = comparator
    hasComparator = comparator != nil
    super.init(keyPath: \SortKey.keyPath, ascending: sortKey.isAscending)
  }

  override func compare(_ object1: Any, to object2: Any) -> ComparisonResult {
    do {
      return try order(object1, object2)
    } catch EvaluationError.wrongType {
      // Values of different types have no order.
      return .orderedSame
    } catch {
      trap("Objects cannot be sorted by \"\(sortKey.keyPath)\": \(error)")
    }
  }

  /// Returns the order of two objects, and throws if they cannot be compared.
  func order(_ object1: Any, _ object2: Any) throws -> ComparisonResult {
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
        // Values of different types have no order.
        return .orderedSame
      }
    }
  }

  override var reversedSortDescriptor: Any {
    var reversed = sortKey
    reversed.isAscending.toggle()
    return KeySortDescriptor(reversed, comparator: customComparator)
  }

  override func copy(with zone: NSZone? = nil) -> Any { self }

  override func isEqual(_ object: Any?) -> Bool {
    guard let other = object as? KeySortDescriptor else { return false }
    return self === other || !hasComparator && !other.hasComparator && sortKey == other.sortKey
  }

  override var hash: Int { sortKey.hashValue }

  override var description: String {
    "(\(sortKey.keyPath), \(sortKey.isAscending ? "ascending" : "descending"), \(sortKey.method.rawValue))"
  }
}

extension SortKey {
  /// Creates the key of a descriptor.
  ///
  /// - Throws: `OpaqueCriterion` for a Swift key path or a comparator.
  init(_ descriptor: NSSortDescriptor) throws {
    guard let descriptor = descriptor as? KeySortDescriptor else { throw OpaqueCriterion(kind: .swiftKeyPath) }
    guard !descriptor.hasComparator else { throw OpaqueCriterion(kind: .comparator) }
    self = descriptor.sortKey
  }

  /// Returns the order of two values of the key. Nil sorts before everything, and NaN after all numbers.
  func order(_ left: Any?, _ right: Any?) throws -> ComparisonResult {
    let (left, right) = (Operand.unwrapped(left), Operand.unwrapped(right))
    let order: ComparisonResult
    if let left, let right, let one = Number(exactly: left), let other = Number(exactly: right) {
      order = Number.compare(one, other) ?? Operand.orderOfNotANumber(left, right)
    } else {
      switch (left, right) {
      case (nil, nil): order = .orderedSame
      case (nil, _): order = .orderedAscending
      case (_, nil): order = .orderedDescending
      case (let left as String, let right as String): order = method.order(left, right)
      case (let left?, let right?):
        order = try Operand.order(left, right) ?? Operand.orderOfNotANumber(left, right)
      }
    }
    return isAscending ? order : ComparisonResult(rawValue: -order.rawValue) ?? .orderedSame
  }

  /// Returns the order of two objects.
  func orderOfObjects(_ left: Any?, _ right: Any?) throws -> ComparisonResult {
    try order(KeyPathReader.value(keyPath, of: left), KeyPathReader.value(keyPath, of: right))
  }
}
