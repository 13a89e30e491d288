// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Assembles binary property lists that no writer would make. The first object is the root; references have four bytes.
struct HostilePropertyList {
  private var bytes = Array("bplist00".utf8)
  private var offsets: [Int] = []

  /// The number of bytes so far.
  var size: Int { bytes.count }

  /// Adds an object.
  mutating func add(_ object: [UInt8]) {
    offsets.append(bytes.count)
    bytes += object
  }

  /// Adds an array of references.
  mutating func add(array references: [Int]) {
    add([0xAF, 0x12] + Self.bigEndian(UInt32(references.count)) + references.flatMap { Self.bigEndian(UInt32($0)) })
  }

  /// Adds data of some size.
  mutating func add(data count: Int) {
    add([0x4F, 0x12] + Self.bigEndian(UInt32(count)) + [UInt8](repeating: 7, count: count))
  }

  /// Adds bytes that are not an object yet.
  mutating func append(_ more: [UInt8]) { bytes += more }

  /// Adds an object that begins at a byte.
  mutating func point(at offset: Int) { offsets.append(offset) }

  /// The property list.
  var data: Data {
    var result = bytes
    for offset in offsets { result += Self.bigEndian(UInt32(offset)) }
    result += [0, 0, 0, 0, 0, 0, 4, 4]
    for number in [offsets.count, 0, bytes.count] { result += [0, 0, 0, 0] + Self.bigEndian(UInt32(number)) }
    return Data(result)
  }

  private static func bigEndian(_ number: UInt32) -> [UInt8] { withUnsafeBytes(of: number.bigEndian) { Array($0) } }
}
