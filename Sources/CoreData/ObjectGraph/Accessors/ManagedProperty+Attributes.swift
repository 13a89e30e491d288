// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

// The values of attributes, in each type that a class can declare for them.
//
// An optional type is nil if there is no value. Otherwise a missing number is 0, a `Bool` false, and a `String` or
// `Data` empty, as on Apple's systems. Any other type traps. Numbers are converted to the declared type: an `Int` for
// an Integer 16, a `Double` for the seconds of a date since 2001.

// MARK: Numbers

extension ManagedProperty where Value == Int16 {
  /// The property of an object.
  public subscript(object: NSManagedObject) -> Int16 {
    get { Int16(truncatingIfNeeded: access.integer(of: object) ?? 0) }
    nonmutating set { access.setInteger(Int64(newValue), of: object) }
  }
}

extension ManagedProperty where Value == Int16? {
  /// The property of an object.
  public subscript(object: NSManagedObject) -> Int16? {
    get { access.integer(of: object).map { Int16(truncatingIfNeeded: $0) } }
    nonmutating set { access.setInteger(newValue.map { Int64($0) }, of: object) }
  }
}

extension ManagedProperty where Value == Int32 {
  /// The property of an object.
  public subscript(object: NSManagedObject) -> Int32 {
    get { Int32(truncatingIfNeeded: access.integer(of: object) ?? 0) }
    nonmutating set { access.setInteger(Int64(newValue), of: object) }
  }
}

extension ManagedProperty where Value == Int32? {
  /// The property of an object.
  public subscript(object: NSManagedObject) -> Int32? {
    get { access.integer(of: object).map { Int32(truncatingIfNeeded: $0) } }
    nonmutating set { access.setInteger(newValue.map { Int64($0) }, of: object) }
  }
}

extension ManagedProperty where Value == Int64 {
  /// The property of an object.
  public subscript(object: NSManagedObject) -> Int64 {
    get { access.integer(of: object) ?? 0 }
    nonmutating set { access.setInteger(newValue, of: object) }
  }
}

extension ManagedProperty where Value == Int64? {
  /// The property of an object.
  public subscript(object: NSManagedObject) -> Int64? {
    get { access.integer(of: object) }
    nonmutating set { access.setInteger(newValue, of: object) }
  }
}

extension ManagedProperty where Value == Int {
  /// The property of an object.
  public subscript(object: NSManagedObject) -> Int {
    get { Int(truncatingIfNeeded: access.integer(of: object) ?? 0) }
    nonmutating set { access.setInteger(Int64(newValue), of: object) }
  }
}

extension ManagedProperty where Value == Int? {
  /// The property of an object.
  public subscript(object: NSManagedObject) -> Int? {
    get { access.integer(of: object).map { Int(truncatingIfNeeded: $0) } }
    nonmutating set { access.setInteger(newValue.map { Int64($0) }, of: object) }
  }
}

extension ManagedProperty where Value == Bool {
  /// The property of an object.
  public subscript(object: NSManagedObject) -> Bool {
    get { access.truth(of: object) ?? false }
    nonmutating set { access.setTruth(newValue, of: object) }
  }
}

extension ManagedProperty where Value == Bool? {
  /// The property of an object.
  public subscript(object: NSManagedObject) -> Bool? {
    get { access.truth(of: object) }
    nonmutating set { access.setTruth(newValue, of: object) }
  }
}

extension ManagedProperty where Value == Double {
  /// The property of an object.
  public subscript(object: NSManagedObject) -> Double {
    get { access.real(of: object) ?? 0 }
    nonmutating set { access.setReal(newValue, of: object) }
  }
}

extension ManagedProperty where Value == Double? {
  /// The property of an object.
  public subscript(object: NSManagedObject) -> Double? {
    get { access.real(of: object) }
    nonmutating set { access.setReal(newValue, of: object) }
  }
}

extension ManagedProperty where Value == Float {
  /// The property of an object.
  public subscript(object: NSManagedObject) -> Float {
    get { Float(access.real(of: object) ?? 0) }
    nonmutating set { access.setReal(Double(newValue), of: object) }
  }
}

extension ManagedProperty where Value == Float? {
  /// The property of an object.
  public subscript(object: NSManagedObject) -> Float? {
    get { access.real(of: object).map { Float($0) } }
    nonmutating set { access.setReal(newValue.map { Double($0) }, of: object) }
  }
}

extension ManagedProperty where Value == Decimal {
  /// The property of an object.
  public subscript(object: NSManagedObject) -> Decimal {
    get { access.decimal(of: object) ?? 0 }
    nonmutating set { access.set(NSDecimalNumber(decimal: newValue), of: object) }
  }
}

extension ManagedProperty where Value == Decimal? {
  /// The property of an object.
  public subscript(object: NSManagedObject) -> Decimal? {
    get { access.decimal(of: object) }
    nonmutating set { access.set(newValue.map { NSDecimalNumber(decimal: $0) }, of: object) }
  }
}

extension ManagedProperty where Value: RawRepresentable, Value.RawValue: FixedWidthInteger {
  /// The property of an object, as a case of an enumeration of integers. Traps for a number without a case.
  public subscript(object: NSManagedObject) -> Value {
    get { access.require(access.enumerated(object), of: object) }
    nonmutating set { access.setInteger(Int64(truncatingIfNeeded: newValue.rawValue), of: object) }
  }
}

extension ManagedProperty {
  /// The property of an object, as a case of an enumeration of integers. Traps for a number without a case.
  public subscript<Case: RawRepresentable>(object: NSManagedObject) -> Case?
  where Value == Case?, Case.RawValue: FixedWidthInteger {
    get { access.enumerated(object) }
    nonmutating set { access.setInteger(newValue.map { Int64(truncatingIfNeeded: $0.rawValue) }, of: object) }
  }
}

// MARK: Other values

extension ManagedProperty where Value == String {
  /// The property of an object.
  public subscript(object: NSManagedObject) -> String {
    get { access.string(of: object) ?? "" }
    nonmutating set { access.setString(newValue, of: object) }
  }
}

extension ManagedProperty where Value == String? {
  /// The property of an object.
  public subscript(object: NSManagedObject) -> String? {
    get { access.string(of: object) }
    nonmutating set { access.setString(newValue, of: object) }
  }
}

extension ManagedProperty where Value == Date {
  /// The property of an object.
  public subscript(object: NSManagedObject) -> Date {
    get { access.require(access.date(of: object), of: object) }
    nonmutating set { access.setDate(newValue, of: object) }
  }
}

extension ManagedProperty where Value == Date? {
  /// The property of an object.
  public subscript(object: NSManagedObject) -> Date? {
    get { access.date(of: object) }
    nonmutating set { access.setDate(newValue, of: object) }
  }
}

extension ManagedProperty where Value == UUID {
  /// The property of an object.
  public subscript(object: NSManagedObject) -> UUID {
    get { access.require(access.uuid(of: object), of: object) }
    nonmutating set { access.setUUID(newValue, of: object) }
  }
}

extension ManagedProperty where Value == UUID? {
  /// The property of an object.
  public subscript(object: NSManagedObject) -> UUID? {
    get { access.uuid(of: object) }
    nonmutating set { access.setUUID(newValue, of: object) }
  }
}

extension ManagedProperty where Value == Data {
  /// The property of an object.
  public subscript(object: NSManagedObject) -> Data {
    get { access.data(of: object) ?? Data() }
    nonmutating set { access.setData(newValue, of: object) }
  }
}

extension ManagedProperty where Value == Data? {
  /// The property of an object.
  public subscript(object: NSManagedObject) -> Data? {
    get { access.data(of: object) }
    nonmutating set { access.setData(newValue, of: object) }
  }
}

extension ManagedProperty where Value == URL {
  /// The property of an object.
  public subscript(object: NSManagedObject) -> URL {
    get { access.require(access.url(of: object), of: object) }
    nonmutating set { access.set(newValue, of: object) }
  }
}

extension ManagedProperty where Value == URL? {
  /// The property of an object.
  public subscript(object: NSManagedObject) -> URL? {
    get { access.url(of: object) }
    nonmutating set { access.set(newValue, of: object) }
  }
}
