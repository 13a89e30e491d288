// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// A value for a parameter of a statement.
package enum PostgreSQLValue: Hashable, Sendable {
  case null
  case integer(Int64)
  case real(Double)
  case boolean(Bool)
  case text(String)
  case bytes(Data)
}
