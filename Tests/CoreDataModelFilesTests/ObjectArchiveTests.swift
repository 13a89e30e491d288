// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreDataModelFiles

@Suite("Archives of Foundation's plain objects")
struct ObjectArchiveTests {
  private static let plainClasses: [AnyClass] = [
    NSArray.self, NSDictionary.self, NSString.self, NSNumber.self, NSDate.self, NSData.self, NSURL.self, NSUUID.self,
    NSSet.self, NSOrderedSet.self, NSNull.self, NSAttributedString.self,
  ]

  /// Makes objects of all plain classes, nested as deep as wanted.
  private struct Objects {
    var generator: SeededGenerator

    /// Foundation on Linux hands out collections inside of collections as Swift's, so only the outermost can be mutable.
    mutating func root() -> NSObject {
      switch Int.random(in: 0..<12, using: &generator) {
      case 0: NSMutableArray(array: objects(4))
      case 1: NSMutableSet(array: members())
      case 2: NSMutableOrderedSet(array: members())
      case 3: NSMutableDictionary(dictionary: entries(4))
      default: object(4)
      }
    }

    init(seed: UInt64) { generator = SeededGenerator(seed: seed) }

    mutating func object(_ depth: Int) -> NSObject {
      switch Int.random(in: 0..<(depth > 0 ? 16 : 12), using: &generator) {
      case 0: NSNumber(value: Int64.random(in: .min ... .max, using: &generator))
      case 1: NSNumber(value: Double.random(in: -1e9...1e9, using: &generator))
      case 2: NSNumber(value: Bool.random(using: &generator))
      case 3: NSNumber(value: UInt64.random(in: UInt64.max / 2 ... .max, using: &generator))
      case 4, 5: text() as NSString
      case 6: Data((0..<Int.random(in: 0..<40, using: &generator)).map { UInt8($0) }) as NSData
      case 7: Data(text().utf8) as NSData
      case 8: NSDate(timeIntervalSinceReferenceDate: Double.random(in: -1e9...1e9, using: &generator))
      case 9:
        NSURL(string: "https://example.com/\(Int.random(in: 0...99, using: &generator))?a=b#c")
          ?? NSURL(fileURLWithPath: "/")
      case 10: UUID() as NSUUID
      case 11: NSNull()
      case 12: objects(depth) as NSArray
      case 13: NSSet(array: members())
      case 14: NSOrderedSet(array: members())
      default: entries(depth) as NSDictionary
      }
    }

    private mutating func objects(_ depth: Int) -> [NSObject] {
      (0..<Int.random(in: 0..<6, using: &generator)).map { _ in object(max(depth - 1, 0)) }
    }

    /// Objects for a set. On Linux two objects of NSNull are equal and have different hashes.
    private mutating func members() -> [NSObject] { objects(0).filter { !($0 is NSNull) } }

    private mutating func entries(_ depth: Int) -> [NSString: NSObject] {
      let keys = (0..<Int.random(in: 0..<6, using: &generator)).map { _ in text() as NSString }
      return Dictionary(keys.map { ($0, object(max(depth - 1, 0))) }) { first, _ in first }
    }

    private mutating func text() -> String {
      ["", "a", "Größe", "🦀🦀", String(repeating: "long ", count: 40)].randomElement(using: &generator)!
        + "\(Int.random(in: 0...9, using: &generator))"
    }
  }

  @Test("What Foundation archives is read as Foundation reads it, and Foundation reads what is written")
  func foundation() throws {
    for seed in 0..<UInt64(400) {
      var objects = Objects(seed: seed)
      let object = objects.root()
      let theirs = try NSKeyedArchiver.archivedData(withRootObject: object, requiringSecureCoding: true)
      let read = try ObjectArchiveReader.object(in: theirs)
      #expect(read == object, "seed \(seed)")
      #expect(isMutable(read) == isMutable(object), "seed \(seed)")
      let ours = try ObjectArchiveWriter.data(of: object)
      let readByFoundation = try NSKeyedUnarchiver.unarchivedObject(ofClasses: Self.plainClasses, from: ours)
      #expect(readByFoundation as? NSObject == object, "seed \(seed)")
      #expect(try ObjectArchiveReader.object(in: ours) == object, "seed \(seed)")
      #expect(try layout(of: ours) == layout(of: theirs), "seed \(seed)")
    }
  }

  private func isMutable(_ object: NSObject) -> Bool {
    object is NSMutableArray || object is NSMutableDictionary || object is NSMutableSet || object is NSMutableOrderedSet
      || object is NSMutableData
  }

  /// The classes of an archive with their ancestors, and the keys of their objects.
  private func layout(of data: Data) throws -> Set<String> {
    guard case .dictionary(let archive) = try BinaryPropertyListReader.value(of: data),
      case .array(let objects)? = archive["$objects"]
    else { throw ArchiveFailure.broken("This is not an archive.") }
    var result: Set<String> = [archive.keys.sorted().joined(separator: " ")]
    for case .dictionary(let fields) in objects {
      if case .array(let line)? = fields["$classes"] { result.insert("\(line)") }
      result.insert(fields.keys.sorted().joined(separator: " "))
    }
    return result
  }

  @Test("Objects that Foundation's archiver cannot handle on Linux survive as well")
  func ours() throws {
    let attributed = NSMutableAttributedString(string: "Größe 🦀 and more")
    attributed.setAttributes([.init("bold"): true], range: NSRange(location: 0, length: 5))
    attributed.setAttributes([.init("link"): "x", .init("n"): 1], range: NSRange(location: 5, length: 3))
    let objects: [NSObject] = [
      NSDecimalNumber(string: "-12.345"), NSDecimalNumber(string: "0"), NSMutableString(string: "abc"), attributed,
      NSAttributedString(attributedString: attributed), NSAttributedString(string: ""),
      NSAttributedString(string: "plain", attributes: [.init("k"): ["a", 1] as NSArray]),
      NSCountedSet(array: ["a", "a", "b"]),
      NSURL(string: "c", relativeTo: URL(string: "http://a.b/")) ?? NSURL(fileURLWithPath: "/"),
      NSURL(fileURLWithPath: "/tmp/x y"), NSNumber(value: 1.5 as Float),
    ]
    for object in objects + [objects as NSArray] {
      let read = try ObjectArchiveReader.object(in: ObjectArchiveWriter.data(of: object))
      #expect(read == object)
      if let set = object as? NSCountedSet { #expect((read as? NSCountedSet)?.count(for: "a") == set.count(for: "a")) }
    }
    let text = try ObjectArchiveReader.object(in: ObjectArchiveWriter.data(of: NSMutableString(string: "abc")))
    #expect(text is NSMutableString)
  }

  @Test("Swift values become Foundation's objects")
  func swiftValues() throws {
    let values: [(Any, NSObject)] = [
      (["a", "b"], ["a", "b"] as NSArray), ([1, "a", [true]] as [Any], [1, "a", [true] as NSArray] as NSArray),
      (["k": [1.5]], ["k": [1.5]] as NSDictionary), (Set(["a"]), NSSet(array: ["a"])), ("x", "x" as NSString),
      (5, 5 as NSNumber), (true, true as NSNumber), (Decimal(string: "1.5") ?? 0, NSDecimalNumber(string: "1.5")),
      ([1: "x"], [1: "x"] as NSDictionary),
    ]
    for (value, expected) in values {
      #expect(try ObjectArchiveReader.object(in: ObjectArchiveWriter.data(of: value)) == expected)
    }
  }

  @Test("What a reader would not take is not written")
  func unwritable() throws {
    final class Own: NSObject {}
    #expect(throws: ObjectArchiveWriter.Problem.self) { try ObjectArchiveWriter.data(of: Own()) }
    #expect(throws: ObjectArchiveWriter.Problem.self) { try ObjectArchiveWriter.data(of: ["a": Own()] as NSDictionary) }
    struct Value {}
    #expect(throws: ObjectArchiveWriter.Problem.self) { try ObjectArchiveWriter.data(of: Value()) }
    #expect(throws: ObjectArchiveWriter.Problem.self) { try ObjectArchiveWriter.data(of: NSSet(array: [["a"]])) }
    var deep: NSArray = []
    for _ in 0..<300 { deep = [deep] }
    #expect(throws: ObjectArchiveWriter.Problem.self) { try ObjectArchiveWriter.data(of: deep) }
  }
  @Test("A name that the program gives a class is written only if the class is found by it")
  func codedNames() throws {
    let own = String(reflecting: CodedBadge.self)
    for known in [[own], [own, "Badge"]] {
      let classes: ObjectArchiveReader.ProgramClasses = { known.contains($0) ? CodedBadge.self : nil }
      let data = try ObjectArchiveWriter.data(
        of: CodedBadge(), programClasses: classes, codedName: { $0 == CodedBadge.self ? "Badge" : nil })
      #expect(try ObjectArchiveReader.object(in: data, programClasses: classes) is CodedBadge)
      #expect(try layout(of: data).contains { $0.contains("\"Badge\"") } == known.contains("Badge"))
    }
  }
}

private final class CodedBadge: NSObject, NSSecureCoding {
  static let supportsSecureCoding = true
  override init() {}
  init?(coder: NSCoder) {}
  func encode(with coder: NSCoder) {}
}
