// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataSQLite

extension DatabaseCatalog.Table {
  /// The column of that name, in whatever case, as the file spells it.
  package func spelling(of name: String) -> String? {
    column(named: name)?.name
  }

  /// The only column whose name is `name` once the entity number after its first letters has been left out.
  package func column(likeNumbered name: String) -> String? {
    let wanted = NumberedName(name)
    let found = columns.filter { NumberedName($0.name.uppercased()).isLike(wanted) }
    return found.count == 1 ? found[0].name : nil
  }
}

/// A name that has an entity number in it, taken apart: `Z_12BOOKS`, `Z3_OWNER`, `Z_FOK_1FAVORITES`.
package struct NumberedName: Equatable {
  package let prefix: Substring
  package let number: Substring
  package let rest: Substring

  package init(_ name: String) {
    let text = name[...]
    let prefix = ["Z_FOK_", "Z_", "Z"].first { text.hasPrefix($0) } ?? ""
    self.prefix = prefix[...]
    let tail = text.dropFirst(prefix.count)
    number = tail.prefix { $0.isASCII && $0.isNumber }
    rest = tail.dropFirst(number.count)
  }

  /// Whether both differ in their numbers at most, and both have one.
  package func isLike(_ other: NumberedName) -> Bool {
    !number.isEmpty && !other.number.isEmpty && prefix == other.prefix && rest == other.rest
  }
}
