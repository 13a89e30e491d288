// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// A value as it occurs in models, mapping models and predicates, free of any class of Foundation or Core Data.
///
/// Default values, user info and constants in expressions are all of this kind, so that they can be compared, hashed,
/// sent between threads and written to files.
public enum PlainValue: Hashable, Sendable {
  case null
  case boolean(Bool)
  case integer(Int64)
  case real(Double)
  case decimal(Decimal)
  case string(String)
  case date(Date)
  case data(Data)
  case uuid(UUID)
  case url(URL)
  case array([PlainValue])
  /// A set; the elements keep the order in which they were met and hold no duplicates.
  case set([PlainValue])
  case dictionary([String: PlainValue])
  /// Anything else: a managed object, its identifier, a value made by a transformer.
  case object(OpaqueObject)
}

/// A reference that a predicate carries without looking inside.
public struct OpaqueObject: Hashable, @unchecked Sendable {
  /// The value itself.
  public let value: AnyHashable

  /// Wraps a value that this module knows nothing about.
  public init(_ value: AnyHashable) {
    self.value = value
  }
}
