// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataMistakes
import Foundation

/// The limits of a property list, whatever the counts in its bytes say.
///
/// A model of 3,000 entities and 20,000 attributes has a fifth of the objects and elements allowed for archives.
package struct PropertyListLimits: Sendable {
  /// The size of the file in bytes.
  package var bytes: Int
  /// The number of objects, each of which may be referenced many times.
  package var objects: Int
  /// The number of values if every reference is followed, plus one for each 32 bytes of text or data.
  package var elements: Int

  /// For keyed archives of models and mapping models.
  package static let archive = PropertyListLimits(bytes: 1 << 25, objects: 1_000_000, elements: 3_000_000)
  /// For store metadata and the small files of model bundles.
  package static let metadata = PropertyListLimits(bytes: 1 << 24, objects: 500_000, elements: 1_000_000)
}

/// Reads binary property lists, including the references (UIDs) of keyed archives, which Foundation does not expose on
/// Linux.
///
/// Every offset and count is checked against the data before use, and cycles and deep nesting are rejected. Each object
/// is decoded once. References to the same object are counted each time, so that a small file cannot represent a value
/// too large to compare or print. All objects together cannot have more bytes than the file, because the objects of a
/// real property list do not overlap.
struct BinaryPropertyListReader {
  /// The maximum depth. Property lists of keyed archives have four levels, because archives nest by reference.
  static let deepest = 64

  private let bytes: [UInt8]
  /// The end of the objects and start of the offset table.
  private let end: Int
  private let offsets: [Int]
  private let referenceSize: Int
  private let limits: PropertyListLimits
  private var decoded: [ArchiveValue?]
  /// The number of elements of each decoded object: 0 while the object is being decoded, -1 before.
  private var weights: [Int]
  private var remainingBytes: Int

  /// Decodes a property list.
  ///
  /// - Throws: `ArchiveFailure` if the data is damaged or exceeds the limits.
  static func value(of data: Data, limits: PropertyListLimits = .archive) throws -> ArchiveValue {
    guard data.starts(with: "bplist0".utf8) else {
      throw ArchiveFailure(kind: .notAnArchive, found: "This is not a binary property list.")
    }
    guard data.count >= 8 + 32 else { throw ArchiveFailure.broken("The property list is truncated.") }
    guard data.count <= limits.bytes else {
      throw ArchiveFailure.broken("The property list has \(data.count) bytes; at most \(limits.bytes) are read.")
    }
    let bytes = [UInt8](data)
    let trailer = bytes.count - 32
    let offsetSize = Int(bytes[trailer + 6])
    let referenceSize = Int(bytes[trailer + 7])
    guard (1...8).contains(offsetSize), (1...8).contains(referenceSize) else {
      throw ArchiveFailure.broken("The property list's trailer is damaged.")
    }
    let count = try number(bytes, at: trailer + 8, size: 8)
    let top = try number(bytes, at: trailer + 16, size: 8)
    let table = try number(bytes, at: trailer + 24, size: 8)
    guard count > 0, top < count, table >= 8, table <= trailer, count <= (trailer - table) / offsetSize else {
      throw ArchiveFailure.broken("The property list's trailer is damaged, or the file is truncated.")
    }
    guard count <= limits.objects else {
      throw ArchiveFailure.broken("The property list has \(count) objects; at most \(limits.objects) are read.")
    }
    let offsets = try (0..<count).map { position in
      let offset = try number(bytes, at: table + position * offsetSize, size: offsetSize)
      guard offset >= 8, offset < table else { throw ArchiveFailure.broken("An object is outside the file.") }
      return offset
    }
    var reader = BinaryPropertyListReader(
      bytes: bytes, end: table, offsets: offsets, referenceSize: referenceSize, limits: limits,
      decoded: Array(repeating: nil, count: count), weights: Array(repeating: -1, count: count), remainingBytes: table)
    return try reader.object(top, depth: 0).value
  }

  private mutating func object(_ position: Int, depth: Int) throws -> (value: ArchiveValue, weight: Int) {
    guard offsets.indices.contains(position) else {
      throw ArchiveFailure.broken("A reference leads to object \(position) of \(offsets.count).")
    }
    if let value = decoded[position] { return (value, weights[position]) }
    guard weights[position] < 0 else { throw ArchiveFailure.broken("Object \(position) contains itself.") }
    guard depth < Self.deepest else { throw ArchiveFailure.broken("Objects are nested too deeply.") }
    weights[position] = 0
    var weight = 1
    let value = try decode(at: offsets[position], depth: depth, weight: &weight)
    weights[position] = weight
    decoded[position] = value
    return (value, weight)
  }

  /// Decodes an object in a container, and adds its weight.
  private mutating func element(_ position: Int, depth: Int, weight: inout Int) throws -> ArchiveValue {
    let (value, own) = try object(position, depth: depth + 1)
    weight += own
    guard weight <= limits.elements else {
      throw ArchiveFailure.broken("The property list has more than \(limits.elements) values.")
    }
    return value
  }

  private mutating func decode(at offset: Int, depth: Int, weight: inout Int) throws -> ArchiveValue {
    let marker = bytes[offset]
    let low = Int(marker & 15)
    switch marker >> 4 {
    case 0x0 where low == 8 || low == 9:
      return .boolean(low == 9)
    case 0x1 where low <= 4:
      return try integer(at: offset + 1, size: 1 << low)
    case 0x2 where low == 2:
      return .real(Double(Float(bitPattern: UInt32(try unsigned(at: offset + 1, size: 4)))))
    case 0x2 where low == 3:
      return .real(Double(bitPattern: try unsigned(at: offset + 1, size: 8)))
    case 0x3 where low == 3:
      let interval = Double(bitPattern: try unsigned(at: offset + 1, size: 8))
      guard interval.isFinite else { throw ArchiveFailure.broken("A date is not a number.") }
      return .date(Date(timeIntervalSinceReferenceDate: interval))
    case 0x4:
      let range = try body(at: offset, low, unit: 1)
      weight += range.count / 32
      return .data(Data(bytes[range]))
    case 0x5:
      let range = try body(at: offset, low, unit: 1)
      guard bytes[range].allSatisfy({ $0 < 128 }) else { throw ArchiveFailure.broken("A string is damaged.") }
      weight += range.count / 32
      return .string(String(decoding: bytes[range], as: UTF8.self))
    case 0x6:
      let range = try body(at: offset, low, unit: 2)
      weight += range.count / 32
      let units = stride(from: range.lowerBound, to: range.upperBound, by: 2).map {
        UInt16(bytes[$0]) << 8 | UInt16(bytes[$0 + 1])
      }
      return .string(String(decoding: units, as: UTF16.self))
    case 0x8 where low < 8:
      return .uid(try Self.number(bytes, at: offset + 1, size: low + 1))
    case 0xA, 0xC:
      let range = try body(at: offset, low, unit: referenceSize)
      var elements: [ArchiveValue] = []
      elements.reserveCapacity(try checkedCount(of: range, unit: referenceSize))
      for place in stride(from: range.lowerBound, to: range.upperBound, by: referenceSize) {
        elements.append(try element(try reference(at: place), depth: depth, weight: &weight))
      }
      return .array(elements)
    case 0xD:
      return try dictionary(at: offset, low, depth: depth, weight: &weight)
    default:
      throw ArchiveFailure.broken("Object at byte \(offset) has the unknown type \(marker).")
    }
  }

  private mutating func dictionary(at offset: Int, _ low: Int, depth: Int, weight: inout Int) throws -> ArchiveValue {
    let range = try body(at: offset, low, unit: 2 * referenceSize)
    let count = try checkedCount(of: range, unit: 2 * referenceSize)
    let values = range.lowerBound + count * referenceSize
    var result: [String: ArchiveValue] = [:]
    for position in 0..<count {
      guard
        case .string(let key) = try object(
          try reference(at: range.lowerBound + position * referenceSize), depth: depth + 1
        ).value
      else { throw ArchiveFailure.broken("A key of a dictionary is not a string.") }
      // Keys are shared between dictionaries, so only the length of long ones is counted.
      weight += key.utf8.count / 32
      let value = try element(try reference(at: values + position * referenceSize), depth: depth, weight: &weight)
      guard result.updateValue(value, forKey: key) == nil else {
        throw ArchiveFailure.broken("A dictionary has the key \(key.prefix(100)) twice.")
      }
    }
    return .dictionary(result)
  }

  /// Returns the number of elements in a range, checked before memory is reserved for them.
  private func checkedCount(of range: Range<Int>, unit: Int) throws -> Int {
    let count = range.count / unit
    guard count <= limits.elements else {
      throw ArchiveFailure.broken("A collection has \(count) elements; at most \(limits.elements) are read.")
    }
    return count
  }

  private func reference(at offset: Int) throws -> Int {
    try Self.number(bytes, at: offset, size: referenceSize)
  }

  /// Returns the bytes of an object whose length is in its marker or, if that is 15, in an integer after it.
  private mutating func body(at offset: Int, _ low: Int, unit: Int) throws -> Range<Int> {
    var start = offset + 1
    var count = low
    if low == 15 {
      guard start < end, bytes[start] >> 4 == 1, bytes[start] & 15 <= 3 else {
        throw ArchiveFailure.broken("A length is damaged.")
      }
      let size = 1 << Int(bytes[start] & 15)
      count = try Self.number(bytes, at: start + 1, size: size)
      start += 1 + size
    }
    guard start <= end, count <= (end - start) / unit else {
      throw ArchiveFailure.broken("An object claims to be longer than the file.")
    }
    remainingBytes -= count * unit
    guard remainingBytes >= 0 else { throw ArchiveFailure.broken("Objects overlap.") }
    return start..<start + count * unit
  }

  private func unsigned(at offset: Int, size: Int) throws -> UInt64 {
    try Self.unsigned(bytes, at: offset, size: size)
  }

  /// Integers of one, two and four bytes are unsigned, longer ones signed.
  private func integer(at offset: Int, size: Int) throws -> ArchiveValue {
    guard size == 16 else { return .integer(Int64(bitPattern: try unsigned(at: offset, size: size))) }
    let high = Int64(bitPattern: try unsigned(at: offset, size: 8))
    let low = try unsigned(at: offset + 8, size: 8)
    if high == 0, low > UInt64(Int64.max) { return .unsigned(low) }
    guard high == (Int64(bitPattern: low) < 0 ? -1 : 0) else {
      throw ArchiveFailure.broken("An integer is too large.")
    }
    return .integer(Int64(bitPattern: low))
  }

  private static func unsigned(_ bytes: [UInt8], at offset: Int, size: Int) throws -> UInt64 {
    guard offset + size <= bytes.count else { throw ArchiveFailure.broken("The property list is truncated.") }
    var value: UInt64 = 0
    var position = offset
    while position < offset + size {
      value = value << 8 | UInt64(bytes[position])
      position += 1
    }
    return value
  }

  private static func number(_ bytes: [UInt8], at offset: Int, size: Int) throws -> Int {
    guard let number = Int(exactly: try unsigned(bytes, at: offset, size: size)), number < 1 << 48 else {
      throw ArchiveFailure.broken("An offset or count is too large.")
    }
    return number
  }
}

/// Writes binary property lists, with keys in sorted order. Values other than containers are written once if their
/// bytes are the same. Equal values may have different bytes: zeros of either sign, and canonically equivalent strings.
struct BinaryPropertyListWriter {
  private var objects: [[UInt8]] = []
  private var containers: [(position: Int, marker: UInt8, references: [Int])] = []
  private var positions: [[UInt8]: Int] = [:]

  /// Returns the property list for a value.
  static func data(of value: ArchiveValue) -> Data {
    var writer = BinaryPropertyListWriter()
    let top = writer.add(value)
    return writer.finish(top: top)
  }

  private mutating func add(_ value: ArchiveValue) -> Int {
    switch value {
    case .array(let elements):
      let position = reserve()
      containers.append((position, 0xA0, elements.map { add($0) }))
      return position
    case .dictionary(let entries):
      let position = reserve()
      let sorted = entries.sorted { $0.key < $1.key }
      let keys = sorted.map { add(.string($0.key)) }
      containers.append((position, 0xD0, keys + sorted.map { add($0.value) }))
      return position
    default:
      let bytes = Self.bytes(of: value)
      if let position = positions[bytes] { return position }
      let position = reserve()
      objects[position] = bytes
      positions[bytes] = position
      return position
    }
  }

  private mutating func reserve() -> Int {
    objects.append([])
    return objects.count - 1
  }

  private mutating func finish(top: Int) -> Data {
    let referenceSize = Self.size(of: objects.count)
    for (position, marker, references) in containers {
      let count = marker == 0xD0 ? references.count / 2 : references.count
      var bytes = Self.header(marker, count)
      bytes.reserveCapacity(bytes.count + references.count * referenceSize)
      for reference in references { Self.append(UInt64(reference), size: referenceSize, to: &bytes) }
      objects[position] = bytes
    }
    var output = Array("bplist00".utf8)
    output.reserveCapacity(objects.reduce(64) { $0 + $1.count + 8 })
    var offsets: [Int] = []
    offsets.reserveCapacity(objects.count)
    for object in objects {
      offsets.append(output.count)
      output += object
    }
    let table = output.count
    let offsetSize = Self.size(of: table)
    for offset in offsets { Self.append(UInt64(offset), size: offsetSize, to: &output) }
    output += [0, 0, 0, 0, 0, 0, UInt8(offsetSize), UInt8(referenceSize)]
    for number in [objects.count, top, table] { Self.append(UInt64(number), size: 8, to: &output) }
    return Data(output)
  }

  private static func bytes(of value: ArchiveValue) -> [UInt8] {
    switch value {
    case .boolean(let flag): return [flag ? 9 : 8]
    case .integer(let number): return integer(number)
    case .unsigned(let number): return bytes(0x14, 0, size: 8) + bytes(nil, number, size: 8)
    case .real(let number): return bytes(0x23, number.bitPattern, size: 8)
    case .date(let date): return bytes(0x33, date.timeIntervalSinceReferenceDate.bitPattern, size: 8)
    case .data(let data): return header(0x40, data.count) + data
    case .string(let text):
      if text.utf8.allSatisfy({ $0 < 128 }) { return header(0x50, text.utf8.count) + text.utf8 }
      return header(0x60, text.utf16.count) + text.utf16.flatMap { [UInt8($0 >> 8), UInt8($0 & 255)] }
    case .uid(let position):
      let size = size(of: position)
      return bytes(0x80 | UInt8(size - 1), UInt64(position), size: size)
    case .array, .dictionary: trap("Containers are written after their elements.")
    }
  }

  private static func integer(_ number: Int64) -> [UInt8] {
    guard number >= 0, number <= Int64(UInt32.max) else {
      return bytes(0x13, UInt64(bitPattern: number), size: 8)
    }
    let size = size(of: Int(number))
    return bytes(0x10 | UInt8(size.trailingZeroBitCount), UInt64(number), size: size)
  }

  private static func header(_ marker: UInt8, _ count: Int) -> [UInt8] {
    count < 15 ? [marker | UInt8(count)] : [marker | 15] + integer(Int64(count))
  }

  /// Returns the size of a number in bytes, a power of two.
  private static func size(of number: Int) -> Int {
    number < 1 << 8 ? 1 : number < 1 << 16 ? 2 : number < 1 << 32 ? 4 : 8
  }

  /// Returns a marker, if there is one, and the low bytes of a number, the most significant first.
  private static func bytes(_ marker: UInt8?, _ number: UInt64, size: Int) -> [UInt8] {
    var bytes = marker.map { [$0] } ?? []
    append(number, size: size, to: &bytes)
    return bytes
  }

  private static func append(_ number: UInt64, size: Int, to bytes: inout [UInt8]) {
    var shift = UInt64(size) * 8
    while shift > 0 {
      shift -= 8
      bytes.append(UInt8(truncatingIfNeeded: number >> shift))
    }
  }
}
