// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataPredicates
import Foundation

/// A compound predicate that prints itself and equals its like, which Foundation's own on this platform does not.
internal final class FormatCompoundPredicate: NSCompoundPredicate {
  override var predicateFormat: String { format }
  override var description: String { format }

  override func copy(with zone: NSZone? = nil) -> Any {
    self
  }

  override func isEqual(_ object: Any?) -> Bool {
    guard let other = object as? NSCompoundPredicate else { return false }
    return compoundPredicateType == other.compoundPredicateType && subpredicates == other.subpredicates
  }

  override var hash: Int { subpredicates.hashValue }
}
