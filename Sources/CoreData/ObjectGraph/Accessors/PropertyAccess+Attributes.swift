// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataPredicates
import Foundation

/// Access to attributes, by kind of slot.
extension PropertyAccess {
  @inline(__always)
  func integer(of object: NSManagedObject) -> Int64? {
    switch attribute(of: object) {
    case .integer(let value)?: value
    case .null?: nil
    default: number(of: object).flatMap { Number($0)?.integer ?? $0.int64Value }
    }
  }

  @inline(__always)
  func setInteger(_ value: Int64?, of object: NSManagedObject) {
    write(object, value) { kind in
      switch kind {
      case .integer16AttributeType, .integer32AttributeType, .integer64AttributeType:
        value.map { .integer($0) } ?? .null
      default: nil
      }
    }
  }

  @inline(__always)
  func truth(of object: NSManagedObject) -> Bool? {
    switch attribute(of: object) {
    case .boolean(let value)?: return value
    case .null?: return nil
    default:
      if let recorder = object.recorder { return recorder.answer(recorder.samples.truth, to: self, of: object) }
      return number(of: object)?.boolValue
    }
  }

  @inline(__always)
  func setTruth(_ value: Bool?, of object: NSManagedObject) {
    write(object, value) { $0 == .booleanAttributeType ? value.map { .boolean($0) } ?? .null : nil }
  }

  @inline(__always)
  func real(of object: NSManagedObject) -> Double? {
    switch attribute(of: object) {
    case .double(let value)?, .date(let value)?: value
    case .float(let value)?: Double(value)
    case .null?: nil
    default: number(of: object).flatMap { Number($0)?.real ?? $0.doubleValue }
    }
  }

  @inline(__always)
  func setReal(_ value: Double?, of object: NSManagedObject) {
    write(object, value) { kind in
      switch kind {
      case .doubleAttributeType: value.map { .double($0) } ?? .null
      case .floatAttributeType: value.map { .float(Float($0)) } ?? .null
      case .dateAttributeType: value.map { .date($0) } ?? .null
      default: nil
      }
    }
  }

  @inline(__always)
  func string(of object: NSManagedObject) -> String? {
    switch attribute(of: object) {
    case .string(let value)?: value
    case .null?: nil
    default: other(object, as: String.self, sample: \.string)
    }
  }

  @inline(__always)
  func setString(_ value: String?, of object: NSManagedObject) {
    write(object, value) { $0 == .stringAttributeType ? value.map { .string($0) } ?? .null : nil }
  }

  @inline(__always)
  func date(of object: NSManagedObject) -> Date? {
    switch attribute(of: object) {
    case .date(let value)?: Date(timeIntervalSinceReferenceDate: value)
    case .null?: nil
    default: other(object, as: Date.self, sample: \.date)
    }
  }

  @inline(__always)
  func setDate(_ value: Date?, of object: NSManagedObject) {
    write(object, value) {
      $0 == .dateAttributeType ? value.map { .date($0.timeIntervalSinceReferenceDate) } ?? .null : nil
    }
  }

  @inline(__always)
  func data(of object: NSManagedObject) -> Data? {
    switch attribute(of: object) {
    case .data(let value)?: value
    case .null?: nil
    default: other(object, as: Data.self, sample: \.data)
    }
  }

  @inline(__always)
  func setData(_ value: Data?, of object: NSManagedObject) {
    write(object, value) { $0 == .binaryDataAttributeType ? value.map { .data($0) } ?? .null : nil }
  }

  @inline(__always)
  func uuid(of object: NSManagedObject) -> UUID? {
    switch attribute(of: object) {
    case .uuid(let value)?: value
    case .null?: nil
    default: other(object, as: UUID.self, sample: \.uuid)
    }
  }

  @inline(__always)
  func setUUID(_ value: UUID?, of object: NSManagedObject) {
    write(object, value) { $0 == .UUIDAttributeType ? value.map { .uuid($0) } ?? .null : nil }
  }

  func url(of object: NSManagedObject) -> URL? {
    other(object, as: URL.self, sample: \.url)
  }

  func decimal(of object: NSManagedObject) -> Decimal? {
    number(of: object).flatMap { $0 is NSDecimalNumber ? $0.decimalValue : Number($0)?.decimal }
  }

  func enumerated<Case: RawRepresentable>(_ object: NSManagedObject) -> Case?
  where Case.RawValue: FixedWidthInteger {
    if let recorder = object.recorder {
      let numbers = recorder.samples.isOther ? Array((0...127).reversed()) : Array(0...127)
      guard let sample = numbers.lazy.compactMap({ Case(rawValue: Case.RawValue($0)) }).first else { return nil }
      return recorder.answer(sample, to: self, of: object)
    }
    guard let number: Int64 = integer(of: object) else { return nil }
    guard let raw = Case.RawValue(exactly: number), let value = Case(rawValue: raw) else {
      stop(object, wanted: Case.self, found: number)
    }
    return value
  }

  /// Returns the value as a number, for types that have no slot of their own.
  func number(of object: NSManagedObject) -> NSNumber? {
    if let recorder = object.recorder { return recorder.answer(recorder.samples.number, to: self, of: object) }
    let value = value(of: object)
    if let number = value as? NSNumber { return number }
    if let date = value as? Date { return NSNumber(value: date.timeIntervalSinceReferenceDate) }
    if let value { stop(object, wanted: NSNumber.self, found: value) }
    return nil
  }

  /// Returns the value as `value(forKey:)` does, in the declared type.
  func other<Value>(_ object: NSManagedObject, as type: Value.Type, sample: KeyPath<KeyPathRecorder.Samples, Value>)
    -> Value?
  {
    if let recorder = object.recorder {
      return recorder.answer(recorder.samples[keyPath: sample], to: self, of: object)
    }
    guard let value = value(of: object) else { return nil }
    guard let value = value as? Value else { stop(object, wanted: type, found: value) }
    return value
  }

  func require<Value>(_ value: Value?, of object: NSManagedObject) -> Value {
    value ?? { stop(object, wanted: Value.self, found: nil) }()
  }
}
