// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataStoreFiles
import Foundation

/// A stored value that could not be read, because its file is missing.
///
/// Objects have no value for the property. The column keeps the name of the file until another value is saved. Such a
/// value cannot be copied elsewhere, because the copy would lose it permanently.
package final class UnreadableValue: NSObject {
  package let problem: RowProblem
  /// The readable elements of a composite attribute; nil for other attributes.
  package let rest: NSDictionary?

  package init(_ problem: RowProblem, rest: NSDictionary? = nil) {
    self.problem = problem
    self.rest = rest
  }

  // Files of values never change, and their names are used only once.
  package override func isEqual(_ object: Any?) -> Bool {
    guard let other = object as? UnreadableValue else { return false }
    return problem.kind == other.problem.kind && (rest ?? [:]).isEqual(other.rest ?? [:])
  }

  package override var hash: Int { problem.property.hashValue }

  package override var description: String { problem.description }
}

extension RowSnapshot {
  /// Throws if a value of the row could not be read, so that a copy of the row does not lose it.
  package func requireReadable() throws {
    guard let packed else { return }
    for case .object(let value as UnreadableValue) in packed.slotsOfObjects { throw value.problem }
  }
}
