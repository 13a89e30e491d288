// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataAnalysis
import CoreDataSQLite
import CoreDataTerminal
import Foundation
import Testing

@testable import CoreDataCommand

@Suite("Large values in an export")
struct LargeValueExportTests {
  private let shop: PictureShop

  init() throws {
    shop = try PictureShop()
    try shop.fill(shop.store, pictures: 2)
  }

  /// Adds a picture with the bytes of its columns.
  private func add(name: Data?, isText: Bool = true, data: Data? = nil, key: Int64) throws {
    let connection = try SQLiteConnection(path: shop.store, mode: .readWrite)
    let cast = isText ? "CAST(?2 AS TEXT)" : "?2"
    try connection.run(
      "INSERT INTO ZPICTURE (Z_PK, Z_ENT, Z_OPT, ZNAME, ZDATA) SELECT ?1, Z_ENT, 1, \(cast), ?3 FROM ZPICTURE LIMIT 1",
      [.integer(key), name.map { .blob($0) } ?? .null, data.map { .blob($0) } ?? .null])
    try connection.run("UPDATE Z_PRIMARYKEY SET Z_MAX = max(Z_MAX, ?1) WHERE Z_NAME = 'Picture'", [.integer(key)])
    try connection.close()
  }

  /// The parts in which the result was written.
  private func parts(_ arguments: String...) throws -> [String] {
    final class Sink { var parts: [String] = [] }
    let sink = Sink()
    var message = ""
    let streams = CommandStreams(output: { sink.parts.append($0) }, error: { message += $0 })
    let status = CommandLineTool.run(["store", "export", shop.store] + arguments, streams: streams)
    #expect(status == .done, "\(message)")
    return sink.parts
  }

  /// The export with all values read whole.
  private func whole() throws -> String {
    var text = ""
    try StoreReader(url: URL(fileURLWithPath: shop.store)).forEachObject { object in
      let line: JSONText = [
        "entity": .string(object.entity), "id": .string(object.id),
        "values": .object(object.values.map { .init($0.name, ExportText.json($0.value)) }),
      ]
      text += line.line() + "\n"
    }
    return text
  }

  private static let limit = ExportedStream.smallest

  /// Repeats bytes until there are so many.
  private static func repeated(_ bytes: [UInt8], _ count: Int, after start: [UInt8] = []) -> Data {
    var data = Data(start)
    while data.count < count { data.append(contentsOf: bytes) }
    return data
  }

  private static let texts: [(String, Data)] = [
    ("ASCII", repeated(Array("lorem ipsum \"dolor\" \\ sit\n".utf8), limit * 2)),
    ("one byte less than large", Data(repeating: 0x61, count: limit - 1)),
    ("just large", Data(repeating: 0x61, count: limit)),
    ("one byte more", Data(repeating: 0x61, count: limit + 1)),
    ("whole parts", Data(repeating: 0x7A, count: ExportedStream.partSize * 7)),
    ("zero bytes and controls", repeated([0, 1, 0x1B, 0x7F, 0x0A, 0xE2, 0x80, 0xA8], limit * 2)),
    ("invalid at the end", repeated([0x61], limit * 2) + Data([0xF0, 0x9F, 0x98])),
    ("invalid in the middle", repeated([0x61], limit) + Data([0xC3, 0x28]) + repeated([0x62], limit)),
    ("a surrogate", repeated([0x61], limit) + Data([0xED, 0xA0, 0x80]) + repeated([0x62], limit)),
    ("overlong", repeated([0xC0, 0x80], limit * 2)), ("continuation bytes only", repeated([0x80], limit * 2)),
    ("BOM", repeated(Array("ab".utf8), limit * 2, after: [0xEF, 0xBB, 0xBF])),
  ]

  /// Texts whose characters of two to four bytes lie across the ends of parts in every way.
  private static let shifted: [(String, Data)] = (0..<4).flatMap { shift in
    ["é", "€", "😀"].map { character in
      (
        "\(character) after \(shift)",
        repeated(Array(character.utf8), limit * 2, after: [UInt8](repeating: 0x61, count: shift))
      )
    }
  }

  @Test("Texts are exported as they are read whole, in small parts")
  func texts() throws {
    for (index, (_, bytes)) in (Self.texts + Self.shifted).enumerated() {
      try add(name: bytes, key: Int64(100 + index))
    }
    try add(name: nil, key: 99)
    let parts = try parts()
    let (output, expected) = (parts.joined(), try whole())
    #expect(output.utf8.elementsEqual(expected.utf8))
    if !output.utf8.elementsEqual(expected.utf8) {
      for (line, other) in zip(output.split(separator: "\n"), expected.split(separator: "\n")) where line != other {
        Issue.record("\(line.prefix(120)) … \(line.suffix(60)) != \(other.prefix(120)) … \(other.suffix(60))")
      }
    }
    let lines = output.split(separator: "\n").filter { $0.contains("/Picture/p") }
    #expect(lines.contains { $0.hasSuffix("\"name\":null}}") })
    for (index, (name, bytes)) in (Self.texts + Self.shifted).enumerated() {
      // A text that is not UTF-8 is exported as its bytes.
      let value = JSONText.string(String(validating: bytes, as: UTF8.self) ?? bytes.base64EncodedString()).line()
      let line = lines.first { $0.contains("/Picture/p\(100 + index)\"") }
      #expect(line?.utf8.suffix(value.utf8.count + 2).elementsEqual((value + "}}").utf8) == true, "\(name)")
    }
    // The writer's buffer, and a part in which every byte is escaped as six.
    #expect(parts.map(\.utf8.count).max() ?? 0 < 65_536 + 6 * ExportedStream.partSize)
  }

  @Test("Binary values are exported as they are read whole, with or without a mark of their place, and from files")
  func binary() throws {
    let random = Data((0..<Self.limit * 3 + 1).map { UInt8(truncatingIfNeeded: $0 &* 167 &+ $0 >> 8) })
    for (index, start) in [[UInt8]([1]), [2], [], [1, 1], [0]].enumerated() {
      try add(name: Data("a".utf8), data: Data(start) + random, key: Int64(100 + index))
    }
    // Values of another type than the attribute's.
    try add(name: random, isText: false, key: 110)
    try add(name: Data(repeating: 0x61, count: Self.limit), data: Data("text".utf8), key: 111)
    let parts = try parts()
    let (output, expected) = (parts.joined(), try whole())
    #expect(output.utf8.elementsEqual(expected.utf8))
    #expect(output.contains("\"data\":\"\(random.base64EncodedString())\""))
    #expect(try shop.values(of: "Pictures").count == 1)
    #expect(parts.map(\.utf8.count).max() ?? 0 < 65_536 + 6 * ExportedStream.partSize)
  }

  @Test("Columns of a store without a model are exported as they are read whole")
  func withoutModel() throws {
    try add(name: Data(repeating: 0x61, count: Self.limit * 2), data: Data(repeating: 1, count: Self.limit), key: 50)
    try SQLiteConnection(path: shop.store, mode: .readWrite).execute("DELETE FROM Z_MODELCACHE")
    let output = try parts().joined()
    #expect(output.contains("\"ZNAME\":\"aaa"))
    #expect(try output == whole())
  }

  @Test("A table whose rows cannot be found by number is read whole")
  func otherKey() throws {
    try add(name: Data(repeating: 0x61, count: Self.limit * 2), key: 50)
    try SQLiteConnection(path: shop.store, mode: .readWrite).execute(
      """
      CREATE TABLE T AS SELECT * FROM ZPICTURE;
      DROP TABLE ZPICTURE;
      CREATE TABLE ZPICTURE (Z_PK INTEGER PRIMARY KEY DESC, Z_ENT INTEGER, Z_OPT INTEGER, ZALBUM INTEGER, ZNAME VARCHAR,
        ZDATA BLOB);
      INSERT INTO ZPICTURE SELECT Z_PK, Z_ENT, Z_OPT, ZALBUM, ZNAME, ZDATA FROM T ORDER BY Z_PK DESC;
      DROP TABLE T;
      """)
    #expect(try parts().joined() == whole())
  }

  @Test("A missing file of a large value is null with a note, and an error with --strict")
  func missingFile() throws {
    let name = try #require(try shop.values(of: "Pictures").first)
    try FileManager.default.removeItem(atPath: shop.path(".Pictures_SUPPORT/_EXTERNAL_DATA/\(name)"))
    let run = CommandRun("store", "export", shop.store)
    #expect(run.status == .done && run.error.contains("which is missing. Copy the store"), "\(run.error)")
    #expect(run.output.contains("\"data\":null"))
    #expect(CommandRun("store", "export", shop.store, "--strict").status == .unreadableStore)
  }

  @Test("A damaged large value ends the export before its line", arguments: [true, false])
  func damaged(isText: Bool) throws {
    let value = Self.repeated([0x61], Self.limit * 2) + Data("MIDDLE".utf8) + Self.repeated([0x62], Self.limit * 2)
    try add(name: isText ? value : nil, data: isText ? nil : Data([1]) + value, key: 50)
    let checkpoint = try SQLiteConnection(path: shop.store, mode: .readWrite)
    try checkpoint.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    let pageSize = Int(try checkpoint.scalar("PRAGMA page_size")?.integer ?? 0)
    try checkpoint.close()
    var file = try Data(contentsOf: URL(fileURLWithPath: shop.store))
    let middle = try #require(file.range(of: Data("MIDDLE".utf8))).lowerBound
    // The first bytes of a page of a large value are the number of the next page.
    let page = middle / pageSize * pageSize
    file.replaceSubrange(page..<page + 4, with: [0, 0, 0, 0])
    try file.write(to: URL(fileURLWithPath: shop.store))
    let run = CommandRun("store", "export", shop.store, "--entity", "Picture")
    #expect(run.status == .unreadableStore && run.error.contains("is damaged"), "\(run.error)")
    #expect(run.output.isEmpty || run.output.hasSuffix("}\n"), "\(run.output.suffix(100))")
  }
}
