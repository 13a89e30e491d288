// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The cases of an enum, read from the type's metadata, whose layout is part of Swift's ABI
/// (docs/ABI/TypeMetadata.md of the Swift project).
struct EnumCases {
  /// The names of the cases; those with associated values come first.
  var names: [String]
  /// The number of cases with associated values.
  var payloads: Int

  /// Returns the cases of a type; nil if it is not an enum, or was compiled without reflection metadata.
  init?(of type: Any.Type) {
    let metadata = unsafeBitCast(type, to: UnsafeRawPointer.self)
    // Kinds of metadata: 0x201 is an enum, 0x202 an optional.
    guard metadata.load(as: UInt.self) == 0x201 else { return nil }
    let descriptor = metadata.load(fromByteOffset: MemoryLayout<UInt>.size, as: UnsafeRawPointer.self)
    guard let fields = Self.target(of: descriptor + 16) else { return nil }
    // The upper byte is the offset of the payload's size.
    payloads = Int(descriptor.load(fromByteOffset: 20, as: UInt32.self) & 0x00FF_FFFF)
    let size = Int(fields.load(fromByteOffset: 10, as: UInt16.self))
    let count = Int(fields.load(fromByteOffset: 12, as: UInt32.self))
    guard size >= 12, count > 0 else { return nil }
    names = []
    for index in 0..<count {
      guard let name = Self.target(of: fields + 16 + index * size + 8) else { return nil }
      names.append(String(cString: name.assumingMemoryBound(to: CChar.self)))
    }
  }

  /// Returns the target of a relative pointer; nil if it is null.
  private static func target(of place: UnsafeRawPointer) -> UnsafeRawPointer? {
    let offset = place.load(as: Int32.self)
    return offset == 0 ? nil : place + Int(offset)
  }

  /// Returns the first case of an enum without associated values; nil for any other type.
  static func first<Value>(of type: Value.Type) -> Value? { nth(0, of: type) }

  /// Returns a case of an enum without associated values, beginning again after the last; nil for any other type.
  static func nth<Value>(_ number: Int, of type: Value.Type) -> Value? {
    guard let cases = EnumCases(of: type), cases.payloads == 0 else { return nil }
    // Such an enum is the index of its case, in as many bytes as it has.
    return withUnsafeTemporaryAllocation(byteCount: max(MemoryLayout<Value>.size, 8), alignment: 16) { bytes in
      bytes.initializeMemory(as: UInt8.self, repeating: 0)
      let index = UInt64(number.magnitude % UInt(cases.names.count))
      withUnsafeBytes(of: index.littleEndian) { bytes.copyBytes(from: $0) }
      return bytes.baseAddress?.load(as: Value.self)
    }
  }
}
