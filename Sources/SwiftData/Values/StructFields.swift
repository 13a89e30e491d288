// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

/// The stored properties of structs, read from the type's metadata, whose layout is part of Swift's ABI
/// (docs/ABI/TypeMetadata.md of the Swift project).
enum StructFields {
  /// Returns the name of the stored property at an offset; nil if there is none.
  static func name(at offset: Int, of type: Any.Type) -> String? {
    fields(of: type).first { $0.offset == offset }?.name
  }

  /// Returns the type of a stored property; nil if there is none of the name.
  static func type(named name: String, of type: Any.Type) -> Any.Type? {
    fields(of: type).first { $0.name == name }?.type
  }

  private struct Field {
    let name: String
    let offset: Int
    let type: Any.Type?
  }

  /// Returns the stored properties; none if the type is not a struct, or was compiled without reflection metadata.
  private static func fields(of type: Any.Type) -> [Field] {
    let metadata = unsafeBitCast(type, to: UnsafeRawPointer.self)
    // Kind 0x200 is a struct.
    guard metadata.load(as: UInt.self) == 0x200 else { return [] }
    let descriptor = metadata.load(fromByteOffset: MemoryLayout<UInt>.size, as: UnsafeRawPointer.self)
    guard let fields = target(of: descriptor + 16) else { return [] }
    let vector = Int(descriptor.load(fromByteOffset: 24, as: UInt32.self)) * MemoryLayout<UInt>.size
    let size = Int(fields.load(fromByteOffset: 10, as: UInt16.self))
    let count = Int(fields.load(fromByteOffset: 12, as: UInt32.self))
    guard vector > 0, size >= 12 else { return [] }
    return (0..<count).compactMap { index in
      let record = fields + 16 + index * size
      guard let name = target(of: record + 8) else { return nil }
      return Field(
        name: String(cString: name.assumingMemoryBound(to: CChar.self)),
        offset: Int(metadata.load(fromByteOffset: vector + 4 * index, as: Int32.self)),
        type: target(of: record + 4).flatMap { self.type(mangledAs: $0, in: metadata, descriptor) })
    }
  }

  private static func type(
    mangledAs name: UnsafeRawPointer, in metadata: UnsafeRawPointer, _ descriptor: UnsafeRawPointer
  ) -> Any.Type? {
    // Symbolic references have four bytes, or eight, which may be zero.
    var end = name
    while true {
      switch end.load(as: UInt8.self) {
      case 0:
        return _getTypeByMangledNameInContext(
          name.assumingMemoryBound(to: UInt8.self), UInt(end - name), genericContext: descriptor,
          genericArguments: metadata + 16)
      case 1...0x17: end += 5
      case 0x18...0x1F: end += 1 + MemoryLayout<UInt>.size
      default: end += 1
      }
    }
  }

  /// Returns the target of a relative pointer; nil if it is null.
  private static func target(of place: UnsafeRawPointer) -> UnsafeRawPointer? {
    let offset = place.load(as: Int32.self)
    return offset == 0 ? nil : place + Int(offset)
  }
}
