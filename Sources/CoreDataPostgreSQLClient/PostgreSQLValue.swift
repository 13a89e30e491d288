// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// A value of a parameter or of a row.
package enum PostgreSQLValue: Hashable, Sendable {
  /// Null. PostgreSQL infers the type of the parameter from its context.
  case null
  /// An `int8`. It can be assigned to an `int4` column in INSERT and UPDATE, and compared with one.
  case integer(Int64)
  /// A `float8`.
  case real(Double)
  /// A `bool`.
  case boolean(Bool)
  /// A `text`.
  case text(String)
  /// A `bytea`.
  case bytes(Data)
  /// A `uuid`.
  case uuid(UUID)
  /// A `timestamptz` as microseconds since 2000-01-01 UTC; `Int64.max` and `Int64.min` are infinity and -infinity.
  case timestamp(microseconds: Int64)
  /// A `numeric`, as a decimal number or `NaN`.
  case numeric(String)
  /// An `int8[]`, for `z_pk = ANY ($1)` and `unnest($1)`.
  case integers([Int64])
  /// A `text[]`.
  case texts([String])

  /// The maximum number of bytes that the server accepts for a value. It closes the connection if it gets more.
  static let maxSize = 0x3FFF_FFFF

  /// The type to declare for a parameter; nil for null.
  var type: PostgreSQLType? {
    switch self {
    case .null: nil
    case .integer: .int8
    case .real: .float8
    case .boolean: .bool
    case .text: .text
    case .bytes: .bytea
    case .uuid: .uuid
    case .timestamp: .timestamptz
    case .numeric: .numeric
    case .integers: .int8Array
    case .texts: .textArray
    }
  }
}

extension PostgreSQLValue: ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral, ExpressibleByStringLiteral,
  ExpressibleByBooleanLiteral
{
  package init(integerLiteral value: Int64) { self = .integer(value) }
  package init(floatLiteral value: Double) { self = .real(value) }
  package init(stringLiteral value: String) { self = .text(value) }
  package init(booleanLiteral value: Bool) { self = .boolean(value) }
}

/// A PostgreSQL type, identified by its OID, which is the same on every server.
package struct PostgreSQLType: RawRepresentable, Hashable, Sendable {
  package let rawValue: UInt32

  @inlinable
  package init(rawValue: UInt32) { self.rawValue = rawValue }

  @inlinable package static var bool: Self { Self(rawValue: 16) }
  @inlinable package static var bytea: Self { Self(rawValue: 17) }
  @inlinable package static var name: Self { Self(rawValue: 19) }
  @inlinable package static var int8: Self { Self(rawValue: 20) }
  @inlinable package static var int2: Self { Self(rawValue: 21) }
  @inlinable package static var int4: Self { Self(rawValue: 23) }
  @inlinable package static var text: Self { Self(rawValue: 25) }
  @inlinable package static var oid: Self { Self(rawValue: 26) }
  @inlinable package static var float4: Self { Self(rawValue: 700) }
  @inlinable package static var float8: Self { Self(rawValue: 701) }
  @inlinable package static var textArray: Self { Self(rawValue: 1009) }
  @inlinable package static var int8Array: Self { Self(rawValue: 1016) }
  @inlinable package static var timestamptz: Self { Self(rawValue: 1184) }
  @inlinable package static var numeric: Self { Self(rawValue: 1700) }
  @inlinable package static var uuid: Self { Self(rawValue: 2950) }
}
