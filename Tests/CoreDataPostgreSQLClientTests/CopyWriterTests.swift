// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import CoreDataPostgreSQLClient

@Suite("The binary format of COPY")
struct CopyWriterTests {
  /// Collects what a writer sends.
  private final class Collector {
    var bytes: [UInt8] = []
  }

  /// The size of the header: the signature, the flags and the length of the extension.
  private static let headerSize = 19

  /// Writes a row of one value, and returns what was sent.
  private func sent(_ value: [UInt8]) -> [UInt8] {
    let collector = Collector()
    let writer = CopyWriter {
      collector.bytes += $0
      return true
    }
    writer.beginRow(fieldCount: 1)
    value.withUnsafeBytes { writer.field(bytes: $0) }
    writer.finish()
    return collector.bytes
  }

  @Test("A last value of any size is followed by the end of the data, whether or not it fills the buffer")
  func lastValue() {
    // The buffer has 266,240 bytes, and is replaced by one of the size of a larger value.
    for size in [0, 1, 266_200, 266_300, 300_000] + Array(266_205...266_245) {
      let value = [UInt8](repeating: 0x5A, count: size)
      let length = withUnsafeBytes(of: Int32(size).bigEndian) { Array($0) }
      let found = sent(value)
      #expect(found.count == Self.headerSize + 2 + 4 + size + 2, "\(size)")
      #expect(Array(found[Self.headerSize...]) == [0, 1] + length + value + [0xFF, 0xFF], "\(size)")
    }
  }

  @Test("A value that the server would not accept is refused before it is copied, in a COPY and as a parameter")
  func tooLarge() throws {
    // Zeros, of which the system makes pages only when they are read.
    let data = Data(count: PostgreSQLValue.maxSize + 1)
    let writer = CopyWriter { _ in true }
    writer.beginRow(fieldCount: 1)
    data.withUnsafeBytes { writer.field(bytes: $0) }
    #expect(writer.excessiveSize == data.count)
    let parameters = StatementParameters()
    let error = #expect(throws: PostgreSQLError.self) { try parameters.encode([.bytes(data)]) }
    #expect(error?.message.contains("\(data.count) bytes are too large") == true)
    // The next statement is not affected.
    try parameters.encode([.integer(1)])
    #expect(parameters.count == 1 && parameters.size == 9)
  }

  @Test("A text whose exponent is the least integer is not a number")
  func leastExponent() {
    #expect(PostgreSQLNumeric.encode("1e\(Int.min)") == nil)
    #expect(PostgreSQLNumeric.encode("1e-3") != nil)
  }
}
