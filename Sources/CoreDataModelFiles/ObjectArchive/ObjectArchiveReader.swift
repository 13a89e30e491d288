// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Reads keyed archives of Foundation's plain classes: strings, numbers, dates, data, collections and a few more.
///
/// `NSKeyedUnarchiver` on Linux crashes if an untrusted archive refers to itself, lacks a field or contains one of the
/// wrong type. This reader checks every field, rejects cycles, and limits depth and size, including the size of shared
/// objects if every reference is followed. Objects of the program's own classes are created by their `init(coder:)`,
/// with an `ObjectArchiveDecoder`.
package final class ObjectArchiveReader {
  /// Returns the program's class with a name in an archive, or nil if such objects must not be created.
  package typealias ProgramClasses = (String) -> (any NSCoding.Type)?

  /// The maximum depth of nested collections.
  package static let deepest = 256
  package static let limits = PropertyListLimits(bytes: 1 << 26, objects: 1_000_000, elements: 3_000_000)
  /// The maximum number of comparisons between set elements or dictionary keys with equal hashes.
  private static let maxComparisonCount = 5_000_000

  /// An object with the number of objects it contains if every reference is followed.
  typealias Made = (object: NSObject, weight: Int)

  let archive: KeyedArchive
  private var made: [Int: Made] = [:]
  private var open: Set<Int> = []
  private var comparisons = 0
  private let programClasses: ProgramClasses

  /// Decodes the root object of an archive.
  ///
  /// - Throws: An error with a description if the data is not an archive, is damaged, or contains objects of another
  ///   class.
  package static func object(
    in data: Data, programClasses: @escaping ProgramClasses = { _ in nil }
  ) throws -> NSObject {
    let archive = try KeyedArchive(data, limits: limits)
    return try ObjectArchiveReader(archive, programClasses).object(archive.rootReference, depth: 0).object
  }

  private init(_ archive: KeyedArchive, _ programClasses: @escaping ProgramClasses) {
    self.archive = archive
    self.programClasses = programClasses
  }

  func object(_ value: ArchiveValue?, depth: Int) throws -> Made {
    guard depth < Self.deepest else { throw ArchiveFailure.broken("Objects are nested too deeply.") }
    guard case .uid(let position)? = value else { return try unshared(value, depth: depth) }
    if let known = made[position] { return known }
    guard open.insert(position).inserted else { throw ArchiveFailure.broken("Object \(position) contains itself.") }
    let result = try unshared(value, depth: depth)
    open.remove(position)
    made[position] = result
    return result
  }

  private func unshared(_ value: ArchiveValue?, depth: Int) throws -> Made {
    guard let resolved = try archive.resolved(value) else { throw ArchiveFailure.broken("An object is missing.") }
    switch resolved {
    case .boolean(let flag): return (NSNumber(value: flag), 1)
    case .integer(let number): return (NSNumber(value: number), 1)
    case .unsigned(let number): return (NSNumber(value: number), 1)
    case .real(let number): return (NSNumber(value: number), 1)
    case .date(let date): return (date as NSDate, 1)
    case .data(let data): return (data as NSData, 1 + data.count / 32)
    case .string(let text): return (text as NSString, 1 + text.utf8.count / 32)
    case .uid, .array: throw ArchiveFailure.broken("An object was expected, but something else was found.")
    case .dictionary: break
    }
    guard let object = try archive.object(value) else { throw ArchiveFailure.broken("An object is missing.") }
    return try instance(object, depth: depth)
  }

  private func instance(_ object: ArchivedObject, depth: Int) throws -> Made {
    switch object.className {
    case "NSArray": return try array(object, depth: depth) { $0 as NSArray }
    case "NSMutableArray": return try array(object, depth: depth) { NSMutableArray(array: $0) }
    case "NSSet": return try set(object, depth: depth) { NSSet(array: $0) }
    case "NSMutableSet": return try set(object, depth: depth) { NSMutableSet(array: $0) }
    case "NSOrderedSet": return try set(object, depth: depth) { NSOrderedSet(array: $0) }
    case "NSMutableOrderedSet": return try set(object, depth: depth) { NSMutableOrderedSet(array: $0) }
    case "NSCountedSet": return try countedSet(object, depth: depth)
    case "NSDictionary": return try dictionary(object, depth: depth) { NSDictionary(dictionary: $0) }
    case "NSMutableDictionary": return try dictionary(object, depth: depth) { NSMutableDictionary(dictionary: $0) }
    case "NSURL": return try url(object, depth: depth)
    case "NSAttributedString": return try attributedString(object, depth: depth) { $0.copy() as? NSObject ?? $0 }
    case "NSMutableAttributedString": return try attributedString(object, depth: depth) { $0 }
    case "NSString": return try text(object) { $0 as NSString }
    case "NSMutableString": return try text(object) { NSMutableString(string: $0) }
    case "NSData": return try data(object) { $0 as NSData }
    case "NSMutableData": return try data(object) { NSMutableData(data: $0) }
    case "NSDate": return (try date(object), 1)
    case "NSNull": return (NSNull(), 1)
    case "NSNumber": return (try number(object), 1)
    case "NSDecimalNumber", "NSDecimalNumberPlaceholder":
      return (NSDecimalNumber(decimal: try ArchivedDecimal.decimal(of: object)), 1)
    case "NSUUID":
      guard case .data(let bytes)? = try archive.resolved(object.fields["NS.uuidbytes"]), bytes.count == 16 else {
        throw ArchiveFailure.broken("A UUID does not have 16 bytes.")
      }
      return (bytes.withUnsafeBytes { UUID(uuid: $0.loadUnaligned(as: uuid_t.self)) } as NSUUID, 1)
    default:
      guard let type = programClasses(object.className) else {
        throw ArchiveFailure.unknownClass(object.className, "a plain value")
      }
      return try ObjectArchiveDecoder(self, object, depth: depth).instance(of: type)
    }
  }

  // MARK: Collections

  /// Returns the elements of a list, either in one array or under numbered keys, as ordered sets are archived.
  private func elements(
    _ object: ArchivedObject, depth: Int, in key: String = "NS.objects", numbered: String = "NS.object."
  ) throws -> (objects: [NSObject], weights: [Int], weight: Int) {
    var references: [ArchiveValue] = []
    if case .array(let elements)? = try archive.resolved(object.fields[key]) {
      references = elements
    } else {
      while let element = object.fields["\(numbered)\(references.count)"] { references.append(element) }
      guard !references.isEmpty || object.fields.keys.allSatisfy({ $0 == "$class" }) else {
        throw ArchiveFailure.broken("The elements of a collection are missing.")
      }
    }
    try archive.charge(references.count)
    var objects: [NSObject] = []
    var weights: [Int] = []
    var weight = 1
    objects.reserveCapacity(references.count)
    weights.reserveCapacity(references.count)
    for reference in references {
      let made = try self.object(reference, depth: depth + 1)
      objects.append(made.object)
      weights.append(made.weight)
      weight += made.weight
      guard weight <= Self.limits.elements else {
        throw ArchiveFailure.broken("The archive has more than \(Self.limits.elements) objects.")
      }
    }
    return (objects, weights, weight)
  }

  private func array(_ object: ArchivedObject, depth: Int, _ make: ([NSObject]) -> NSArray) throws -> Made {
    let elements = try elements(object, depth: depth)
    return (make(elements.objects), elements.weight)
  }

  private func set(_ object: ArchivedObject, depth: Int, _ make: ([NSObject]) -> NSObject) throws -> Made {
    let elements = try elements(object, depth: depth)
    try checkHashes(elements.objects, elements.weights)
    return (make(elements.objects), elements.weight)
  }

  private func countedSet(_ object: ArchivedObject, depth: Int) throws -> Made {
    let elements = try elements(object, depth: depth, in: "", numbered: "NS.object")
    try checkHashes(elements.objects, elements.weights)
    let result = NSCountedSet()
    var total = 0
    for (position, element) in elements.objects.enumerated() {
      guard let count = try object.integer("NS.count\(position)"), (1...1_000_000).contains(count) else {
        throw ArchiveFailure.broken("A counted set lacks a count.")
      }
      total += Int(count)
      guard total <= 1_000_000 else { throw ArchiveFailure.broken("The counts of a counted set are too large.") }
      for _ in 0..<count { result.add(element) }
    }
    return (result, elements.weight)
  }

  private func dictionary(
    _ object: ArchivedObject, depth: Int, _ make: ([NSObject: NSObject]) -> NSDictionary
  ) throws -> Made {
    let keys = try elements(object, depth: depth, in: "NS.keys", numbered: "NS.key.")
    let values = try elements(object, depth: depth)
    guard keys.objects.count == values.objects.count else {
      throw ArchiveFailure.broken("A dictionary has \(keys.objects.count) keys and \(values.objects.count) values.")
    }
    guard keys.weight + values.weight <= Self.limits.elements else {
      throw ArchiveFailure.broken("The archive has more than \(Self.limits.elements) objects.")
    }
    try checkHashes(keys.objects, keys.weights)
    var entries: [NSObject: NSObject] = Dictionary(minimumCapacity: keys.objects.count)
    for (key, value) in zip(keys.objects, values.objects) { entries[key] = value }
    return (make(entries), keys.weight + values.weight)
  }

  /// Throws an error if too many elements would be compared with one another. Foundation's hash of a collection is its
  /// count, and that of data depends only on the first bytes.
  private func checkHashes(_ objects: [NSObject], _ weights: [Int]) throws {
    var groups: [Int: (count: Int, weight: Int)] = [:]
    for (object, weight) in zip(objects, weights) {
      // Foundation on Linux turns these into Swift collections of `Any`, and traps when it compares them.
      guard !(object is NSArray), !(object is NSDictionary) else {
        throw ArchiveFailure.broken("An element of a set, or a key of a dictionary, is an array or a dictionary.")
      }
      // Foundation on Linux never finishes hashing these.
      guard !(object is NSDecimalNumber) else {
        throw ArchiveFailure.broken("An element of a set, or a key of a dictionary, is a decimal number.")
      }
      let group = groups[object.hash] ?? (0, 0)
      comparisons += min(group.weight + group.count * weight, Self.maxComparisonCount)
      guard comparisons < Self.maxComparisonCount else {
        throw ArchiveFailure.broken("Too many elements of a set, or keys of a dictionary, have the same hash.")
      }
      groups[object.hash] = (group.count + 1, group.weight + weight)
    }
  }
}

/// Single values.
extension ObjectArchiveReader {
  private func text(_ object: ArchivedObject, _ make: (String) -> NSObject) throws -> Made {
    let text: String
    if case .data(let bytes)? = try archive.resolved(object.fields["NS.bytes"]) {
      guard let decoded = String(validating: bytes, as: UTF8.self) else {
        throw ArchiveFailure.broken("A string is not UTF-8.")
      }
      text = decoded
    } else {
      guard case .string(let found)? = try archive.resolved(object.fields["NS.string"]) else {
        throw ArchiveFailure.broken("The characters of a string are missing.")
      }
      text = found
    }
    return (make(text), 1 + text.utf8.count / 32)
  }

  private func data(_ object: ArchivedObject, _ make: (Data) -> NSObject) throws -> Made {
    guard case .data(let bytes)? = try archive.resolved(object.fields["NS.data"] ?? object.fields["NS.bytes"]) else {
      throw ArchiveFailure.broken("The bytes of data are missing.")
    }
    return (make(bytes), 1 + bytes.count / 32)
  }

  private func date(_ object: ArchivedObject) throws -> NSDate {
    switch try archive.resolved(object.fields["NS.time"]) {
    case .real(let interval)? where interval.isFinite: NSDate(timeIntervalSinceReferenceDate: interval)
    case .integer(let interval)?: NSDate(timeIntervalSinceReferenceDate: Double(interval))
    default: throw ArchiveFailure.broken("A date is not a number.")
    }
  }

  private func number(_ object: ArchivedObject) throws -> NSNumber {
    if let flag = try object.integer("NS.boolval") { return NSNumber(value: flag != 0) }
    if let number = try object.integer("NS.intval") { return NSNumber(value: number) }
    guard case .real(let number)? = try archive.resolved(object.fields["NS.dblval"]) else {
      throw ArchiveFailure.broken("The value of a number is missing.")
    }
    return NSNumber(value: number)
  }

  private func url(_ object: ArchivedObject, depth: Int) throws -> Made {
    guard let text = try object.string("NS.relative") else {
      throw ArchiveFailure.broken("The text of a URL is missing.")
    }
    var base: Made?
    if try archive.resolved(object.fields["NS.base"]) != nil {
      base = try self.object(object.fields["NS.base"], depth: depth + 1)
      guard base?.object is NSURL else { throw ArchiveFailure.broken("The base of a URL is not a URL.") }
    }
    // Foundation creates an NSURL from an empty string, but crashes when Swift bridges it to URL.
    let baseURL = (base?.object as? NSURL)?.absoluteURL
    guard URL(string: text, relativeTo: baseURL) != nil, let url = NSURL(string: text, relativeTo: baseURL) else {
      throw ArchiveFailure.broken("A URL is damaged.")
    }
    return (url, 1 + text.utf8.count / 32 + (base?.weight ?? 0))
  }

  /// Reads an attributed string, which has either one dictionary for all of it, or a list of dictionaries with their
  /// runs.
  private func attributedString(
    _ object: ArchivedObject, depth: Int, _ make: (NSMutableAttributedString) -> NSObject
  ) throws -> Made {
    guard let text = try object.string("NSString") else {
      throw ArchiveFailure.broken("The characters of an attributed string are missing.")
    }
    let result = NSMutableAttributedString(string: text)
    var weight = 1 + text.utf8.count / 32
    guard try archive.resolved(object.fields["NSAttributes"]) != nil else { return (make(result), weight) }
    let attributes = try self.object(object.fields["NSAttributes"], depth: depth + 1)
    weight += attributes.weight
    if attributes.object is NSDictionary {
      result.setAttributes(try keyed(attributes.object), range: NSRange(location: 0, length: result.length))
      return (make(result), weight)
    }
    guard let list = attributes.object as? NSArray,
      let runs = try self.object(object.fields["NSAttributeInfo"], depth: depth + 1).object as? NSData
    else { throw ArchiveFailure.broken("The attributes of a string lack their runs.") }
    var numbers = VariableLengthNumbers(bytes: [UInt8](runs as Data))
    var start = 0
    while !numbers.isAtEnd {
      let length = try numbers.next()
      let index = try numbers.next()
      guard length > 0, length <= result.length - start, index < list.count, let dictionary = list[index] as? NSObject
      else { throw ArchiveFailure.broken("A run of a string's attributes is outside the string.") }
      result.setAttributes(try keyed(dictionary), range: NSRange(location: start, length: length))
      start += length
    }
    return (make(result), weight)
  }

  private func keyed(_ object: NSObject) throws -> [NSAttributedString.Key: Any] {
    guard let dictionary = object as? NSDictionary else {
      throw ArchiveFailure.broken("The attributes of a string are not a dictionary.")
    }
    var result: [NSAttributedString.Key: Any] = [:]
    for (key, value) in dictionary {
      guard let name = key as? String else {
        throw ArchiveFailure.broken("The name of a string's attribute is missing.")
      }
      result[NSAttributedString.Key(name)] = value
    }
    return result
  }
}

/// Integers with seven bits per byte, low bits first, as used for the runs of attributed strings.
struct VariableLengthNumbers {
  private let bytes: [UInt8]
  private var position = 0

  init(bytes: [UInt8]) { self.bytes = bytes }

  var isAtEnd: Bool { position == bytes.count }

  mutating func next() throws -> Int {
    var value = 0
    for shift in stride(from: 0, to: 35, by: 7) {
      guard position < bytes.count else { break }
      let byte = bytes[position]
      position += 1
      value |= Int(byte & 0x7F) << shift
      if byte < 0x80 { return value }
    }
    throw ArchiveFailure.broken("The runs of a string's attributes are damaged.")
  }

  static func bytes(of number: Int) -> [UInt8] {
    var rest = number
    var bytes: [UInt8] = []
    while rest > 0x7F {
      bytes.append(UInt8(rest & 0x7F) | 0x80)
      rest >>= 7
    }
    return bytes + [UInt8(rest)]
  }
}

/// Decodes the archived fields of one of the program's objects, checked by the archive's reader.
///
/// Decoding fails at the first field that is damaged or of the wrong type. The object is then discarded, and its
/// `init(coder:)` gets default values from there on.
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

  /// Creates the object.
  func instance(of type: any NSCoding.Type) throws -> ObjectArchiveReader.Made {
    let made = type.init(coder: self)
    if let failure { throw failure }
    guard let made = made as? NSObject else {
      throw ArchiveFailure.broken("\(object.className) could not be created from its archive.")
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
    failWithError(ArchiveFailure.unknownClass("\(type(of: found))", classes.map { "\($0)" }.joined(separator: " or ")))
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
        throw ArchiveFailure.broken("The number \(key) of \(object.className) is too large.")
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
