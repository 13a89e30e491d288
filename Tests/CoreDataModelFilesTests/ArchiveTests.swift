// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataPredicates
import Foundation
import Testing

@testable import CoreDataModelFiles

@Suite("Property lists, archives and compression")
struct ArchiveTests {
  @Test("Values of every kind survive a binary property list")
  func propertyList() throws {
    let value = ArchiveValue.dictionary([
      "flags": .array([.boolean(true), .boolean(false)]),
      "numbers": .array([0, 1, 255, 256, 65535, 65536, 1 << 32, .max, .min, -1].map { .integer($0) }),
      "reals": .array([.real(0), .real(-1.5), .real(.greatestFiniteMagnitude)]),
      "date": .date(Date(timeIntervalSinceReferenceDate: 123.5)),
      "data": .data(Data(0...255)),
      "texts": .array(["", "a", "Größe", "🦀", String(repeating: "x", count: 300)].map { .string($0) }),
      "references": .array([.uid(0), .uid(255), .uid(256), .uid(70000)]),
      "many": .array((0..<400).map { .string("element \($0)") }),
      "empty": .array([]),
      "inner": .dictionary([:]),
    ])
    #expect(try BinaryPropertyListReader.value(of: BinaryPropertyListWriter.data(of: value)) == value)
  }

  @Test("Foundation reads what we write, and we read what Foundation writes")
  func foundation() throws {
    let plist: [String: Any] = ["a": [1, 2.5, "é", true], "d": Data([1, 2]), "t": Date(timeIntervalSince1970: 0)]
    let theirs = try PropertyListSerialization.data(fromPropertyList: plist, format: .binary, options: 0)
    let value = try BinaryPropertyListReader.value(of: theirs)
    let expected = ArchiveValue.dictionary([
      "a": .array([.integer(1), .real(2.5), .string("é"), .boolean(true)]), "d": .data(Data([1, 2])),
      "t": .date(Date(timeIntervalSince1970: 0)),
    ])
    #expect(value == expected)
    let ours = try PropertyListSerialization.propertyList(
      from: BinaryPropertyListWriter.data(of: value), options: [], format: nil)
    #expect((ours as? [String: Any]).map { NSDictionary(dictionary: $0) } == NSDictionary(dictionary: plist))
  }

  @Test("Hostile property lists are refused")
  func hostile() {
    func list(_ objects: [UInt8], offsets: [UInt8], count: UInt8? = nil, table: UInt8? = nil) -> Data {
      let start = UInt8(8 + objects.count)
      let zeros = [UInt8](repeating: 0, count: 7)
      var data = Data("bplist00".utf8)
      data += objects
      data += offsets
      data += zeros.dropLast() + [1, 1]
      data += zeros + [count ?? UInt8(offsets.count)]
      data += zeros + [0]
      data += zeros + [table ?? start]
      return data
    }
    func refuses(_ data: Data) -> Bool {
      (#expect(throws: ArchiveFailure.self) { try BinaryPropertyListReader.value(of: data) }) != nil
    }
    #expect(throws: Never.self) { try BinaryPropertyListReader.value(of: list([0x10, 7], offsets: [8])) }
    #expect(refuses(Data()))
    #expect(refuses(Data("bplist00".utf8)))
    #expect(refuses(list([0xA1, 0], offsets: [8])), "an array that contains itself")
    #expect(refuses(list([0xA1, 1, 0xA1, 0], offsets: [8, 10])), "a ring of arrays")
    #expect(refuses(list([0xA1, 9], offsets: [8])), "a reference to nowhere")
    #expect(refuses(list([0x5F, 0x13, 0x7F, 255, 255, 255, 255, 255, 255, 255], offsets: [8])), "a huge text")
    #expect(refuses(list([0xAF, 0x12, 255, 255, 255, 255], offsets: [8])), "a huge array")
    #expect(refuses(list([0x10, 7], offsets: [200])), "an object behind the end")
    #expect(refuses(list([0x10, 7], offsets: [8], count: 200)), "more objects than bytes")
    #expect(refuses(list([0x10, 7], offsets: [8], table: 250)), "a table behind the end")
    #expect(refuses(list([0xD1, 1, 1, 0x10, 7], offsets: [8, 11])), "a number as a key")
    let nested = (1...100).reduce(into: [UInt8]()) { $0 += [0xA1, UInt8($1)] } + [0x10, 0]
    #expect(refuses(list(nested, offsets: (0...100).map { UInt8(8 + 2 * $0) })), "a deep nest")
  }

  @Test("DEFLATE gives back what it was given, and keeps to its limit")
  func deflate() throws {
    for length in [0, 1, 1000, 200_000] {
      let data = Data((0..<length).map { UInt8(truncatingIfNeeded: $0 &* $0 >> 3) })
      #expect(try RawDeflate.decompress(RawDeflate.compress(data)) == data)
    }
    let bomb = try RawDeflate.compress(Data(count: 1 << 20))
    #expect(bomb.count < 2000)
    #expect(throws: ModelFileError.self) { try RawDeflate.decompress(bomb, limit: 1 << 16) }
    #expect(throws: ModelFileError.self) { try RawDeflate.decompress(bomb.dropLast(10)) }
    #expect(throws: ModelFileError.self) { try RawDeflate.decompress(Data()) }
    #expect(throws: ModelFileError.self) { try RawDeflate.decompress(Data("no DEFLATE at all".utf8)) }
  }

  @Test("Archives of something else, and classes that are not known, are named")
  func foreign() throws {
    func failure(_ data: Data) -> ModelFileError? {
      #expect(throws: ModelFileError.self) { try ModelCache.unarchive(data) }
    }
    #expect(failure(Data("SQLite".utf8))?.kind == .notAnArchive)
    #expect(failure(BinaryPropertyListWriter.data(of: .array([])))?.kind == .notAnArchive)
    var builder = KeyedArchiveBuilder()
    let color = builder.add("NSColor", [:])
    let error = failure(builder.data(root: color))
    #expect(error?.kind == .unknownClass)
    #expect(error?.found.contains("NSColor") == true)
  }
}
