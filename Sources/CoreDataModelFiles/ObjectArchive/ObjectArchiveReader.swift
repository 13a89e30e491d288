// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Reads keyed archives of Foundation's plain classes: strings, numbers, dates, data, collections and a few more.
///
/// `NSKeyedUnarchiver` on Linux crashes where an archive of a stranger refers to itself, lacks a field or holds one of the
/// wrong kind. Here every field is checked, rings are refused, and depth and size are bounded, also the size that shared
/// objects have when every reference is followed. An object of a class of the program is made by its `init(coder:)`, which
/// gets an `ObjectArchiveDecoder`.
package final class ObjectArchiveReader {
  /// The class of the program that has a name in an archive; nil where objects of that name are not to be made.
  package typealias ProgramClasses = (String) -> (any NSCoding.Type)?

  /// How deep collections may nest.
  package static let deepest = 256
  /// The largest archive that is read.
  package static let limits = PropertyListLimits(bytes: 1 << 26, objects: 1_000_000, elements: 3_000_000)
  /// How many comparisons the elements of sets and the keys of dictionaries with equal hashes may cost.
  private static let mostComparisons = 5_000_000

  /// An object, and the number of objects in it when every reference is followed.
  typealias Made = (object: NSObject, weight: Int)

  let archive: KeyedArchive
  private var made: [Int: Made] = [:]
  private var open: Set<Int> = []
  private var comparisons = 0
  private let programClasses: ProgramClasses

  /// Decodes the object at the root of an archive.
  ///
  /// - Throws: an error that describes what was found where the data is not an archive, is damaged, or holds objects of
  ///   another class.
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
    guard depth < Self.deepest else { throw ArchiveFailure.broken("Objects are nested too deep.") }
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
    case .uid, .array: throw ArchiveFailure.broken("An object was expected, and something else is there.")
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

  /// The elements of a list, either in one array or under numbered keys, as ordered sets are archived.
  private func elements(
    _ object: ArchivedObject, depth: Int, in key: String = "NS.objects", numbered: String = "NS.object."
  ) throws -> (objects: [NSObject], weights: [Int], weight: Int) {
    var references: [ArchiveValue] = []
    if case .array(let elements)? = try archive.resolved(object.fields[key]) {
      references = elements
    } else {
      while let element = object.fields["\(numbered)\(references.count)"] { references.append(element) }
      guard !references.isEmpty || object.fields.keys.allSatisfy({ $0 == "$class" }) else {
        throw ArchiveFailure.broken("A collection has no elements.")
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

  private func array(
    _ object: ArchivedObject, depth: Int, _ make: ([NSObject]) -> NSArray
  ) throws -> Made {
    let elements = try elements(object, depth: depth)
    return (make(elements.objects), elements.weight)
  }

  private func set(
    _ object: ArchivedObject, depth: Int, _ make: ([NSObject]) -> NSObject
  ) throws -> Made {
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

  /// Refuses elements that would be compared with one another over and over: Foundation's hashes of collections are their
  /// counts, and those of data look at the beginning only.
  private func checkHashes(_ objects: [NSObject], _ weights: [Int]) throws {
    var groups: [Int: (count: Int, weight: Int)] = [:]
    for (object, weight) in zip(objects, weights) {
      // Foundation on Linux turns them into Swift collections of `Any`, and stops the program when it compares these.
      guard !(object is NSArray), !(object is NSDictionary) else {
        throw ArchiveFailure.broken("An element of a set, or a key of a dictionary, is an array or a dictionary.")
      }
      let group = groups[object.hash] ?? (0, 0)
      comparisons += min(group.weight + group.count * weight, Self.mostComparisons)
      guard comparisons < Self.mostComparisons else {
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
        throw ArchiveFailure.broken("A string has no characters.")
      }
      text = found
    }
    return (make(text), 1 + text.utf8.count / 32)
  }

  private func data(_ object: ArchivedObject, _ make: (Data) -> NSObject) throws -> Made {
    guard case .data(let bytes)? = try archive.resolved(object.fields["NS.data"] ?? object.fields["NS.bytes"]) else {
      throw ArchiveFailure.broken("Data has no bytes.")
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
      throw ArchiveFailure.broken("A number has no value.")
    }
    return NSNumber(value: number)
  }

  private func url(_ object: ArchivedObject, depth: Int) throws -> Made {
    guard let text = try object.string("NS.relative") else { throw ArchiveFailure.broken("A URL has no text.") }
    var base: Made?
    if try archive.resolved(object.fields["NS.base"]) != nil {
      base = try self.object(object.fields["NS.base"], depth: depth + 1)
      guard base?.object is NSURL else { throw ArchiveFailure.broken("The base of a URL is not a URL.") }
    }
    // Foundation makes an NSURL of an empty text, and crashes when Swift takes it as a URL.
    let baseURL = (base?.object as? NSURL)?.absoluteURL
    guard URL(string: text, relativeTo: baseURL) != nil, let url = NSURL(string: text, relativeTo: baseURL) else {
      throw ArchiveFailure.broken("A URL is damaged.")
    }
    return (url, 1 + text.utf8.count / 32 + (base?.weight ?? 0))
  }

  /// A string with attributes: one dictionary for all of it, or a list of dictionaries and the runs that they belong to.
  private func attributedString(
    _ object: ArchivedObject, depth: Int, _ make: (NSMutableAttributedString) -> NSObject
  ) throws -> Made {
    guard let text = try object.string("NSString") else {
      throw ArchiveFailure.broken("An attributed string has no characters.")
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
      else { throw ArchiveFailure.broken("A run of a string's attributes lies outside the string.") }
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
      guard let name = key as? String else { throw ArchiveFailure.broken("A string's attribute has no name.") }
      result[NSAttributedString.Key(name)] = value
    }
    return result
  }
}

/// Whole numbers of seven bits a byte, the lowest first: the runs of attributed strings.
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

  /// The bytes of a number.
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
