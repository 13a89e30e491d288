// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import CoreDataTestSupport
import Foundation
import SwiftSourceScanning
import Testing

@testable import CoreDataSourceCode

@Suite("Translation of sources")
struct TranslatorTests {
  /// Person with name, scores (to-many Score) and a department; Score with points.
  private static let model: ModelDocument = {
    var person = EntityDocument(name: "Person", className: "Person")
    person.attributes = [AttributeDocument(name: "name", kind: .string)]
    person.relationships = [
      RelationshipDocument(name: "scores", destinationEntityName: "Score", isToMany: true),
      RelationshipDocument(name: "best", destinationEntityName: "Score"),
    ]
    var score = EntityDocument(name: "Score", className: ".Score")
    score.attributes = [AttributeDocument(name: "points", kind: .integer32)]
    return ModelDocument(entities: [person, score])
  }()

  private func translated(_ text: String, _ others: String...) -> (text: String, messages: [SourceMessage]) {
    let file = SourceFile(path: "A.swift", bytes: Array(text.utf8))
    let files = [file] + others.map { SourceFile(path: "B.swift", bytes: Array($0.utf8)) }
    let result = Translator(files: files, models: [Self.model], hasResources: true).translate(file)
    return (String(decoding: result.bytes, as: UTF8.self), result.messages)
  }

  /// The accessors of a property, and its constant.
  private static func accessors(_ name: String, _ type: String) -> String {
    " \(Accessors.body(of: name)); \(Accessors.declaration(for: name, type))"
  }

  @Test(
    "An @NSManaged property gets accessors, in any form of its declaration",
    arguments: [
      (
        "@NSManaged public var name: String? // of the person",
        "public var name: String?§name:String?§ // of the person"
      ),
      ("@objc @NSManaged dynamic fileprivate(set) var age: Int16", "fileprivate(set) var age: Int16§age:Int16§"),
      ("@NSManaged\n  public var tags: Set<Tag>?", "\n  public var tags: Set<Tag>?§tags:Set<Tag>?§"),
      (
        "@NSManaged private var x, y: Double",
        "private var x: Double§x:Double§; private var y: Double§y:Double§"
      ),
      (
        "@NSManaged var a: String?,\n  b: Date!",
        "var a: String?§a:String?§; var\n  b: Date!§b:Date?§"
      ),
      ("@NSManaged var `default`: [String: [Int]]", "var `default`: [String: [Int]]§default:[String: [Int]]§"),
      ("@NSManaged var any: (NSObject & NSCoding)?", "var any: (NSObject & NSCoding)?§any:(NSObject & NSCoding)?§"),
      ("@NSManaged var raw: Foundation.Data", "var raw: Foundation.Data§raw:Foundation.Data§"),
    ])
  func properties(source: String, expected: String) {
    let result = translated("class Person: NSManagedObject {\n\(source)\n}")
    var wanted = expected
    while let start = wanted.firstIndex(of: "§"), let end = wanted[wanted.index(after: start)...].firstIndex(of: "§") {
      let parts = wanted[wanted.index(after: start)..<end].split(separator: ":", maxSplits: 1).map(String.init)
      wanted.replaceSubrange(start...end, with: Self.accessors(parts[0], parts[1]))
    }
    #expect(result.text == "class Person: NSManagedObject {\n\(wanted)\n}")
    #expect(result.messages.isEmpty)
  }

  @Test(
    "An @NSManaged method of a relationship gets a body, by its selector or its name",
    arguments: [
      ("@objc(addItemsObject:)\n@NSManaged public func addToItems(_ value: Item)", "add(value, to: self)", "items"),
      ("@NSManaged func addToItems(_ value: Item)", "add(value, to: self)", "items"),
      ("@NSManaged func removeFromItems(_ values: Set<Item>)", "remove(values, from: self)", "items"),
      ("@NSManaged func insertIntoItems(_ v: Item, at idx: Int)", "insert(v, at: idx, in: self)", "items"),
      ("@NSManaged func removeFromItems(at idx: Int)", "remove(at: idx, from: self)", "items"),
      ("@NSManaged func replaceItems(at idx: Int, with v: Item)", "replace(at: idx, with: v, in: self)", "items"),
      ("@NSManaged func addItemsObject(_ value: Item)", "add(value, to: self)", "items"),
      ("@NSManaged func removeItems(_ values: Set<Item>)", "remove(values, from: self)", "items"),
      ("@NSManaged func addTopicsObject(_ value: Topic)", "add(value, to: self)", "topics"),
      ("@NSManaged func insertObject(_ o: Item, inItemsAtIndex i: Int)", "insert(o, at: i, in: self)", "items"),
      ("@objc(removeObjectFromItemsAtIndex:) @NSManaged func drop(at i: Int)", "remove(at: i, from: self)", "items"),
      (
        "@objc(replaceItemsAtIndexes:withItems:) @NSManaged func swap(at i: NSIndexSet, with v: [Item])",
        "replace(at: i, with: v, in: self)", "items"
      ),
    ])
  func methods(source: String, call: String, key: String) {
    let result = translated("extension Person {\n\(source)\n}")
    let constant = Accessors.membersConstant(for: key)
    #expect(result.text.contains("{ Self.\(constant).\(call) }; \(Accessors.membersDeclaration(for: key))"))
    #expect(!result.text.contains("@"))
    #expect(result.messages.isEmpty)
  }

  @Test("The constant of a relationship is declared once in a type, and members may be given as an array")
  func constants() {
    let result = translated(
      "extension Person {\n@NSManaged func addToItems(_ v: Item)\n@NSManaged func addToItems(_ v: NSSet)\n}")
    #expect(result.text.components(separatedBy: Accessors.membersDeclaration(for: "items")).count == 2)
    #expect(result.text.contains("func addToItems(_ v: [NSManagedObject]) { "))
  }

  @Test(
    "What needs Objective-C is dropped or replaced, and nothing else",
    arguments: [
      ("@objc(Person) public class Person: NSManagedObject {}", "public class Person: NSManagedObject {}"),
      ("@objc public dynamic var title: String { \"\" }", "public var title: String { \"\" }"),
      ("@objcMembers final class A: NSObject {}", "final class A: NSObject {}"),
      ("@nonobjc public class func f() {}", "public class func f() {}"),
      ("let dynamic = 1; f(dynamic, x.dynamic)", "let dynamic = 1; f(dynamic, x.dynamic)"),
      ("import Foundation", "import CoreData"),
      ("let s = \"@objc #keyPath(A.b) @NSManaged\" // @objc", "let s = \"@objc #keyPath(A.b) @NSManaged\" // @objc"),
      ("let s = #\"\\(#keyPath(Person.name))\"#", "let s = #\"\\(#keyPath(Person.name))\"#"),
      ("let s = \"\\(#keyPath(Person.name))!\"", "let s = \"\\(\"name\")!\""),
      ("/* @objc /* @objc */ #keyPath(X) */ @objc func f() {}", "/* @objc /* @objc */ #keyPath(X) */ func f() {}"),
      (
        "#if canImport(ObjectiveC)\n@objc\n#endif\nfunc f() {}", "#if canImport(ObjectiveC)\n@objc\n#endif\nfunc f() {}"
      ),
      (
        "#if os(iOS) || os(macOS)\n@objc func f() {}\n#else\n@objc func f() {}\n#endif",
        "#if os(iOS) || os(macOS)\n@objc func f() {}\n#else\nfunc f() {}\n#endif"
      ),
      ("#if DEBUG\n@objc func f() {}\n#endif", "#if DEBUG\nfunc f() {}\n#endif"),
      (
        "Bundle.main.url(forResource: \"M\", withExtension: \"momd\")",
        "Bundle.module.url(forResource: \"M\", withExtension: \"momd\")"
      ),
      ("Bundle.main.bundleIdentifier", "Bundle.main.bundleIdentifier"),
      ("f(from: [Bundle.main])", "f(from: [Bundle.module])"),
      ("Bundle(for: Person.self).path(forResource: a)", "Bundle.module.path(forResource: a)"),
      ("x.fetchRequest() as! NSFetchRequest<Person>", "x.fetchRequest() =>! NSFetchRequest<Person>.self"),
      ("f(x as? NSFetchRequest<Person>)", "f(x =>? NSFetchRequest<Person>.self)"),
      ("let b = Bundle.main\nuse(b)", "let b = Bundle.module\nuse(b)"),
      ("let b: Bundle = .main, c: MyBundle = .main", "let b: Bundle = .module, c: MyBundle = .main"),
      ("M.mergedModel(from: [.main])", "M.mergedModel(from: [.module])"),
      ("let q = DispatchQueue.main\nuse(.main)", "let q = DispatchQueue.main\nuse(.main)"),
      ("if let b = Bundle(identifier: \"a.b\") {}", "if let b = Optional(Bundle.module) {}"),
      (
        "let t: Foundation.ValueTransformer, d: Foundation.Data", "let t: CoreData.ValueTransformer, d: Foundation.Data"
      ),
      (
        "d.setOption(FileProtectionType.complete as NSObject, forKey: k)",
        "d.setOption(NSString(string: FileProtectionType.complete.rawValue), forKey: k)"
      ),
      ("let p = FileProtectionType.complete", "let p = FileProtectionType.complete"),
      ("k(NSStringFromSelector(#selector(getter: Person.name)))", "k(\"name\")"),
      ("k(NSStringFromSelector(#selector(setter: Person.name)))", "k(\"setName:\")"),
      ("try #require(x as? NSFetchRequest<Person>)", "try #require((x =>? NSFetchRequest<Person>.self).self)"),
      (
        "#expect(f(a, b), try g(x) as? NSFetchRequest<Person> != nil)",
        "#expect(f(a, b), (try g(x) =>? NSFetchRequest<Person>.self).self != nil)"
      ),
      ("#require(f(x as? NSFetchRequest<Person>))", "#require(f(x =>? NSFetchRequest<Person>.self))"),
      (
        "class P { private override init(entity e: E, insertInto c: C?) {} }",
        "class P { required init(entity e: E, insertInto c: C?) {} }"
      ),
      (
        "class P { override init(managedObjectModel m: M) {} }", "class P { required init(managedObjectModel m: M) {} }"
      ),
      (
        "class S: NSAtomicStore { override init(persistentStoreCoordinator c: C?, at u: URL) {} }",
        "class S: NSAtomicStore { required init(persistentStoreCoordinator c: C?, at u: URL) {} }"
      ),
      (
        "class P: NSEntityMigrationPolicy { override init() { super.init() } }; class Q: R { override init() {} }",
        "class P: NSEntityMigrationPolicy { required init() { super.init() } }; class Q: R { override init() {} }"
      ),
      (
        "class P { func f() { c.addObserver(self, selector: #selector(g(_:)), name: n, object: nil) } }",
        "class P { func f() { c.addObserver(self, selector: P.g(_:), name: n, object: nil) } }"
      ),
      (
        "extension P { func f() { c.addObserver(q, selector: #selector(Q.g), name: f({ 1 }), object: nil) } }",
        "extension P { func f() { c.addObserver(q, selector: Q.g, name: f({ 1 }), object: nil) } }"
      ),
      ("d(selector: #selector(NSString.localizedStandardCompare(_:)))", "d(selector: \"localizedStandardCompare:\")"),
      ("let k = #keyPath(\n  Person.best.points)", "let k = \"best.points\"\n"),
      (
        "class A { override init(entity: E, insertInto c: C?) {} }",
        "class A { required init(entity: E, insertInto c: C?) {} }"
      ),
    ])
  func replacements(source: String, expected: String) {
    let result = translated(source)
    #expect(result.text == expected)
    #expect(result.messages.isEmpty)
  }

  @Test("A key path is checked against the model, its types and the properties that classes declare")
  func keyPaths() {
    let person = "class Person: NSManagedObject { var title: String { \"\" }; func f() { use(#keyPath(best.points)) } }"
    #expect(translated(person).messages.isEmpty)
    #expect(translated("_ = #keyPath(Person.title)", person).messages.isEmpty)
    #expect(translated("_ = #keyPath(Person.objectID)").messages.isEmpty)
    #expect(translated("_ = #keyPath(Other.whatever)").messages.isEmpty)
    let wrong = translated("\n  _ = #keyPath(Person.best.pionts)").messages
    #expect(
      wrong.map(\.description) == [
        "A.swift:2:28: error: Score has no property \"pionts\". The entity Score has: points."
      ])
  }

  @Test(
    "What cannot be translated is named with its line and what to write instead",
    arguments: [
      ("perform(#selector(run))", "Pass a closure"), ("f(NSStringFromSelector(#selector(run)))", "Pass a closure"),
      ("x.addObserver(self, forKeyPath: \"name\", options: [], context: nil)", "didChangeValue"),
      ("override func observeValue(forKeyPath p: String?) {}", "didChangeValue"),
      ("@NSManaged func calculate(_ a: Int, b: Int)", "Write it"), ("@IBOutlet var view: View?", "#if canImport"),
      ("func validateValue(_ value: AutoreleasingUnsafeMutablePointer<AnyObject?>, forKey key: String)", "inout Any?"),
      ("@objc optional func f()", "extension of the protocol"),
    ])
  func problems(source: String, advice: String) throws {
    let message = try #require(translated("class A: NSManagedObject {\n\(source)\n}").messages.first)
    #expect(message.line == 2)
    #expect(message.severity == .error)
    #expect(message.text.contains(advice))
  }

  @Test("A member of an extension that overrides another is called by an override of the class")
  func overridesInExtensions() throws {
    let extensions = """
      extension Person {
        override public func awakeFromInsert() { super.awakeFromInsert() }
        open override class func entity() -> NSEntityDescription { x }
        override func validateValue(_ value: inout Any?, forKey k: String) throws {}
        override var isGood: Bool { get { true } set {} }
      }
      """
    let result = translated("public class Person: NSManagedObject {\n}", extensions)
    #expect(
      result.text == "public class Person: NSManagedObject {\n "
        + "public override func awakeFromInsert() { overridden_Person_awakeFromInsert() }; "
        + "public override class func entity() -> NSEntityDescription { overridden_Person_entity() }; "
        + "public override func validateValue(_ value: inout Any?, forKey k: String) throws "
        + "{ try overridden_Person_validateValue(&value, forKey: k) }; "
        + "public override var isGood: Bool { get { overridden_Person_isGood }; set { overridden_Person_isGood = newValue } } }"
    )
    let moved = translated(extensions, "class Person: NSManagedObject {}")
    #expect(moved.messages.isEmpty, "\(moved.messages)")
    for line in [
      "  public func overridden_Person_awakeFromInsert() { super.awakeFromInsert() }",
      "  public class func overridden_Person_entity() -> NSEntityDescription { x }",
      "  func overridden_Person_validateValue(_ value: inout Any?, forKey k: String) throws {}",
      "  var overridden_Person_isGood: Bool { get { true } set {} }",
    ] { #expect(moved.text.contains("\n\(line)\n"), "\(moved.text)") }
    let unknown = translated("extension Other { override func f() {} }").messages
    #expect(unknown.map(\.severity) == [.error] && unknown[0].text.contains("declaration of Other"), "\(unknown)")
    let generic = translated("class P {}\nextension P { override func f<T>(_ a: T) {} }").messages
    #expect(generic.map(\.severity) == [.error], "\(generic)")
  }

  @Test("Overrides go to the class of that name, within other types too, with the attributes that they need")
  func placesOfOverrides() {
    let classes = "class A: B { class P: B {} }\nclass P: B {}\nfunc f() { class P: B {} }\n"
    let nested = translated(
      classes
        + "extension A.P { @MainActor @objc override func f() {} }\nextension P { nonisolated override func g() {} }")
    let line = nested.text.components(separatedBy: "\n")
    #expect(
      line.prefix(3) == [
        "class A: B { class P: B { @MainActor override func f() { overridden_A_P_f() } } }",
        "class P: B { nonisolated override func g() { overridden_P_g() } }", "func f() { class P: B {} }",
      ], "\(line)")
    #expect(nested.messages.isEmpty, "\(nested.messages)")
    let doubtful = translated(
      "class P {}\nextension P {\n#if DEBUG\noverride func f() {}\n#endif\noverride var x: Int { didSet {} }\n}\n"
        + "let s = \"extension P { override func f() {} }\" // override func g() {}\n")
    #expect(
      doubtful.messages.map { "\($0.line) \($0.severity.rawValue)" } == ["4 warning", "6 error"], "\(doubtful.messages)"
    )
    #expect(doubtful.text.hasPrefix("class P {}\n"))
  }

  @Test("What may be a method of the program draws a warning only, and bundles stay where there is none of the module")
  func doubts() throws {
    let message = try #require(translated("x.observe(\\.name) { _, _ in }").messages.first)
    #expect(message.severity == .warning && message.text.contains("didChangeValue"))
    let source = "Bundle.main.url(forResource: \"M\", withExtension: nil)"
    let file = SourceFile(path: "A.swift", bytes: Array(source.utf8))
    let result = Translator(files: [file], models: [], hasResources: false).translate(file)
    #expect(String(decoding: result.bytes, as: UTF8.self) == source)
  }

  @Test("Objective-C's names of classes are found, also of nested classes and beside other attributes")
  func names() {
    let file = SourceFile(
      path: "A.swift",
      bytes: Array("@objc(WSPart) @MainActor public final class Part: NSObject { @objc(In) class Inner {} }".utf8))
    #expect(
      Translator(files: [file], models: [], hasResources: true).objectiveCNames == [
        "WSPart": "Part", "In": "Part.Inner",
      ])
    let hidden = SourceFile(
      path: "A.swift",
      bytes: Array(
        """
        @objc(A) private class A {}
        fileprivate enum B { @objc(C) class C {} }
        func f(actor name: String, class other: Int) { @objc(D) class D {} }
        #if DEBUG
        @objc(E) class E {}
        #else
        @objc(F) class F {}
        #endif
        struct S { var x: Int { @objc(G) class G {}; return 1 }; @objc(H) class H {} }
        """.utf8))
    #expect(Translator(files: [hidden], models: [], hasResources: true).objectiveCNames == ["H": "S.H"])
    #expect(ObjectiveCNamesFile.text(["WSPart": "Part"], isPort: false).contains("\"WSPart\": Part.self"))
  }

  @Test("A policy gets callFunction although a type within it has its own")
  func nestedPolicy() {
    let result = translated(
      """
      class P: NSEntityMigrationPolicy {
        @objc func f(_ a: String) -> String { a }
        class Q: NSEntityMigrationPolicy {
          override func callFunction(_ name: String, arguments: [Any?]) throws -> Any? { nil }
        }
      }
      """)
    #expect(result.text.contains("case \"f:\":"))
    #expect(result.text.split(separator: "func callFunction(").count == 3)
  }

  @Test("Policies' methods can be called by their selectors")
  func policies() {
    let result = translated(
      """
      @objc(P) public class P: Base {
        @objc func fullName(first: String, last b: String?) -> String { "" }
        @objc func price(forUnits n: NSNumber) throws -> NSNumber { n }
        @objc(other:) func x(_ a: Any) {}
        func plain() {}
      }
      """, "class Base: NSEntityMigrationPolicy {}")
    for selector in ["fullNameWithFirst:last:", "priceForUnits:", "other:"] {
      #expect(result.text.contains("case \"\(selector)\": "))
    }
    #expect(result.text.contains("return self.fullName(first: argument0, last: arguments[1] as? String)"))
    #expect(result.text.contains("return try self.price(forUnits: argument0)"))
    #expect(result.text.contains("public override func callFunction("))
    #expect(!result.text.contains("plain:"))
  }

  @Test("What another file cannot call is not called, nor what has no object or no plain parameters")
  func uncallable() {
    let other = """
      extension P {
        @objc private func hidden(_ a: Int) {}
        @objc func seen(_ a: Int) {}
      }
      private extension P { @objc func inPrivate(_ a: Int) {} }
      fileprivate extension Person { @objc var secret: Int { 1 } }
      extension Person { @objc private(set) var shown: Int { get { 1 } set {} } }
      """
    let own = """
      class Person: NSManagedObject {}
      class P: NSEntityMigrationPolicy {
        @objc private func mine(_ a: Int) {}
        @objc static func shared(_ a: Int) {}
        @objc class func common(_ a: Int) {}
        @objc func change(_ a: inout Int) {}
        @objc func later(_ a: @escaping () -> Void) {}
        @objc func wait(_ a: Int) async {}
      #if DEBUG
        @objc func debug(_ a: Int) {}
      #endif
      }
      """
    let text = translated(own, other).text
    for name in ["mine", "seen"] { #expect(text.contains("case \"\(name):\": ")) }
    for name in ["hidden", "inPrivate", "shared", "common", "change", "later", "wait", "debug"] {
      #expect(!text.contains("case \"\(name):\""))
    }
    #expect(text.contains("self.shown") && !text.contains("self.secret"))
  }

  @Test("Key-value coding calls the accessors that a class has written, and validation the methods for its keys")
  func keyValueCoding() {
    let result = translated(
      """
      class Person: NSManagedObject {
        @objc var initial: String? { name }
        @objc var status: Status { get { .a } set { raw = newValue.rawValue } }
        var hidden: Int { 1 }
        @objc static var shared: Int { 1 }
        @objc var stored = 1
        @objc func validateName(_ value: AutoreleasingUnsafeMutablePointer<AnyObject?>) throws {}
      }
      """)
    #expect(result.text.contains("case \"initial\": return keyValue(of: self.initial)"))
    #expect(result.text.contains("keyValue(value, as: Status.self) { self.status = value; return }"))
    #expect(result.text.contains("case \"name\": try validate(&value, with: self.validateName)"))
    for name in ["hidden", "shared", "stored"] { #expect(!result.text.contains("case \"\(name)\"")) }
  }

  @Test("Damaged sources are translated without a trap, and keep their lines", arguments: 0..<40)
  func damage(seed: UInt64) {
    let whole = Array(
      """
      #if os(iOS)
      import UIKit
      #elseif !canImport(ObjectiveC) && (DEBUG || swift(>=5))
      @objc(A) @objcMembers public class A<T>: B, C where T: D { @NSManaged var a, b: Set<X>?; @objc(x:) func f(_ a: Int) {}
      #endif
        @NSManaged public func addToItems(_ values: NSSet)
        let s = "a\\(f("x\\(1)", #"raw \\(y) "#)) \\" b", t = \"""
          multi \\(line { $0 }) " ""
          \""", r = /re"g[e]x/, k = #keyPath(A.b.c), `q` = Bundle.main.url(forResource: "x")
        override init(entity: E, insertInto: C?) { /* open /* nested */ */ } // end
      }
      """.utf8)
    var random = SeededGenerator(seed: seed)
    for _ in 0..<60 {
      var bytes = whole
      for _ in 0..<Int.random(in: 1...6, using: &random) {
        let place = Int.random(in: 0..<bytes.count, using: &random)
        switch Int.random(in: 0..<4, using: &random) {
        case 0: bytes.remove(at: place)
        case 1: bytes.insert(Array("\"(){}[]<>@#`\\/:,.\n\r".utf8).randomElement(using: &random) ?? 0, at: place)
        case 2: bytes.removeSubrange(place...)
        default: bytes[place] = UInt8.random(in: 0...255, using: &random)
        }
        if bytes.isEmpty { break }
      }
      let file = SourceFile(path: "A.swift", bytes: bytes)
      let result = Translator(files: [file], models: [Self.model], hasResources: true).translate(file)
      #expect(result.bytes.filter { $0 == 10 }.count == bytes.filter { $0 == 10 }.count)
      let port = Translator(files: [file], models: [Self.model], hasResources: true, purpose: .port).translate(file)
      #expect(port.bytes.count >= bytes.count / 2)
    }
  }

  @Test("A file without anything of Apple's stays as it is: the sources of this package")
  func ownSources() throws {
    let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent().appendingPathComponent("Sources/CoreDataPredicates")
    let paths = try FileManager.default.subpathsOfDirectory(atPath: root.path).filter { $0.hasSuffix(".swift") }
    #expect(paths.count > 5)
    for path in paths {
      let bytes = Array(try Data(contentsOf: root.appendingPathComponent(path)))
      let file = SourceFile(path: path, bytes: bytes)
      let result = Translator(files: [file], models: [], hasResources: true).translate(file)
      let expected = String(decoding: bytes, as: UTF8.self)
        .replacingOccurrences(of: "\nimport Foundation\n", with: "\nimport CoreData\n")
      #expect(String(decoding: result.bytes, as: UTF8.self) == expected)
      #expect(result.messages.isEmpty)
    }
  }
}
