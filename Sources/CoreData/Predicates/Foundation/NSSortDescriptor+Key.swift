// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataPredicates
import Foundation

/// What lets `NSSortDescriptor` have initializers with a key: initializers of a protocol may choose the instance.
public protocol KeyedSortDescriptor {}

extension NSSortDescriptor: KeyedSortDescriptor {
  /// The key path that is sorted by; nil where the descriptor was made from a Swift key path.
  public var key: String? {
    (self as? KeySortDescriptor)?.sortKey.keyPath
  }
}

extension KeyedSortDescriptor where Self: NSSortDescriptor {
  /// Makes a descriptor that sorts by the value of a key path; nil sorts the objects themselves.
  public init(key: String?, ascending: Bool) {
    self = Self.make(SortKey(keyPath: key ?? "self", isAscending: ascending))
  }

  /// Makes a descriptor that sorts by the value of a key path and a method of texts.
  ///
  /// - Parameter selector: `compare:`, `caseInsensitiveCompare:`, `localizedCompare:`,
  ///   `localizedCaseInsensitiveCompare:` or `localizedStandardCompare:`; any other traps.
  ///
  /// Differs from Apple: the selector is given by its name, since there are no selectors without Objective-C.
  public init(key: String?, ascending: Bool, selector: String?) {
    guard let method = SortKey.Method(rawValue: selector ?? SortKey.Method.compare.rawValue) else {
      preconditionFailure("NSSortDescriptor cannot sort by the method \(selector ?? ""). Use a comparator instead.")
    }
    self = Self.make(SortKey(keyPath: key ?? "self", isAscending: ascending, method: method))
  }

  /// Makes a descriptor that compares the values of a key path by code. Stores cannot sort by it.
  public init(key: String?, ascending: Bool, comparator cmptr: @escaping Comparator) {
    self = Self.make(SortKey(keyPath: key ?? "self", isAscending: ascending), cmptr)
  }

  private static func make(_ key: SortKey, _ comparator: Comparator? = nil) -> Self {
    // `Self` is `NSSortDescriptor` itself: its subclasses here are never made by these initializers.
    unsafeDowncast(KeySortDescriptor(key, comparator: comparator) as NSSortDescriptor, to: Self.self)
  }
}
