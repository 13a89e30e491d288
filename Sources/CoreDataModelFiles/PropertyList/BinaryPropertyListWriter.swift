// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Writes binary property lists. Equal values other than containers are written once, keys in sorted order.
struct BinaryPropertyListWriter {
  private var objects: [[UInt8]] = []
  private var containers: [(position: Int, marker: UInt8, references: [Int])] = []
  private var positions: [ArchiveValue: Int] = [:]

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
      if let position = positions[value] { return position }
      let position = reserve()
      objects[position] = Self.bytes(of: value)
      positions[value] = position
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
      objects[position] = Self.header(marker, count) + references.flatMap { Self.bigEndian($0, size: referenceSize) }
    }
    var data = Data("bplist00".utf8)
    var offsets: [Int] = []
    for object in objects {
      offsets.append(data.count)
      data += object
    }
    let table = data.count
    let offsetSize = Self.size(of: table)
    for offset in offsets { data += Self.bigEndian(offset, size: offsetSize) }
    data += [0, 0, 0, 0, 0, 0, UInt8(offsetSize), UInt8(referenceSize)]
    for number in [objects.count, top, table] { data += Self.bigEndian(number, size: 8) }
    return data
  }

  private static func bytes(of value: ArchiveValue) -> [UInt8] {
    switch value {
    case .boolean(let flag): return [flag ? 9 : 8]
    case .integer(let number): return integer(number)
    case .unsigned(let number): return [0x14] + bigEndian(0) + bigEndian(number)
    case .real(let number): return [0x23] + bigEndian(number.bitPattern)
    case .date(let date): return [0x33] + bigEndian(date.timeIntervalSinceReferenceDate.bitPattern)
    case .data(let data): return header(0x40, data.count) + data
    case .string(let text):
      if text.utf8.allSatisfy({ $0 < 128 }) { return header(0x50, text.utf8.count) + text.utf8 }
      return header(0x60, text.utf16.count) + text.utf16.flatMap { [UInt8($0 >> 8), UInt8($0 & 255)] }
    case .uid(let position):
      let size = size(of: position)
      return [0x80 | UInt8(size - 1)] + bigEndian(position, size: size)
    case .array, .dictionary: preconditionFailure("Containers are written after their elements.")
    }
  }

  private static func integer(_ number: Int64) -> [UInt8] {
    guard number >= 0, number <= Int64(UInt32.max) else { return [0x13] + bigEndian(UInt64(bitPattern: number)) }
    let size = size(of: Int(number))
    return [0x10 | UInt8(size.trailingZeroBitCount)] + bigEndian(Int(number), size: size)
  }

  private static func header(_ marker: UInt8, _ count: Int) -> [UInt8] {
    count < 15 ? [marker | UInt8(count)] : [marker | 15] + integer(Int64(count))
  }

  /// Returns the number of bytes for a number, a power of two.
  private static func size(of number: Int) -> Int {
    number < 1 << 8 ? 1 : number < 1 << 16 ? 2 : number < 1 << 32 ? 4 : 8
  }

  private static func bigEndian(_ number: Int, size: Int) -> [UInt8] {
    Array(bigEndian(UInt64(number)).suffix(size))
  }

  private static func bigEndian(_ number: UInt64) -> [UInt8] {
    withUnsafeBytes(of: number.bigEndian) { Array($0) }
  }
}
