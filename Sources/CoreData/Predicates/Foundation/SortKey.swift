// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataPredicates
import Foundation

/// A sort criterion that a store can use.
struct SortKey: Hashable, Sendable {
  /// The comparison methods of strings that a sort descriptor may name.
  enum Method: String, Sendable {
    case compare = "compare:"
    case caseInsensitive = "caseInsensitiveCompare:"
    case localized = "localizedCompare:"
    case localizedCaseInsensitive = "localizedCaseInsensitiveCompare:"
    case localizedStandard = "localizedStandardCompare:"

    func order(_ left: String, _ right: String) -> ComparisonResult {
      switch self {
      case .compare: TextComparison().order(left, right)
      case .caseInsensitive: left.caseInsensitiveCompare(right)
      case .localized: left.localizedCompare(right)
      case .localizedCaseInsensitive: left.localizedCaseInsensitiveCompare(right)
      case .localizedStandard: left.localizedStandardCompare(right)
      }
    }
  }

  var keyPath: String
  var isAscending: Bool
  var method = Method.compare

  init(keyPath: String, isAscending: Bool, method: Method = .compare) {
    self.keyPath = keyPath
    self.isAscending = isAscending
    self.method = method
  }

  /// Makes the key of a descriptor.
  ///
  /// - Throws: `OpaqueCriterion` for a Swift key path or a comparator.
  init(_ descriptor: NSSortDescriptor) throws {
    guard let descriptor = descriptor as? KeySortDescriptor else { throw OpaqueCriterion(kind: .swiftKeyPath) }
    guard !descriptor.hasComparator else { throw OpaqueCriterion(kind: .comparator) }
    self = descriptor.sortKey
  }

  /// Returns the order of two values of the key. Nil sorts before everything.
  func order(_ left: Any?, _ right: Any?) throws -> ComparisonResult {
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

  /// Returns the order of two objects.
  func orderOfObjects(_ left: Any?, _ right: Any?) throws -> ComparisonResult {
    try order(KeyPathReader.value(keyPath, of: left), KeyPathReader.value(keyPath, of: right))
  }
}
