// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import SwiftDataMacroExpansion

@Suite("Rows of schemaMetadata")
struct SchemaMetadataTests {
  private func row(_ name: String, defaultValue: String = "nil", metadata: String = "nil", key: String? = nil) -> String
  {
    #"name: "\#(name)", keypath: \Trip.\#(key ?? name), defaultValue: \#(defaultValue), metadata: \#(metadata)"#
  }

  @Test(
    "The default value is the initial value, with the type of the property",
    arguments: [
      ("var a: Int", "nil"), ("var a: Int?", "nil"), ("var a: Int? = nil", "nil"), ("var a = 1", "1"),
      ("var a = UUID()", "UUID()"), ("var a: [Trip] = []", "([]) as [Trip]"), ("var a = [Trip]()", "[Trip]()"),
      ("var a: [String: [Int]] = [:]", "([:]) as [String: [Int]]"), ("var a: Kind = .b", "(.b) as Kind"),
      ("var a: String! = \"\"", "(\"\") as String?"),
      ("var a: Dictionary<String, [Int]> = x", "(x) as Dictionary<String, [Int]>"),
      ("var a: Double = 0", "0"), ("var a: Double = -1.5e-3", "-1.5e-3"), ("var a: Int = 0xFF_FF", "0xFF_FF"),
      ("var a: UInt64 = 18_446_744_073_709_551_615", "(18_446_744_073_709_551_615) as UInt64"),
      ("var a: Int = b ? 1 : 2", "(b ? 1 : 2) as Int"), ("var a = { 1 + 2 }()", "{ 1 + 2 }()"),
      ("var a = [1].map { $0 * 2 }", "[1].map { $0 * 2 }"), ("var a = 1 { didSet { print(2) } }", "1"),
      ("var a: Int = 1 { willSet(new) { } }", "1"),
      ("var a = \"{ \\(b + \"}\") {\" // }", "\"{ \\(b + \"}\") {\""), ("var a = #\"raw \" {\"#", "#\"raw \" {\"#"),
      ("var a /* b */ : Int /* = 2 */ = 3 /* { */", "3"),
      ("var a: Int = if b { 1 } else { 2 }", "({ () -> Int in if b { 1 } else { 2 } }()) as Int"),
      ("var a: (any Named)? = nil", "nil"),
      ("var a: Schemas.Kind = Schemas.Kind.b", "(Schemas.Kind.b) as Schemas.Kind"),
      ("@Relationship(inverse: \\B.c) var a: B?", "nil"), ("weak var a: B?", "nil"),
      ("var a = 1; var b: Int { 2 }", "1"),
    ])
  func defaultValues(property: String, value: String) throws {
    let row = try #require(Expanding.rows(property).first)
    let text = try #require(row.firstRange(of: "defaultValue: "))
    #expect(row[text.upperBound...].hasPrefix(value + ", metadata: "))
  }

  @Test("Initial values of several lines are kept as they are")
  func severalLines() {
    let value = "[1, // one\n    2,\n  ]\n  .map { $0 + 1 }\n  .filter { $0 > 1 }"
    let source = Expanding.members(of: "  var a: [Int] = \(value)\n  var b = 1\n  @Attribute\n  var c = 2").source
    #expect(source.contains("defaultValue: (\(value)) as [Int], metadata: nil)"))
    #expect(source.contains("defaultValue: 1, metadata: nil)"))
    let text = "\"\"\"\n    { \\(1)\n    \"\"\""
    #expect(Expanding.members(of: "  var a = \(text)\n  var b = 1").source.contains("defaultValue: \(text), metadata"))
  }

  @Test(
    "The metadata is the annotation",
    arguments: [
      ("@Attribute(.unique) var a: Int", "SwiftData.Schema.Attribute(.unique)"),
      ("@Attribute var a: Int", "SwiftData.Schema.Attribute()"),
      ("@Attribute() var a: Int", "SwiftData.Schema.Attribute()"),
      (
        "@available(macOS 26, *) @SwiftData.Attribute(.ephemeral, originalName: \")\")\n  private(set) var a: Int",
        "SwiftData.Schema.Attribute(.ephemeral, originalName: \")\")"
      ),
      (
        "@Relationship(deleteRule: .cascade, inverse: \\B.c)\n  var a: [B]?",
        "SwiftData.Schema.Relationship(deleteRule: .cascade, inverse: \\B.c)"
      ),
      ("@Other(1) var a: Int", "nil"),
    ])
  func annotations(property: String, metadata: String) {
    #expect(Expanding.rows(property) == [row("a", metadata: metadata)])
  }

  @Test("Names keep their backticks in key paths only")
  func names() {
    #expect(Expanding.rows("var `default`: Int") == [row("default", key: "`default`")])
    #expect(Expanding.rows("var größe: Int") == [row("größe")])
  }

  @Test("Only persisted properties have rows, in source order")
  func persisted() {
    let rows = Expanding.rows(
      """
      var a: Int
      static var b = 1; var c = 2
      var d: Int { 3 }
      @Transient var e = 4
      func f() { var g = 5 }
      class Inner { var h = 6 }
      enum Kind: String { case i, j }
      struct S {
        var k = 7
      }
      subscript(index: Int) -> Int { get { 1 } set { } }
      typealias L = Int
      let m = 8 // var n = 9
      /* var o = 10 */
      """)
    #expect(rows == [row("a"), row("c", defaultValue: "2"), row("m", defaultValue: "8")])
  }

  @Test("#Unique and #Index have rows")
  func constraints() {
    let rows = Expanding.rows(
      """
      #Unique<Trip>([\\.a], [\\.a, \\.b])
      #Index([\\.a])
      #SwiftData.Index<Trip>(.rtree([\\.a, \\.b]))
      #warning("no row")
      var a: Int
      """)
    let expected = [
      row("#Unique", metadata: "SwiftData.Schema.Unique<Trip>([\\.a], [\\.a, \\.b])", key: "self"),
      row("#Index", metadata: "SwiftData.Schema.Index<Trip>([\\.a])", key: "self"),
      row("#Index", metadata: "SwiftData.Schema.Index<Trip>(.rtree([\\.a, \\.b]))", key: "self"), row("a"),
    ]
    #expect(rows == expected)
  }

  @Test("Conditions stand around rows and storage")
  func conditions() {
    let source = Expanding.members(of: "#if DEBUG // c\nvar a: Int = 1\n#elseif B\n#else\nvar b: Int = 2\n#endif")
      .source
    #expect(
      source.contains(
        #"""
          var rows: [SwiftData.Schema.PropertyMetadata] = []
        #if DEBUG 
          rows.append(SwiftData.Schema.PropertyMetadata(name: "a", keypath: \Trip.a, defaultValue: 1, metadata: nil))
        #elseif B
        #else
          rows.append(SwiftData.Schema.PropertyMetadata(name: "b", keypath: \Trip.b, defaultValue: 2, metadata: nil))
        #endif
          return rows
        """#))
    #expect(
      source.contains("#if DEBUG \n  _a = _SwiftDataNoType()\n#elseif B\n#else\n  _b = _SwiftDataNoType()\n#endif"))
  }
}
