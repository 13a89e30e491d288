// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// A value of a binary property list, including references between the objects of a keyed archive.
package enum ArchiveValue: Hashable, Sendable {
  case boolean(Bool)
  case integer(Int64)
  /// An integer above `Int64.max`.
  case unsigned(UInt64)
  case real(Double)
  case date(Date)
  case data(Data)
  case string(String)
  /// A reference to an object of the same archive, by position.
  case uid(Int)
  case array([ArchiveValue])
  case dictionary([String: ArchiveValue])
}
