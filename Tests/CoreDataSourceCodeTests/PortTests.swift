// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import CoreDataTestSupport
import Foundation
import SwiftSourceScanning
import Testing

@testable import CoreDataSourceCode

@Suite("Ported sources")
struct PortTests {
  private static let model: ModelDocument = {
    var person = EntityDocument(name: "Persons", className: "Person")
    person.attributes = [AttributeDocument(name: "name", kind: .string)]
    return ModelDocument(entities: [person])
  }()

  private func ported(_ text: String, hasResources: Bool = true) -> (text: String, messages: [SourceMessage]) {
    let file = SourceFile(path: "A.swift", bytes: Array(text.utf8))
    let result = Translator(files: [file], models: [Self.model], hasResources: hasResources, purpose: .port)
      .translate(file)
    return (String(decoding: result.bytes, as: UTF8.self), result.messages)
  }

  @Test(
    "Attributes for Objective-C are kept for Apple's systems, on lines of their own",
    arguments: [
      ("  @objc(WSPart) class Part {}\n", "  ⟨\n  @objc(WSPart)\n  ⟩\n  class Part {}\n"),
      ("@objc(A)\n@objcMembers\npublic class A {}\n", "⟨\n@objc(A)\n@objcMembers\n⟩\npublic class A {}\n"),
      ("\tpublic @objc func f() {}\n", "\t⟨\n\t@objc\n\t⟩\n\tpublic func f() {}\n"),
      ("@discardableResult @objc func f() {}\n", "@discardableResult \n⟨\n@objc\n⟩\nfunc f() {}\n"),
      ("class A { @objc var x: Int { 1 } }\n", "class A { \n⟨\n@objc\n⟩\nvar x: Int { 1 } }\n"),
      ("@objc // why\nfunc f() {}\n", "⟨\n@objc\n⟩\n// why\nfunc f() {}\n"),
      ("  @objc\r\n  func f() {}\r\n", "  ⟨\r\n  @objc\r\n  ⟩\r\n  func f() {}\r\n"),
      (
        "#if canImport(ObjectiveC)\n@objc\n#endif\nfunc f() {}\n",
        "#if canImport(ObjectiveC)\n@objc\n#endif\nfunc f() {}\n"
      ),
    ])
  func attributes(source: String, expected: String) {
    let wanted = expected.replacingOccurrences(of: "⟨", with: "#if canImport(ObjectiveC)")
      .replacingOccurrences(of: "⟩", with: "#endif")
    #expect(ported(source).text == wanted)
    #expect(ported(wanted).text == wanted)
  }

  @Test("Managed properties that stand together are kept together, with their comments; others get accessors")
  func properties() {
    let source = """
      extension Person {
          /// The name.
          @NSManaged public var name: String? // as in the passport
          @NSManaged var a, b: Int16

          // MARK: Others
          #if DEBUG
          @NSManaged var test: Bool
          #endif
          @available(*, deprecated) @NSManaged private(set) var `default`: Date!
          var own = 1
      }

      """
    #expect(
      ported(source).text == """
        extension Person {
            #if canImport(ObjectiveC)
            /// The name.
            @NSManaged public var name: String? // as in the passport
            @NSManaged var a, b: Int16
            #else
            public var name: String? {
                get { Self.managedProperty_name[self] }
                set { Self.managedProperty_name[self] = newValue }
            }
            private static let managedProperty_name = ManagedProperty<String?>("name")
            var a: Int16 {
                get { Self.managedProperty_a[self] }
                set { Self.managedProperty_a[self] = newValue }
            }
            private static let managedProperty_a = ManagedProperty<Int16>("a")
            var b: Int16 {
                get { Self.managedProperty_b[self] }
                set { Self.managedProperty_b[self] = newValue }
            }
            private static let managedProperty_b = ManagedProperty<Int16>("b")
            #endif

            // MARK: Others
            #if DEBUG
            #if canImport(ObjectiveC)
            @NSManaged var test: Bool
            #else
            var test: Bool {
                get { Self.managedProperty_test[self] }
                set { Self.managedProperty_test[self] = newValue }
            }
            private static let managedProperty_test = ManagedProperty<Bool>("test")
            #endif
            #endif
            #if canImport(ObjectiveC)
            @available(*, deprecated) @NSManaged private(set) var `default`: Date!
            #else
            @available(*, deprecated) private(set) var `default`: Date! {
                get { Self.managedProperty_default[self] }
                set { Self.managedProperty_default[self] = newValue }
            }
            private static let managedProperty_default = ManagedProperty<Date?>("default")
            #endif
            var own = 1
        }

        """)
  }

  @Test("Several declarations on one line, and a declaration that #if divides")
  func unusual() {
    let members = ported("extension P {\n@objcMembers @NSManaged var d: Date!\n}\n").text
    #expect(members.contains("#else\nvar d: Date! {") && ported(members).text == members, "\(members)")
    let line = ported("class P: NSManagedObject { @NSManaged var x: Int; @NSManaged var y: Int }\n").text
    #expect(line.contains("\n#if canImport(ObjectiveC)\n@NSManaged var x: Int; @NSManaged var y: Int\n#else\n"))
    #expect(line.hasSuffix("\n#endif\n }\n"))
    let divided = ported("extension P {\n@NSManaged\n#if DEBUG\npublic\n#endif\nvar x: Int\n}\n")
    #expect(divided.messages.map(\.text) == ["#if divides the declaration. Write it twice, once in each branch."])
    #expect(divided.text == "extension P {\n@NSManaged\n#if DEBUG\npublic\n#endif\nvar x: Int\n}\n")
    let nested = ported("extension P {\n@objc(addTo@NSManaged var a: Int\n)\n@NSManaged func addToB(_ value: B)\n}\n")
    #expect(nested.messages.map(\.text) == ["The attributes of the declaration contain another one."])
  }

  @Test(
    "What is written otherwise is written so that both kinds of systems take it",
    arguments: [
      ("let k = #keyPath(Person.name)", "let k = \"name\""),
      ("import Foundation\nlet x = 1", "import Foundation\nlet x = 1"),
      ("import Foundation\nlet x = UndoManager()", "import CoreData\nlet x = UndoManager()"),
      (
        "import Foundation\nimport CoreData\nlet x = UndoManager()",
        "import Foundation\nimport CoreData\nlet x = UndoManager()"
      ),
      ("Person.fetchRequest() as! NSFetchRequest<Person>", "NSFetchRequest<Person>(entityName: \"Persons\")"),
      ("x.fetchRequest() as? NSFetchRequest<Person>", "x.fetchRequest() =>? NSFetchRequest<Person>.self"),
      (
        "class A { override init(entity: E, insertInto c: C?) {} }",
        "class A { required override init(entity: E, insertInto c: C?) {} }"
      ),
      ("dynamic var x = 1", "dynamic var x = 1"),
      ("Bundle.main.url(forResource: a)", "Bundle.module.url(forResource: a)"),
    ])
  func forms(source: String, expected: String) {
    #expect(ported(source).text == expected)
    #expect(ported(expected).text == expected)
  }

  @Test("Outside a package Bundle.main is kept, and what cannot be ported is said")
  func remains() {
    #expect(ported("Bundle.main.url(forResource: a)", hasResources: false).text == "Bundle.main.url(forResource: a)")
    let missing = ported(
      "let s: NSSet = [a]\nautoreleasepool { f() }\nautoreleasepool { g() }\nlet f = ListFormatter()\n"
        + "extension Person { override func willSave() {} }\nc.addObserver(self, selector: #selector(g), name: n, object: o)"
    )
    #expect(
      missing.messages.map { "\($0.line) \($0.text.split(separator: " ").first ?? "")" } == [
        "1 An", "2 autoreleasepool", "4 ListFormatter", "6 #selector", "5 Without",
      ], "\(missing.messages)")
    #expect(ported("class ListFormatter {}\nlet f = ListFormatter()").messages.isEmpty)
    let name = ported(
      "k(NSStringFromSelector(#selector(getter: Person.name)))\nlet t = Foundation.ValueTransformer.self")
    #expect(name.text == "k(\"name\")\nlet t = ValueTransformer.self" && name.messages.isEmpty, "\(name)")
    let messages = ported("import UIKit\n#if canImport(AppKit)\nimport AppKit\n#endif\nf(#selector(A.b))\n").messages
    #expect(messages.map(\.line) == [1, 5])
    #expect(messages[0].text.contains("#if canImport(UIKit)"))
  }

  @Test("Members for other systems are added once, as their author would write them")
  func members() {
    let source = """
      class Policy: NSEntityMigrationPolicy {
        @objc func twice(_ n: NSNumber) -> NSNumber { n }
      }

      """
    let expected = """
      class Policy: NSEntityMigrationPolicy {
        #if canImport(ObjectiveC)
        @objc
        #endif
        func twice(_ n: NSNumber) -> NSNumber { n }

        #if !canImport(ObjectiveC)
        override func callFunction(_ name: String, arguments: [Any?]) throws -> Any? {
          switch name {
          case "twice:":
            if arguments.count == 1, let argument0 = arguments[0] as? NSNumber { return self.twice(argument0) }
          default:
            break
          }
          return try super.callFunction(name, arguments: arguments)
        }
        #endif
      }

      """
    #expect(ported(source).text == expected)
    #expect(ported(expected).text == expected)
  }

  @Test("A statement that observes by a selector is kept for Apple's systems, and written again for others")
  func observers() {
    let source = """
      class Screen {
        func begin() {
          NotificationCenter.default.addObserver(
            self, selector: #selector(didSave(_:)), name: name(#keyPath(Person.name)),
            object: nil)  // of the store
          let o = c.addObserver(self, selector: #selector(f), name: n, object: nil)
        }
      }

      """
    let expected = """
      class Screen {
        func begin() {
          #if canImport(ObjectiveC)
          NotificationCenter.default.addObserver(
            self, selector: #selector(didSave(_:)), name: name(#keyPath(Person.name)),
            object: nil)
          #else
          NotificationCenter.default.addObserver(
            self, selector: Screen.didSave(_:), name: name("name"),
            object: nil)  // of the store
          #endif
          let o = c.addObserver(self, selector: #selector(f), name: n, object: nil)
        }
      }

      """
    let result = ported(source)
    #expect(result.text == expected, "\(result.text)")
    #expect(result.messages.map(\.line) == [6])
    #expect(ported(expected).text == expected)
  }

  private func moved(_ texts: [String]) -> [String] {
    let files = texts.enumerated().map { SourceFile(path: "\($0).swift", bytes: Array($1.utf8)) }
    let moved = MovedOverrides.applied(to: files)
    let again = MovedOverrides.applied(to: moved)
    #expect(again.map(\.bytes) == moved.map(\.bytes))
    return moved.map { String(decoding: $0.bytes, as: UTF8.self) }
  }

  @Test("A member of an extension that overrides another moves into the class, with its comments, in any file")
  func overrides() {
    let extensions = """
      import CoreData

      public extension Order {
          var isNew: Bool { false } // stays

          /// Fills it.
          /* In a block. */
          @objc override func awakeFromInsert() {
              super.awakeFromInsert()
              text = \"""
                override func
                \"""
          } // done

          // MARK: Saving

          override class func entity<T>(_ t: T, _ u: Int...) -> T { t }; func last() {}
      }

      extension Order.Line { internal override var x: Int { get { 1 } set {} } }

      """
    let classes = "import CoreData\nclass Order: NSManagedObject {\n  var a = 1\n  class Line: NSManagedObject {}\n}\n"
    let result = moved([extensions, classes])
    #expect(
      result[1] == """
        import CoreData
        class Order: NSManagedObject {
          var a = 1
          class Line: NSManagedObject {
            internal override var x: Int { get { 1 } set {} }
          }

          /// Fills it.
          /* In a block. */
          public @objc override func awakeFromInsert() {
              super.awakeFromInsert()
              text = \"""
                override func
                \"""
          } // done

          public override class func entity<T>(_ t: T, _ u: Int...) -> T { t }
        }

        """, "\(result[1])")
    #expect(
      result[0] == """
        import CoreData

        public extension Order {
            var isNew: Bool { false } // stays

            // MARK: Saving

             func last() {}
        }

        extension Order.Line {  }

        """, "\(result[0])")
  }

  @Test("What is left of an extension begins and ends without a blank line")
  func blankLines() {
    let member = "  override func f() {}\n"
    #expect(
      moved(["class P {\n}\nextension P {\n\(member)\n  func g() {}\n\n\(member)}\n"]) == [
        "class P {\n\(member)\n\(member)}\nextension P {\n  func g() {}\n}\n"
      ])
  }

  @Test(
    "A member stays in its extension where the class or its file might not take it",
    arguments: [
      ["extension Order { override func f() {} }"],
      ["class Order {}\nclass Order {}\nextension Order { override func f() {} }"],
      ["#if DEBUG\nclass Order {}\n#endif\nextension Order { override func f() {} }"],
      ["class Order {}\n#if !os(iOS)\nextension Order { override func f() {} }\n#endif"],
      ["class Order {}\nextension Order {\n#if os(Linux)\noverride func f() {}\n#endif\n}"],
      ["class Order<T> {}\nextension Order where T == Int { override func f() {} }"],
      ["class Order {}\n@MainActor extension Order { override func f() {} }"],
      ["class Order {}", "private let x = 1\nextension Order { override func f() { x } }"],
      ["class Order {}", "import Other\nextension Order { override func f() {} }"],
      ["class Order {}\nextension Order { override var x: Int = 1 }"],
      ["func f() { class Order {} }\nextension Order { override func f() {} }"],
      ["class Order {}\nextension Order {} // override func f() {}\nlet s = \"override func f() {}\""],
    ])
  func overridesThatStay(texts: [String]) {
    #expect(moved(texts) == texts)
  }

  @Test("The names of classes are read back from the file that has them, and merged with new ones")
  func names() {
    let text = ObjectiveCNamesFile.text(["WSPart": "Part", "WSBolt": "Part.Bolt"], isPort: true)
    let file = SourceFile(path: "", bytes: Array(text.utf8))
    #expect(ObjectiveCNamesFile.names(in: file) == ["WSPart": "Part", "WSBolt": "Part.Bolt"])
    #expect(ObjectiveCNamesFile.names(in: SourceFile(path: "", bytes: Array("let a = [\"b\": C.self]".utf8))).isEmpty)
  }

  // MARK: An app

  private static let app: [URL] = {
    let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent().appendingPathComponent("Examples/Moved")
    let names = FileManager.default.enumerator(atPath: root.path)?.compactMap { $0 as? String } ?? []
    return names.sorted().filter { $0.hasSuffix(".swift") && ($0.contains("/Model/") || $0.contains("/App/")) }
      .map { root.appendingPathComponent($0) }
  }()

  @Test("For Apple's compiler an app's ported sources are what they were, and a second port changes nothing")
  func apple() throws {
    let files = try Self.app.map { SourceFile(path: $0.path, bytes: Array(try Data(contentsOf: $0))) }
    try #require(files.count > 20)
    let translator = Translator(files: files, models: [], hasResources: true, purpose: .port)
    let ported = files.map { SourceFile(path: $0.path, bytes: translator.translate($0).bytes) }
    let again = Translator(files: ported, models: [], hasResources: true, purpose: .port)
    var changed = 0
    for (old, new) in zip(files, ported) {
      #expect(again.translate(new).bytes == new.bytes, "\(old.path)")
      #expect(Self.plain(Self.appleWords(new.bytes)) == Self.plain(Self.appleWords(old.bytes)), "\(old.path)")
      if new.bytes != old.bytes { changed += 1 }
    }
    #expect(changed > 15)
  }

  /// The tokens that a compiler for Apple's systems sees; other conditions are tokens.
  private static func appleWords(_ bytes: [UInt8]) -> [String] {
    var result: [String] = []
    // For each `#if`, whether it is about Objective-C, and whether the branch is taken.
    var branches: [(isKnown: Bool, isTaken: Bool)] = []
    for token in SourceScanner.tokens(bytes) where token.kind != .comment {
      let text = String(decoding: bytes[token.range], as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
      if token.kind == .directive, text.hasPrefix("#if") {
        branches.append((text.hasSuffix("canImport(ObjectiveC)"), !text.contains("!")))
        if branches.last?.isKnown == true { continue }
      } else if token.kind == .directive, let last = branches.last, last.isKnown {
        if text == "#else" { branches[branches.count - 1].isTaken.toggle() }
        if text == "#endif" { branches.removeLast() }
        continue
      } else if token.kind == .directive, text == "#endif" {
        branches.removeLast()
      }
      if branches.allSatisfy({ !$0.isKnown || $0.isTaken }) { result.append(text) }
    }
    return result
  }

  /// The tokens without what a port writes in another way.
  private static func plain(_ words: [String]) -> String {
    var text = words.joined(separator: " ")
    let patterns: [(String, String)] = [
      (#"# (keyPath|selector) \( [A-Za-z. ]*(\( _ : \) )?\)"#, "•"), (#""[A-Za-z.]*:?""#, "•"),
      (#"Bundle \. main (\. url|\])"#, "Bundle . module $1"), ("import Foundation", "import CoreData"),
      (#"as \? (NSFetchRequest < \w+ >)"#, "= > ? $1 . self"), ("required override init", "override init"),
    ]
    for (pattern, new) in patterns {
      text = text.replacingOccurrences(of: pattern, with: new, options: .regularExpression)
    }
    return text
  }
}
