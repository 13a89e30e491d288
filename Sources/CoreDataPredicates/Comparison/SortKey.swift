// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// A sort key that a store can apply: a key path, a direction, and a comparison method for strings.
package struct SortKey: Hashable, Sendable {
  /// The comparison methods of strings that a sort descriptor may name.
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
