// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// A value in a model, mapping model or predicate, without classes of Foundation or Core Data.
///
/// Default values, user info and constants in expressions are plain values, so that they can be compared, hashed, sent
/// between threads and written to files.
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
  /// A set. The elements are unique and keep their order of insertion.
  case set([PlainValue])
  case dictionary([String: PlainValue])
  /// Any other value: a managed object, an object ID, the result of a transformer.
  case object(OpaqueObject)
}

/// A value of a type unknown to this module. Code that sends a predicate to another thread must make sure that its
/// values may be used there.
public struct OpaqueObject: Hashable, @unchecked Sendable {
  /// The wrapped value.
  public let value: AnyHashable

  /// Wraps a value of a type unknown to this module.
  public init(_ value: AnyHashable) {
    self.value = value
  }
}
