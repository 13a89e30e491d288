// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// A sort order that a store can carry out: a key path, a direction, and a method for texts.
package struct SortKey: Hashable, Sendable {
  /// The methods of texts that sort descriptors are commonly made with.
  package enum Method: String, Sendable {
    case compare = "compare:"
    case caseInsensitive = "caseInsensitiveCompare:"
    case localized = "localizedCompare:"
    case localizedCaseInsensitive = "localizedCaseInsensitiveCompare:"
    case localizedStandard = "localizedStandardCompare:"

    package func order(_ left: String, _ right: String) -> ComparisonResult {
      switch self {
      case .compare: TextComparison().order(left, right)
      case .caseInsensitive: left.caseInsensitiveCompare(right)
      case .localized: left.localizedCompare(right)
      case .localizedCaseInsensitive: left.localizedCaseInsensitiveCompare(right)
      case .localizedStandard: left.localizedStandardCompare(right)
      }
    }
  }

  package var keyPath: String
  package var isAscending: Bool
  package var method = Method.compare

  package init(keyPath: String, isAscending: Bool, method: Method = .compare) {
    self.keyPath = keyPath
    self.isAscending = isAscending
    self.method = method
  }
}
