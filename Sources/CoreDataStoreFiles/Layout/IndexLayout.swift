// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

/// An index of a store.
package struct IndexLayout: Hashable, Sendable {
  /// Why there is an index.
  package enum Purpose: Hashable, Sendable {
    case foreignKey
    case entityNumber
    case joinTable
    case fetch(entity: String)
    case uniqueness(entity: String)
  }

  /// A column of an index.
  package struct Element: Hashable, Sendable {
    package var column: String
    package var isAscending: Bool

    package init(column: String, isAscending: Bool = true) {
      self.column = column
      self.isAscending = isAscending
    }
  }

  package var name: String
  package var table: String
  package var elements: [Element]
  package var purpose: Purpose

  package init(
    name: String, table: String, elements: [Element], purpose: Purpose
  ) {
    self.name = name
    self.table = table
    self.elements = elements
    self.purpose = purpose
  }

  package var isUnique: Bool {
    if case .uniqueness = purpose { return true }
    return false
  }
}
