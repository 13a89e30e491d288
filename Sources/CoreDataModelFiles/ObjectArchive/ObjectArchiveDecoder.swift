// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Gives an object of the program its own fields of an archive, each of them checked by the archive's reader.
///
/// The first field that is damaged or of another kind ends the reading: the object then is not used, whatever its
/// `init(coder:)` makes of the default values that it gets from there on.
final class ObjectArchiveDecoder: NSCoder {
  private let reader: ObjectArchiveReader
  private let object: ArchivedObject
  private let depth: Int
  private var weight = 1
  private var failure: (any Error)?

  init(_ reader: ObjectArchiveReader, _ object: ArchivedObject, depth: Int) {
    self.reader = reader
    self.object = object
    self.depth = depth
    super.init()
  }

  /// Makes the object.
  func instance(of type: any NSCoding.Type) throws -> ObjectArchiveReader.Made {
    let made = type.init(coder: self)
    if let failure { throw failure }
    guard let made = made as? NSObject else {
      throw ArchiveFailure.broken("\(object.className) made no object of its archive.")
    }
    return (made, weight)
  }

  private func reading<Value>(_ fallback: Value, _ body: () throws -> Value) -> Value {
    guard failure == nil else { return fallback }
    do {
      return try body()
    } catch {
      failure = error
      return fallback
    }
  }

  override var allowsKeyedCoding: Bool { true }
  override var requiresSecureCoding: Bool { true }
  override var decodingFailurePolicy: NSCoder.DecodingFailurePolicy { .setErrorAndReturn }
  override var error: (any Error)? { failure }
  override func failWithError(_ error: any Error) { failure = failure ?? error }

  override func containsValue(forKey key: String) -> Bool { object.fields[key] != nil }

  // MARK: Objects

  override func decodeObject(forKey key: String) -> Any? {
    reading(nil) {
      guard try object.archive.resolved(object.fields[key]) != nil else { return nil }
      let made = try reader.object(object.fields[key], depth: depth + 1)
      weight += made.weight
      return made.object
    }
  }

  override func decodeObject(of classes: [AnyClass]?, forKey key: String) -> Any? {
    guard let found = decodeObject(forKey: key) else { return nil }
    guard let classes else { return found }
    if let object = found as? NSObject, classes.contains(where: { object.isKind(of: $0) }) { return found }
    failWithError(
      ArchiveFailure.unknownClass("\(type(of: found))", classes.map { "\($0)" }.joined(separator: " or ")))
    return nil
  }

  override func decodeObject<Decoded>(of cls: Decoded.Type, forKey key: String) -> Decoded?
  where Decoded: NSObject, Decoded: NSCoding {
    decodeObject(of: [cls], forKey: key) as? Decoded
  }

  override func decodePropertyList(forKey key: String) -> Any? { decodeObject(forKey: key) }

  // MARK: Numbers and bytes

  private func integer<Number: FixedWidthInteger>(_ key: String) -> Number {
    reading(0) {
      guard let number = try object.integer(key) else { return 0 }
      guard let fitting = Number(exactly: number) else {
        throw ArchiveFailure.broken("\(key) of \(object.className) is too large a number.")
      }
      return fitting
    }
  }

  override func decodeBool(forKey key: String) -> Bool { reading(false) { try object.flag(key) } }
  override func decodeInteger(forKey key: String) -> Int { integer(key) }
  override func decodeInt32(forKey key: String) -> Int32 { integer(key) }
  override func decodeInt64(forKey key: String) -> Int64 { integer(key) }
  override func decodeFloat(forKey key: String) -> Float { Float(decodeDouble(forKey: key)) }

  override func decodeDouble(forKey key: String) -> Double {
    reading(0) {
      switch try object.archive.resolved(object.fields[key]) {
      case .real(let number)?: return number
      case .integer(let number)?: return Double(number)
      case .unsigned(let number)?: return Double(number)
      case nil: return 0
      default: throw ArchiveFailure.broken("\(key) of \(object.className) is not a number.")
      }
    }
  }

  override func withDecodedUnsafeBufferPointer<Result>(
    forKey key: String, body: (UnsafeBufferPointer<UInt8>?) throws -> Result
  ) rethrows -> Result {
    guard let found = data(key) else { return try body(nil) }
    return try Array(found).withUnsafeBufferPointer { try body($0) }
  }

  private func data(_ key: String) -> Data? {
    reading(nil) {
      switch try object.archive.resolved(object.fields[key]) {
      case .data(let data)?: return data
      case nil: return nil
      default: throw ArchiveFailure.broken("\(key) of \(object.className) is not data.")
      }
    }
  }
}
