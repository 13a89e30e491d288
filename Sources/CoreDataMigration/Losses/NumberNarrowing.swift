// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles

extension AttributeKind {
  /// Returns whether values of this type can be too large or too precise for another numeric type.
  package func narrows(to other: AttributeKind) -> Bool {
    let exactBits: [AttributeKind: Int] = [
      .boolean: 1, .integer16: 16, .integer32: 32, .integer64: 64, .float: 24, .double: 53, .decimal: 127,
    ]
    guard self != other, let own = exactBits[self], let others = exactBits[other] else { return false }
    let fractions: Set<AttributeKind> = [.float, .double, .decimal]
    return own > others || (fractions.contains(self) && !fractions.contains(other))
  }
}
