// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataPredicates
import Foundation

extension SortKey {
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
