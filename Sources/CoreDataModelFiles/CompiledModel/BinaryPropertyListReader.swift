// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Reads binary property lists, references of keyed archives (UIDs) included, which Foundation does not show on Linux.
///
/// Every offset and count is checked against the bytes at hand before it is used, rings and deep nests are refused, and
/// each object is decoded once, so that reading takes time and memory in proportion to the file.
struct BinaryPropertyListReader {
  /// Property lists of keyed archives are four levels deep; what archives nest is nested by reference.
  private static let deepest = 64

  private let bytes: [UInt8]
  private let offsets: [Int]
  private let referenceSize: Int
  private var decoded: [ArchiveValue?]
  private var isOpen: [Bool]

  /// The value that the property list holds.
  static func value(of data: Data) throws -> ArchiveValue {
    let bytes = [UInt8](data)
    guard bytes.starts(with: Array("bplist0".utf8)) else {
      throw ArchiveFailure(kind: .notAnArchive, found: "This is not a binary property list.")
    }
    guard bytes.count >= 8 + 32 else { throw ArchiveFailure.broken("The property list is truncated.") }
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
    let offsets = try (0..<count).map { position in
      let offset = try number(bytes, at: table + position * offsetSize, size: offsetSize)
      guard offset >= 8, offset < table else { throw ArchiveFailure.broken("An object lies outside the file.") }
      return offset
    }
    // Objects end where the table begins, so the rest is cut off before anything is decoded.
    var reader = BinaryPropertyListReader(
      bytes: Array(bytes[..<table]), offsets: offsets, referenceSize: referenceSize,
      decoded: Array(repeating: nil, count: count), isOpen: Array(repeating: false, count: count))
    return try reader.object(top, depth: 0)
  }

  private mutating func object(_ position: Int, depth: Int) throws -> ArchiveValue {
    guard offsets.indices.contains(position) else {
      throw ArchiveFailure.broken("A reference leads to object \(position) of \(offsets.count).")
    }
    if let value = decoded[position] { return value }
    guard !isOpen[position] else { throw ArchiveFailure.broken("Object \(position) contains itself.") }
    guard depth < Self.deepest else { throw ArchiveFailure.broken("Objects are nested too deep.") }
    isOpen[position] = true
    let value = try decode(at: offsets[position], depth: depth)
    isOpen[position] = false
    decoded[position] = value
    return value
  }

  private mutating func decode(at offset: Int, depth: Int) throws -> ArchiveValue {
    let marker = bytes[offset]
    let low = Int(marker & 15)
    switch marker >> 4 {
    case 0x0 where low == 8 || low == 9:
      return .boolean(low == 9)
    case 0x1 where low <= 4:
      return .integer(try integer(at: offset + 1, size: 1 << low))
    case 0x2 where low == 2:
      return .real(Double(Float(bitPattern: UInt32(try unsigned(at: offset + 1, size: 4)))))
    case 0x2 where low == 3:
      return .real(Double(bitPattern: try unsigned(at: offset + 1, size: 8)))
    case 0x3 where low == 3:
      let interval = Double(bitPattern: try unsigned(at: offset + 1, size: 8))
      guard interval.isFinite else { throw ArchiveFailure.broken("A date is no number.") }
      return .date(Date(timeIntervalSinceReferenceDate: interval))
    case 0x4:
      let range = try body(at: offset, low, unit: 1)
      return .data(Data(bytes[range]))
    case 0x5:
      let range = try body(at: offset, low, unit: 1)
      guard bytes[range].allSatisfy({ $0 < 128 }) else { throw ArchiveFailure.broken("A text is damaged.") }
      return .string(String(decoding: bytes[range], as: UTF8.self))
    case 0x6:
      let range = try body(at: offset, low, unit: 2)
      let units = stride(from: range.lowerBound, to: range.upperBound, by: 2).map {
        UInt16(bytes[$0]) << 8 | UInt16(bytes[$0 + 1])
      }
      return .string(String(decoding: units, as: UTF16.self))
    case 0x8 where low < 8:
      return .uid(try Self.number(bytes, at: offset + 1, size: low + 1))
    case 0xA, 0xC:
      let range = try body(at: offset, low, unit: referenceSize)
      return .array(try references(in: range).map { try object($0, depth: depth + 1) })
    case 0xD:
      return try dictionary(at: offset, low, depth: depth)
    default:
      throw ArchiveFailure.broken("Object at byte \(offset) is of the unknown kind \(marker).")
    }
  }

  private mutating func dictionary(at offset: Int, _ low: Int, depth: Int) throws -> ArchiveValue {
    let range = try body(at: offset, low, unit: 2 * referenceSize)
    let all = try references(in: range)
    let count = all.count / 2
    var result: [String: ArchiveValue] = [:]
    for position in 0..<count {
      guard case .string(let key) = try object(all[position], depth: depth + 1) else {
        throw ArchiveFailure.broken("A key of a dictionary is no text.")
      }
      result[key] = try object(all[count + position], depth: depth + 1)
    }
    return .dictionary(result)
  }

  private func references(in range: Range<Int>) throws -> [Int] {
    try stride(from: range.lowerBound, to: range.upperBound, by: referenceSize).map {
      try Self.number(bytes, at: $0, size: referenceSize)
    }
  }

  /// The bytes of an object whose length stands in its marker or, where that is 15, in an integer behind it.
  private func body(at offset: Int, _ low: Int, unit: Int) throws -> Range<Int> {
    var start = offset + 1
    var count = low
    if low == 15 {
      guard start < bytes.count, bytes[start] >> 4 == 1, bytes[start] & 15 <= 3 else {
        throw ArchiveFailure.broken("A length is damaged.")
      }
      let size = 1 << Int(bytes[start] & 15)
      count = try Self.number(bytes, at: start + 1, size: size)
      start += 1 + size
    }
    guard start <= bytes.count, count <= (bytes.count - start) / unit else {
      throw ArchiveFailure.broken("An object claims to be longer than the file.")
    }
    return start..<start + count * unit
  }

  private func unsigned(at offset: Int, size: Int) throws -> UInt64 {
    try Self.unsigned(bytes, at: offset, size: size)
  }

  /// Integers of one, two and four bytes are unsigned, longer ones signed.
  private func integer(at offset: Int, size: Int) throws -> Int64 {
    guard size == 16 else { return Int64(bitPattern: try unsigned(at: offset, size: size)) }
    let high = Int64(bitPattern: try unsigned(at: offset, size: 8))
    let low = Int64(bitPattern: try unsigned(at: offset + 8, size: 8))
    guard high == (low < 0 ? -1 : 0) else { throw ArchiveFailure.broken("A whole number is too large.") }
    return low
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
