// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataPredicates
import Foundation

/// Reads values of Foundation's classes from keyed archives.
enum ArchivedValues {
  /// The maximum depth of nested containers, which ends cycles.
  private static let deepest = 32

  static func string(_ value: ArchiveValue, in archive: KeyedArchive) throws -> String? {
    switch try archive.resolved(value) {
    case nil: return nil
    case .string(let text)?: return text
    default: break
    }
    guard let object = try archive.object(value), ["NSString", "NSMutableString"].contains(object.className),
      case .string(let text)? = try archive.resolved(object.fields["NS.string"])
    else { throw ArchiveFailure.broken("A string was expected, but something else was found.") }
    return text
  }

  static func elements(of object: ArchivedObject) throws -> [ArchiveValue] {
    let known = ["NSArray", "NSMutableArray", "NSSet", "NSMutableSet", "NSOrderedSet", "NSMutableOrderedSet"]
    guard known.contains(object.className) else {
      throw ArchiveFailure.unknownClass(object.className, "a collection")
    }
    guard case .array(let elements)? = object.fields["NS.objects"] else {
      throw ArchiveFailure.broken("The elements of a collection are missing.")
    }
    try object.archive.charge(elements.count)
    return elements
  }

  static func entries(of object: ArchivedObject) throws -> [(key: String, value: ArchiveValue)] {
    let keys: [ArchiveValue]
    let values: [ArchiveValue]
    switch object.className {
    case "NSDictionary", "NSMutableDictionary":
      guard case .array(let archivedKeys)? = object.fields["NS.keys"],
        case .array(let archivedValues)? = object.fields["NS.objects"]
      else { throw ArchiveFailure.broken("The entries of a dictionary are missing.") }
      (keys, values) = (archivedKeys, archivedValues)
      try object.archive.charge(keys.count)
    case "NSKnownKeysDictionary1":
      keys = try object.object("searchMapping")?.elements("keys") ?? []
      values = try object.elements("values")
    default:
      throw ArchiveFailure.unknownClass(object.className, "a dictionary")
    }
    guard keys.count == values.count else {
      throw ArchiveFailure.broken("A dictionary has \(keys.count) keys and \(values.count) values.")
    }
    // Unused slots of a known-keys dictionary contain a special string.
    let empty = try object.string("emptyToken")
    return try zip(keys, values).compactMap { key, value in
      guard let name = try string(key, in: object.archive) else {
        throw ArchiveFailure.broken("A key of a dictionary is null.")
      }
      if let empty, try object.archive.resolved(value) == .string(empty) { return nil }
      return (name, value)
    }
  }

  /// Reads a value of one of Foundation's plain classes.
  ///
  /// - Parameter keepsObjects: Whether objects of other classes are kept in archived form instead of causing an error.
  static func plain(
    _ value: ArchiveValue?, in archive: KeyedArchive, keepsObjects: Bool = false, depth: Int = 0
  ) throws -> PlainValue {
    guard depth < deepest else { throw ArchiveFailure.broken("Values are nested too deeply.") }
    guard let value, let resolved = try archive.resolved(value) else { return .null }
    switch resolved {
    case .boolean(let flag): return .boolean(flag)
    case .integer(let number): return .integer(number)
    case .unsigned(let number): return .decimal(Decimal(number))
    case .real(let number): return .real(number)
    case .date(let date): return .date(date)
    case .data(let data): return .data(data)
    case .string(let text): return .string(text)
    case .uid, .array: throw ArchiveFailure.broken("A value was expected, but something else was found.")
    case .dictionary: break
    }
    guard let object = try archive.object(value) else { return .null }
    return try plain(object, at: value, keepsObjects: keepsObjects, depth: depth)
  }

  private static func plain(
    _ object: ArchivedObject, at uid: ArchiveValue, keepsObjects: Bool, depth: Int
  ) throws -> PlainValue {
    func inner(_ value: ArchiveValue) throws -> PlainValue {
      try plain(value, in: object.archive, keepsObjects: keepsObjects, depth: depth + 1)
    }
    switch object.className {
    case "NSString", "NSMutableString":
      return .string(try object.string("NS.string") ?? "")
    case "NSNull":
      return .null
    case "NSDate":
      guard case .real(let interval)? = try object.archive.resolved(object.fields["NS.time"]), interval.isFinite else {
        throw ArchiveFailure.broken("A date is not a number.")
      }
      return .date(Date(timeIntervalSinceReferenceDate: interval))
    case "NSData", "NSMutableData":
      guard case .data(let data)? = try object.archive.resolved(object.fields["NS.data"]) else {
        throw ArchiveFailure.broken("Binary data is missing.")
      }
      return .data(data)
    case "NSUUID":
      guard case .data(let data)? = try object.archive.resolved(object.fields["NS.uuidbytes"]), data.count == 16 else {
        throw ArchiveFailure.broken("A UUID does not have 16 bytes.")
      }
      return .uuid(data.withUnsafeBytes { UUID(uuid: $0.loadUnaligned(as: uuid_t.self)) })
    case "NSURL":
      guard let text = try object.string("NS.relative"), let url = URL(string: text) else {
        throw ArchiveFailure.broken("A URL is damaged.")
      }
      return .url(url)
    case "NSDecimalNumber", "NSDecimalNumberPlaceholder":
      return .decimal(try ArchivedDecimal.decimal(of: object))
    case "NSArray", "NSMutableArray":
      return .array(try elements(of: object).map(inner))
    case "NSSet", "NSMutableSet":
      return .set(try elements(of: object).map(inner))
    case "NSDictionary", "NSMutableDictionary":
      var result: [String: PlainValue] = [:]
      for (key, value) in try entries(of: object) { result[key] = try inner(value) }
      return .dictionary(result)
    default:
      guard keepsObjects else { throw ArchiveFailure.unknownClass(object.className, "a plain value") }
      let instance = ArchivedInstance(className: object.className, archive: try object.archive.extract(uid))
      return .object(OpaqueObject(instance))
    }
  }
}

/// Decimal numbers, archived as a 128-bit mantissa in 16-bit words and a power of ten.
enum ArchivedDecimal {
  static func decimal(of object: ArchivedObject) throws -> Decimal {
    let archive = object.archive
    guard case .data(let bytes)? = try archive.resolved(object.fields["NS.mantissa"]), bytes.count == 16,
      let exponent = try object.integer("NS.exponent"), (-128...127).contains(exponent),
      let length = try object.integer("NS.length"), (0...8).contains(length)
    else { throw ArchiveFailure.broken("A decimal number is damaged.") }
    let isNegative = try object.flag("NS.negative")
    if length == 0 { return isNegative ? .nan : zero(exponent: exponent) }
    // 1 means that the words are little-endian, 2 that they are big-endian. The words are stored from low to high.
    let isLittle = try object.integer("NS.mantissa.bo") ?? 1 == 1
    var mantissa: UInt128 = 0
    for word in (0..<Int(length)).reversed() {
      let pair = (UInt128(bytes[bytes.startIndex + 2 * word]), UInt128(bytes[bytes.startIndex + 2 * word + 1]))
      mantissa = mantissa << 16 | (isLittle ? pair.1 << 8 | pair.0 : pair.0 << 8 | pair.1)
    }
    guard let decimal = Decimal(string: "\(isNegative ? "-" : "")\(mantissa)e\(exponent)") else {
      throw ArchiveFailure.broken("A decimal number is too large.")
    }
    return decimal
  }

  /// Returns zero with the number of decimal places in the archive, so that `0.0` is written as it was read.
  private static func zero(exponent: Int64) -> Decimal {
    guard exponent < 0 else { return 0 }
    return Decimal(string: "0." + String(repeating: "0", count: Int(-exponent))) ?? 0
  }

  static func fields(of decimal: Decimal) -> [String: ArchiveValue] {
    let mantissa = decimal.isNaN ? 0 : UInt128("\(decimal.significand)") ?? 0
    let bytes = withUnsafeBytes(of: mantissa.littleEndian) { Data($0) }
    let length = (UInt128.bitWidth - mantissa.leadingZeroBitCount + 15) / 16
    return [
      "NS.mantissa": .data(bytes), "NS.mantissa.bo": .integer(1), "NS.length": .integer(Int64(length)),
      "NS.exponent": .integer(Int64(decimal.exponent)), "NS.compact": .boolean(false),
      "NS.negative": .boolean(decimal.isNaN || decimal.isSignMinus),
    ]
  }
}

/// An object of a class known only to an app, kept in archived form and written unchanged.
package struct ArchivedInstance: Hashable, Sendable {
  package let className: String
  /// A keyed archive of the object.
  package let archive: Data
}
