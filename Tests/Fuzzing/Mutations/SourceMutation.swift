// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

/// Damage to Swift sources that keeps them Swift more often than damaged bytes.
enum SourceMutation {
  private static let fragments = [
    "@objc ", "@objc(Name) ", "@objc(", "@objcMembers", "@nonobjc", "@NSManaged ", "@NSManaged public var a, b: Int\n",
    "@NSManaged var `default`: [String: (Int) -> Void]!\n", "@NSManaged func addToItems(_ value: Item)\n",
    "@NSManaged\n", "dynamic ", "override ", "private(set) ", "static ", "lazy ", "@available(*, deprecated) ",
    "#if os(Linux)\n", "#if canImport(ObjectiveC)\n", "#elseif DEBUG && !swift(>=6)\n", "#else\n", "#endif\n", "#if ",
    "#keyPath(Person.name)", "#keyPath(", "#keyPath(a.b.c)", "#selector(f)", "#selector(getter: A.b)",
    "NSStringFromSelector(#selector(getter: A.b))", "Bundle.main", "Bundle(for: Self.self)", "Bundle.main.url",
    "as? NSFetchRequest<Person>", "NSExpression(forFunction: \"a:\", arguments: [])",
    "NotificationCenter.default"
      + ".addObserver(self, selector: #selector(f(_:)), name: nil, object: nil)",
    "class A: NSManagedObject {\n", "extension A {\n", "final class P: NSEntityMigrationPolicy {\n", "struct S {",
    "enum E: Int {", "protocol P {", "func f(_ x: Int...) throws -> [String]? {\n", "init?() {", "deinit {",
    "subscript(",
    "override func awakeFromInsert() { super.awakeFromInsert() }\n", "import CoreData\n",
    "import class Foundation.Bundle",
    "@objc func a(b: String, c d: NSNumber) -> String { \"\" }\n", "// comment\n", "/* open /* nested */", "*/", "\"",
    "\"\"\"", "\"\"\"\n  text \\(a[\"b\"])\n  \"\"\"\n", "#\"raw \\#(x)\"#", "##\"", "\"\\(\"\\(\"a\")\")\"", "\\",
    "/regex(/",
    "{", "}", "(", ")", "[", "]", "<", ">", ";", ":", ",", "`", "\r\n", "\r", "\u{0}", "\u{FEFF}", "ä", "😀",
  ]

  private static let attributes = [
    "@objc", "@objc(OBName)", "@nonobjc", "@objcMembers", "@available(*, deprecated)", "public", "// comment",
    "/// Text.",
    "#if DEBUG", "@discardableResult",
  ]
  private static let members = [
    "@NSManaged var a: String?", "@NSManaged public var b, c: Int16", "@NSManaged var `default`: Date!",
    "@NSManaged private(set) var d: NSSet? // of lines", "@objc dynamic var e: Int { 1 }", "var own = 1",
    "@NSManaged func addToItems(_ value: NSSet)", "@objc func f(_ sender: Any?, with name: String) {}",
    "override func awakeFromInsert() { super.awakeFromInsert() }", "let key = #keyPath(Person.name)",
    "let bundle = Bundle.main", "static func make() -> Self? { nil }",
    "@objc(g:) func g(_ x: Int) -> NSNumber? { nil }",
    "let text = \"\\(\"a\")\"", "let long = \"\"\"\n  @NSManaged var x: Int\n  \"\"\"",
    "/* @objc */ var h = #\"@objc\"#",
    "@NSManaged(x) var i: Int", "@objc enum Kind: Int { case one }", "#if os(iOS)\n@objc func j() {}\n#endif",
    "#if canImport(ObjectiveC)\n@objc\n#endif\nfunc k() {}", "@NSManaged var l: [String: (Int) -> Void]; var m = 2",
  ]
  private static let heads = [
    "class A: NSManagedObject", "extension A", "final class P: NSEntityMigrationPolicy", "struct S",
    "@objcMembers class O: NSObject",
    "@objc(OBThing) public class Thing: NSManagedObject", "enum N", "public extension Thing",
  ]

  /// Adds a type with members of all kinds to a source.
  static func extend(_ bytes: [UInt8], _ random: inout FuzzRandom) -> [UInt8] {
    let lineBreak = random.oneIn(8) ? "\r\n" : "\n"
    var lines = [random.pick(heads) + " {"]
    for _ in 0..<random.small(8) {
      var member = random.pick(members)
      let attribute = random.pick(attributes)
      if random.oneIn(4) {
        member =
          attribute + (attribute.hasPrefix("/") || attribute.hasPrefix("#") || random.oneIn(2) ? "\n" : " ") + member
        if attribute.hasPrefix("#") { member += "\n#endif" }
      }
      lines += member.split(separator: "\n").map { random.pick(["", "  ", "\t"]) + $0 }
      if random.oneIn(4) { lines.append("") }
    }
    lines.append("}")
    return bytes + Array((lineBreak + lines.joined(separator: lineBreak) + lineBreak).utf8)
  }

  /// Changes a few places.
  static func damage(_ bytes: [UInt8], with other: [UInt8], _ random: inout FuzzRandom) -> [UInt8] {
    var lines = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).map { Array($0) }
    let place = random.below(lines.count)
    switch random.below(9) {
    case 0: lines.remove(at: place)
    case 1: lines.swapAt(place, random.below(lines.count))
    case 2:
      let count = random.pick([1, 1, 3, 200, 3_000])
      guard lines[place].count * count < 1 << 17 else { break }
      lines.insert(contentsOf: Array(repeating: lines[place], count: count), at: place)
    case 3:
      let others = other.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
      let start = random.below(others.count)
      lines.insert(contentsOf: others[start..<min(others.count, start + random.small(12))].map { Array($0) }, at: place)
    case 4:
      let count = random.pick([2, 60, 5_000])
      lines[place] += Array(String(repeating: random.pick(fragments), count: count).utf8.prefix(1 << 16))
    default:
      let column = random.below(lines[place].count + 1)
      lines[place].insert(contentsOf: Array(random.pick(fragments).utf8), at: column)
    }
    return Array(lines.joined(separator: [UInt8(ascii: "\n")]))
  }
}
