// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreDataModelFiles

@Suite("Hostile archives of plain objects")
struct HostileArchiveTests {
  /// An archive of objects; the first one is at the root, and has the number 1.
  private static func archive(_ objects: [ArchiveValue], root: Int = 1) -> Data {
    BinaryPropertyListWriter.data(
      of: .dictionary([
        "$archiver": .string("NSKeyedArchiver"), "$version": .integer(100_000),
        "$top": .dictionary(["root": .uid(root)]), "$objects": .array([.string("$null")] + objects),
      ]))
  }

  private static func named(_ names: String...) -> ArchiveValue {
    .dictionary(["$classname": .string(names[0]), "$classes": .array(names.map { .string($0) })])
  }

  /// An object of a class, whose fields may refer to the objects 3 and up.
  private static func object(_ name: String, _ fields: [String: ArchiveValue], _ more: [ArchiveValue] = []) -> Data {
    archive([.dictionary(fields.merging(["$class": .uid(2)]) { $1 }), named(name, "NSObject")] + more)
  }

  static let archives: [(String, Data)] = [
    ("an array in itself", object("NSArray", ["NS.objects": .array([.uid(1)])])),
    ("a set in itself", object("NSSet", ["NS.objects": .array([.uid(1)])])),
    ("an ordered set in itself", object("NSOrderedSet", ["NS.object.0": .uid(1)])),
    (
      "a dictionary as its own value",
      object("NSDictionary", ["NS.keys": .array([.uid(3)]), "NS.objects": .array([.uid(1)])], [.string("k")])
    ),
    (
      "a dictionary as its own key",
      object("NSDictionary", ["NS.keys": .array([.uid(1)]), "NS.objects": .array([.uid(3)])], [.string("k")])
    ),
    (
      "keys without values",
      object("NSDictionary", ["NS.keys": .array([.uid(3)]), "NS.objects": .array([])], [.string("k")])
    ),
    ("a date that is a string", object("NSDate", ["NS.time": .string("x")])),
    ("a date that is not a number", object("NSDate", ["NS.time": .real(.nan)])),
    ("a short UUID", object("NSUUID", ["NS.uuidbytes": .data(Data([1]))])),
    ("a URL based on itself", object("NSURL", ["NS.base": .uid(1), "NS.relative": .uid(3)], [.string("a")])),
    ("a URL based on a string", object("NSURL", ["NS.base": .uid(3), "NS.relative": .uid(3)], [.string("a")])),
    ("a URL that is its own text", object("NSURL", ["NS.base": .uid(0), "NS.relative": .uid(1)])),
    ("a URL without characters", object("NSURL", ["NS.base": .uid(0), "NS.relative": .uid(3)], [.string("")])),
    ("a null in an array", object("NSArray", ["NS.objects": .array([.uid(0)])])),
    ("a reference to nowhere", object("NSArray", ["NS.objects": .array([.uid(99)])])),
    ("a class that is the object", archive([.dictionary(["$class": .uid(1)])])),
    ("a class that is nowhere", archive([.dictionary(["$class": .uid(99)])])),
    ("a root that is nowhere", archive([], root: 99)),
    ("a class of processes", object("NSTask", [:])),
    ("a class of the program", object("Module.Person", ["name": .uid(3)], [.string("x")])),
    ("a string that is not UTF-8", object("NSString", ["NS.bytes": .data(Data([0xFF, 0xFE]))])),
    ("a string without characters", object("NSMutableString", [:])),
    ("data without bytes", object("NSMutableData", [:])),
    ("a number without a value", object("NSNumber", [:])),
    ("a decimal without digits", object("NSDecimalNumber", ["NS.mantissa": .data(Data())])),
    (
      "a counted set of too many",
      object(
        "NSCountedSet", ["NS.count": .integer(1), "NS.object0": .uid(3), "NS.count0": .integer(.max)], [.string("x")])
    ),
    (
      "runs beyond the string",
      object(
        "NSAttributedString", ["NSString": .uid(3), "NSAttributes": .uid(4), "NSAttributeInfo": .uid(6)],
        [
          .string("abc"), .dictionary(["$class": .uid(5), "NS.objects": .array([])]), named("NSArray", "NSObject"),
          .data(Data([0xFF, 0xFF, 0x7F, 0])),
        ])
    ),
    (
      "endless runs",
      object(
        "NSAttributedString", ["NSString": .uid(3), "NSAttributes": .uid(4), "NSAttributeInfo": .uid(6)],
        [
          .string("abc"), .dictionary(["$class": .uid(5), "NS.objects": .array([])]), named("NSArray", "NSObject"),
          .data(Data(repeating: 0xFF, count: 30)),
        ])
    ),
    (
      "attributes that are the string",
      object("NSAttributedString", ["NSString": .uid(3), "NSAttributes": .uid(1)], [.string("abc")])
    ),
    ("no archive", Data("garbage".utf8)), ("nothing", Data()),
  ]

  @Test("Damage is refused", arguments: archives.map(\.0))
  func damage(_ name: String) throws {
    let data = try #require(Self.archives.first { $0.0 == name }).1
    #expect(throws: ArchiveFailure.self) { try ObjectArchiveReader.object(in: data) }
  }

  @Test("Deep nests and lists that share lists are refused, and what real archives share is read")
  func nests() throws {
    func nest(_ depth: Int, width: Int) -> Data {
      let lists = (1...depth).map { position in
        ArchiveValue.dictionary([
          "$class": .uid(depth + 2), "NS.objects": .array(Array(repeating: .uid(position + 1), count: width)),
        ])
      }
      return Self.archive(lists + [.string("x"), Self.named("NSArray", "NSObject")])
    }
    #expect(throws: Never.self) { try ObjectArchiveReader.object(in: nest(100, width: 1)) }
    #expect(throws: Never.self) { try ObjectArchiveReader.object(in: nest(5, width: 10)) }
    #expect(throws: ArchiveFailure.self) { try ObjectArchiveReader.object(in: nest(5000, width: 1)) }
    #expect(throws: ArchiveFailure.self) { try ObjectArchiveReader.object(in: nest(12, width: 10)) }
  }

  @Test("Elements of a set that all have the same hash are refused before they are compared with one another")
  func hashes() throws {
    let count = 5000
    let prefix = Data(repeating: 0, count: 200)
    let elements = (0..<count).map { position in
      ArchiveValue.data(prefix + withUnsafeBytes(of: UInt32(position)) { Data($0) })
    }
    let set = ArchiveValue.dictionary(["$class": .uid(2), "NS.objects": .array((0..<count).map { .uid(3 + $0) })])
    let error = #expect(throws: ArchiveFailure.self) {
      try ObjectArchiveReader.object(in: Self.archive([set, Self.named("NSSet", "NSObject")] + elements))
    }
    #expect(error?.found.contains("the same hash") == true)
  }

  @Test("A set of arrays, and a dictionary with dictionaries as keys, are refused: Foundation crashes comparing them")
  func unhashable() throws {
    for (element, fields) in [("NSArray", ["NS.objects"]), ("NSDictionary", ["NS.keys", "NS.objects"])] {
      var inner: [String: ArchiveValue] = ["$class": .uid(4)]
      for field in fields { inner[field] = .array([]) }
      for name in ["NSSet", "NSMutableSet", "NSOrderedSet"] {
        let data = Self.object(
          name, ["NS.objects": .array([.uid(3)])], [.dictionary(inner), Self.named(element, "NSObject")])
        #expect(throws: ArchiveFailure.self) { try ObjectArchiveReader.object(in: data) }
      }
      let data = Self.object(
        "NSDictionary", ["NS.keys": .array([.uid(3)]), "NS.objects": .array([.uid(5)])],
        [.dictionary(inner), Self.named(element, "NSObject"), .string("x")])
      #expect(throws: ArchiveFailure.self) { try ObjectArchiveReader.object(in: data) }
    }
  }

  @Test("A set of decimal numbers, and a dictionary with them as keys, are refused: Foundation crashes hashing them")
  func decimalNumbers() throws {
    let number = ArchiveValue.dictionary(
      ArchivedDecimal.fields(of: Decimal(1.5)).merging(["$class": .uid(4)]) { $1 })
    let described = Self.named("NSDecimalNumberPlaceholder", "NSDecimalNumber")
    for name in ["NSSet", "NSMutableSet", "NSOrderedSet"] {
      let data = Self.object(name, ["NS.objects": .array([.uid(3)])], [number, described])
      #expect(throws: ArchiveFailure.self) { try ObjectArchiveReader.object(in: data) }
    }
    let data = Self.object(
      "NSDictionary", ["NS.keys": .array([.uid(3)]), "NS.objects": .array([.uid(5)])],
      [number, described, .string("x")])
    #expect(throws: ArchiveFailure.self) { try ObjectArchiveReader.object(in: data) }
  }

  @Test(
    "Whatever bytes are changed, an archive is read or refused, and what is read can be compared, printed and written")
  func mutations() throws {
    let sample: NSDictionary = [
      "list": ["a", 1, 2.5, NSNull()] as NSArray, "set": NSSet(array: ["x", "y"]), "date": NSDate(),
      "url": NSURL(string: "http://a/b") ?? NSURL(fileURLWithPath: "/"),
      "uuid": NSUUID(), "decimal": NSDecimalNumber(string: "1.5"), "ordered": NSOrderedSet(array: [1, 2]),
      "text": NSAttributedString(string: "abc", attributes: [.init("k"): "v"]),
      "data": NSMutableData(data: Data([1, 2])),
    ]
    let archive = try ObjectArchiveWriter.data(of: sample)
    var generator = SeededGenerator(seed: 9)
    var (read, refused) = (0, 0)
    for data in [archive] + Self.archives.map(\.1).filter({ !$0.isEmpty }) {
      for _ in 0..<(data == archive ? 4000 : 60) {
        var mutated = data
        for _ in 0..<[1, 2, 4].randomElement(using: &generator)! {
          let position = mutated.indices.randomElement(using: &generator)!
          mutated[position] = [0, 1, 0xFF, 0x80, UInt8.random(in: 0...255, using: &generator)].randomElement(
            using: &generator)!
        }
        do {
          let object = try ObjectArchiveReader.object(in: mutated)
          _ = object.isEqual(object.copy())
          _ = object.description
          _ = object.hash
          read += 1
          _ = try ObjectArchiveWriter.data(of: object)
        } catch is ArchiveFailure {
          refused += 1
        }
      }
    }
    #expect(read > 100 && refused > 100, "read \(read), refused \(refused)")
  }
}
