// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataPredicates
import Foundation

/// What a descriptor sorts by, as far as a store can use it.
internal struct SortKey: Hashable, Sendable {
  /// The methods of texts that sort descriptors are commonly made with.
  internal enum Method: String, Sendable {
    case compare = "compare:"
    case caseInsensitive = "caseInsensitiveCompare:"
    case localized = "localizedCompare:"
    case localizedCaseInsensitive = "localizedCaseInsensitiveCompare:"
    case localizedStandard = "localizedStandardCompare:"

    internal func order(_ left: String, _ right: String) -> ComparisonResult {
      switch self {
      case .compare: TextComparison().order(left, right)
      case .caseInsensitive: left.caseInsensitiveCompare(right)
      case .localized: left.localizedCompare(right)
      case .localizedCaseInsensitive: left.localizedCaseInsensitiveCompare(right)
      case .localizedStandard: left.localizedStandardCompare(right)
      }
    }
  }

  internal var keyPath: String
  internal var isAscending: Bool
  internal var method = Method.compare

  internal init(keyPath: String, isAscending: Bool, method: Method = .compare) {
    self.keyPath = keyPath
    self.isAscending = isAscending
    self.method = method
  }

  /// The key of a descriptor.
  ///
  /// - Throws: `OpaqueCriterion` if it is made from a Swift key path or sorts by code.
  internal init(_ descriptor: NSSortDescriptor) throws {
    guard let descriptor = descriptor as? KeySortDescriptor else { throw OpaqueCriterion(kind: .swiftKeyPath) }
    guard !descriptor.hasComparator else { throw OpaqueCriterion(kind: .comparator) }
    self = descriptor.sortKey
  }

  /// The order of two values that the key has led to; nothing comes before everything.
  internal func order(_ left: Any?, _ right: Any?) throws -> ComparisonResult {
    let (left, right) = (Operand.unwrapped(left), Operand.unwrapped(right))
    let order: ComparisonResult
    switch (left, right) {
    case (nil, nil): order = .orderedSame
    case (nil, _): order = .orderedAscending
    case (_, nil): order = .orderedDescending
    case (let left as String, let right as String): order = method.order(left, right)
    default: order = try Operand.order(left, right) ?? .orderedSame
    }
    return isAscending ? order : ComparisonResult(rawValue: -order.rawValue) ?? .orderedSame
  }

  /// The order of two objects.
  internal func orderOfObjects(_ left: Any?, _ right: Any?) throws -> ComparisonResult {
    try order(KeyPathReader.value(keyPath, of: left), KeyPathReader.value(keyPath, of: right))
  }
}
