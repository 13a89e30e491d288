// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Sorts objects in memory, as the store would.
struct ObjectOrder {
  private let terms: [SortTerm]

  init(_ terms: [SortTerm]) {
    self.terms = terms
  }

  /// The objects in order; equal ones keep their order.
  func sorted(_ objects: [NSManagedObject]) throws -> [NSManagedObject] {
    let keyed = try objects.enumerated().map { offset, object in
      (offset, object, try terms.map { try KeyPathReader.value(of: object, at: $0.keyPath) })
    }
    return try keyed.sorted { a, b in
      for (position, term) in terms.enumerated() {
        switch try term.compare(a.2[position], b.2[position]) {
        case .orderedAscending: return true
        case .orderedDescending: return false
        case .orderedSame: continue
        }
      }
      return a.0 < b.0
    }.map(\.1)
  }
}

extension SortTerm {
  /// Compares two values in the term's direction; nothing comes before everything, as NULL does in SQLite.
  func compare(_ a: Any?, _ b: Any?) throws -> ComparisonResult {
    let result: ComparisonResult
    switch (a, b) {
    case (nil, nil): result = .orderedSame
    case (nil, _): result = .orderedAscending
    case (_, nil): result = .orderedDescending
    case (let a as String, let b as String): result = compareStrings(a, b)
    case (let a?, let b?): result = try ValueComparison.order(a, b)
    }
    return ascending ? result : ComparisonResult(rawValue: -result.rawValue) ?? .orderedSame
  }

  private func compareStrings(_ a: String, _ b: String) -> ComparisonResult {
    switch comparison {
    case .literal: a == b ? .orderedSame : Array(a.utf8).lexicographicallyPrecedes(Array(b.utf8)) ? .orderedAscending : .orderedDescending
    case .caseInsensitive: a.caseInsensitiveCompare(b)
    case .localized: a.localizedCompare(b)
    case .localizedCaseInsensitive: a.localizedCaseInsensitiveCompare(b)
    case .localizedStandard: a.localizedStandardCompare(b)
    }
  }
}
