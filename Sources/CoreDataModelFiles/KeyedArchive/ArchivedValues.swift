// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataPredicates
import Foundation

/// How Foundation's own classes stand in keyed archives.
enum ArchivedValues {
  /// Containers in user info and constants may hold one another; a bound keeps rings from running on.
  private static let deepest = 32

  static func string(_ value: ArchiveValue, in archive: KeyedArchive) throws -> String? {
    switch try archive.resolved(value) {
    case nil: return nil
    case .string(let text)?: return text
    default: break
    }
    guard let object = try archive.object(value), ["NSString", "NSMutableString"].contains(object.className),
      case .string(let text)? = try archive.resolved(object.fields["NS.string"])
    else { throw ArchiveFailure.broken("A text was expected, and something else is there.") }
    return text
  }

  static func elements(of object: ArchivedObject) throws -> [ArchiveValue] {
    let known = ["NSArray", "NSMutableArray", "NSSet", "NSMutableSet", "NSOrderedSet", "NSMutableOrderedSet"]
    guard known.contains(object.className) else {
      throw ArchiveFailure.unknownClass(object.className, "a collection")
    }
    guard case .array(let elements)? = object.fields["NS.objects"] else {
      throw ArchiveFailure.broken("A collection has no elements.")
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
      else { throw ArchiveFailure.broken("A dictionary has no entries.") }
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
    // A slot of a known-keys dictionary that was never filled holds a text of its own.
    let empty = try object.string("emptyToken")
    return try zip(keys, values).compactMap { key, value in
      guard let name = try string(key, in: object.archive) else {
        throw ArchiveFailure.broken("A key of a dictionary is null.")
      }
      if let empty, try object.archive.resolved(value) == .string(empty) { return nil }
      return (name, value)
    }
  }

  /// A value of one of Foundation's plain classes.
  ///
  /// - Parameter keepsObjects: whether an object of another class is kept as it stands in the archive; else it is an error.
  static func plain(
    _ value: ArchiveValue?, in archive: KeyedArchive, keepsObjects: Bool = false, depth: Int = 0
  ) throws -> PlainValue {
    guard depth < deepest else { throw ArchiveFailure.broken("Values are nested too deep.") }
    guard let value, let resolved = try archive.resolved(value) else { return .null }
    switch resolved {
    case .boolean(let flag): return .boolean(flag)
    case .integer(let number): return .integer(number)
    case .unsigned(let number): return .decimal(Decimal(number))
    case .real(let number): return .real(number)
    case .date(let date): return .date(date)
    case .data(let data): return .data(data)
    case .string(let text): return .string(text)
    case .uid, .array: throw ArchiveFailure.broken("A value was expected, and something else is there.")
    case .dictionary: break
    }
    guard let object = try archive.object(value) else { return .null }
    return try plain(object, at: value, keepsObjects: keepsObjects, depth: depth)
  }

  private static func plain(
    _ object: ArchivedObject, at place: ArchiveValue, keepsObjects: Bool, depth: Int
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
        throw ArchiveFailure.broken("A date is no number.")
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
      let instance = ArchivedInstance(className: object.className, archive: try object.archive.extract(place))
      return .object(OpaqueObject(instance))
    }
  }
}
