// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

/// A row of `Z_PRIMARYKEY`.
package struct PrimaryKeyRow: Hashable, Sendable {
  package var number: Int
  package var name: String
  package var parentNumber: Int
  /// The greatest primary key given out; kept in the rows of root entities only.
  package var maximum: Int64

  package init(number: Int, name: String, parentNumber: Int, maximum: Int64 = 0) {
    self.number = number
    self.name = name
    self.parentNumber = parentNumber
    self.maximum = maximum
  }
}
