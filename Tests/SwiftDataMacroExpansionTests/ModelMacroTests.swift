// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import SwiftDataMacroExpansion

@Suite("@Model")
struct ModelMacroTests {
  /// What declarations of types and extensions begin with, if the compiler knows it.
  private let isolation = Isolation.unsafe.isEmpty ? "" : "nonisolated "

  @Test("A model gets backing data, metadata, an initializer and observation")
  func members() {
    let result = Expanding.members("@Model final class Trip {\n  var a: Int = 1\n  init() {}\n}")
    #expect(result.diagnostics.isEmpty)
    #expect(
      result.source == #"""
        @exclusivity(unchecked) private \#(Isolation.unsafe)var _$backingData: any SwiftData.BackingData<Trip>
          = Trip.createBackingData()

        nonisolated var persistentBackingData: any SwiftData.BackingData<Trip> {
          get { _$backingData }
          set { _$backingData = newValue }
        }

        \#(isolation)struct _SwiftDataNoType: Sendable {
          typealias Root = Trip
          init() {}
        }

        static nonisolated var schemaMetadata: [SwiftData.Schema.PropertyMetadata] {
          SwiftData._propertyRows(_$propertyRows)
        }

        private static func _$propertyRows() -> [SwiftData.Schema.PropertyMetadata] {
          [
            SwiftData.Schema.PropertyMetadata(name: "a", keypath: \Trip.a, defaultValue: 1, metadata: nil),
          ]
        }

        nonisolated required init(backingData: any SwiftData.BackingData<Trip>) {
          _a = _SwiftDataNoType()
          self.persistentBackingData = backingData
        }

        nonisolated final let _$observationRegistrar = Observation.ObservationRegistrar()

        nonisolated final var _observationRegistrar: Observation.ObservationRegistrar? {
          _$observationRegistrar
        }

        internal nonisolated func access<_Member>(keyPath: KeyPath<Trip, _Member>) {
          _$observationRegistrar.access(self, keyPath: keyPath)
        }

        internal nonisolated func withMutation<_Member, _Result>(
          keyPath: KeyPath<Trip, _Member>, _ mutation: () throws -> _Result
        ) rethrows -> _Result {
          try _$observationRegistrar.withMutation(of: self, keyPath: keyPath, mutation)
        }
        """#)
  }

  @Test("A subclass of a model adds to its superclass's metadata and keeps its values until there is backing data")
  func subclass() {
    let result = Expanding.members(
      "@Model class Flight: Trip {\n  var gate: Int\n  init() { gate = 1; super.init() }\n}", conformances: nil)
    #expect(
      result.source.hasPrefix(
        #"""
        private \#(Isolation.unsafe)var _$backingData = SwiftData._InitialValues<Flight>()

        nonisolated override var persistentBackingData:
          any SwiftData.BackingData<_SwiftDataNoType.Root>
        {
          get {
            _$backingData.take().apply(to: self)
            return super.persistentBackingData
          }
          set { super.persistentBackingData = newValue }
        }

        class nonisolated override var schemaMetadata: [SwiftData.Schema.PropertyMetadata] {
          SwiftData._propertyRows(_$propertyRows)
        }

        private static func _$propertyRows() -> [SwiftData.Schema.PropertyMetadata] {
          [
            SwiftData.Schema.PropertyMetadata(name: "gate", keypath: \Flight.gate, defaultValue: nil, metadata: nil),
          ]
        }

        nonisolated required init(backingData: any SwiftData.BackingData<_SwiftDataNoType.Root>) {
          _gate = _SwiftDataNoType()
          _$backingData = SwiftData._InitialValues()
          super.init(backingData: backingData)
        }
        """#))
    #expect(!result.source.contains("struct _SwiftDataNoType"))
    #expect(!result.source.contains("let _$observationRegistrar"))
  }

  @Test("A class whose protocols or superclass are no models is the root of a hierarchy")
  func root() {
    let root = Expanding.members("@Model class A: Codable, Named { init() {} }")
    #expect(root.source.contains("typealias Root = A"))
    let explicit = Expanding.members("@Model class A: SwiftData.PersistentModel { init() {} }", conformances: nil)
    #expect(explicit.source.contains("typealias Root = A"))
    #expect(Expanding.members("@Model class A { init() {} }", conformances: nil).source.contains("typealias Root = A"))
  }

  @Test(
    "Members are as visible as the class",
    arguments: [
      ("public final class", "public ", "public static ", "public "),
      ("final public class", "public ", "public static ", "public "),
      ("open class", "open ", "open class ", "public "),
      ("package class", "package ", "package class ", "package "),
      ("class", "\n", "\nclass ", "\n"),
      ("private class", "\n", "\nclass ", "\n"),
    ])
  func access(head: String, property: String, metadata: String, initializer: String) {
    let source = Expanding.members("@Model \(head) A { init() {} }").source
    #expect(source.contains("\(property)nonisolated var persistent"))
    #expect(source.contains("\(metadata)nonisolated var schema"))
    #expect(source.contains("\(initializer)nonisolated required init"))
    // A subclass in another module makes values of the type.
    if head.contains("public") || head.contains("open") { #expect(source.contains("  public init() {}")) }
  }

  @Test("A class in a public extension is public unless it says otherwise")
  func extensionAccess() {
    let around = ["public extension Schemas {}", "enum Other {}"]
    #expect(
      Expanding.members("@Model class A { init() {} }", around: around).source
        .contains("public nonisolated required init"))
    #expect(
      Expanding.members("@Model internal class A { init() {} }", around: around).source
        .contains("\nnonisolated required init"))
    #expect(
      Expanding.members("@Model class A { init() {} }", around: ["public enum Schemas {}"]).source
        .contains("\nnonisolated required init"))
  }

  @Test("An extension conforms to the protocols that are missing")
  func conformances() {
    func source(_ declaration: String, _ conformances: String?) -> String {
      MacroExpansion.expand(
        Expanding.request(
          "ModelMacro", role: "extension", declaration, conformances: conformances, extended: "Schemas.Trip")
      ).source
    }
    let declaration = "@Model class Trip {}"
    #expect(
      source(declaration, Expanding.missing)
        == "\(isolation)extension Schemas.Trip: SwiftData.PersistentModel, Observation.Observable {}")
    #expect(
      source(declaration, "struct Placeholder: PersistentModel {}")
        == "\(isolation)extension Schemas.Trip: SwiftData.PersistentModel {}")
    #expect(source(declaration, nil).isEmpty)
    #expect(source("@Model struct Trip {}", Expanding.missing).isEmpty)
    #expect(source("@Model nonisolated class Trip {}", Expanding.missing).hasPrefix("nonisolated extension"))
  }

  @Test(
    "Stored properties of objects become persisted",
    arguments: [
      "var a: Int", "var a = 1", "let a = UUID()", "@Attribute(.unique) var a: Int", "private(set) var a: Int = 1",
      "fileprivate var a: Int", "weak var a: Trip?", "var a: Int = 1 { didSet { print(1) } }",
      "var a: Int { willSet(value) { print(value) } }", "/// { comment\n  var `default`: Int", "var größe = 1.0",
      "@available(macOS 26, *) public var a: Int", "@SwiftData.Attribute var a: Int", "nonisolated var a: Int",
    ])
  func persisted(member: String) {
    #expect(Expanding.attribute(member) == "@_PersistedProperty")
    #expect(Expanding.attribute("\n  // comment\n  \(member) // after") == "@_PersistedProperty")
  }

  @Test(
    "Other members stay as they are",
    arguments: [
      "var a: Int { 1 }", "var a: Int { get { 1 } set {} }", "var a: Int {\n  // c\n  didSetUp() ? 1 : 2 }",
      "static var a = 1", "class var a: Int { 1 }", "static let a = 1", "@Transient var a = 1",
      "@SwiftData.Transient var a = 1", "func a() { var b = 1 }", "init() { let a = 1 }", "deinit {}",
      "subscript(a: Int) -> Int { 1 }", "class Inner { var a = 1 }", "enum Kind { case a }", "typealias A = Int",
      "#Unique<Trip>([\\.a])", "lazy var a = 1", "var a = 1, b = 2", "var (a, b) = (1, 2)",
      "@Attribute @Relationship var a: Int",
    ])
  func others(member: String) {
    #expect(Expanding.attribute(member).isEmpty)
  }

  @Test("Members of a structure stay as they are")
  func structure() {
    #expect(Expanding.attribute("var a = 1", around: "@Model struct Trip {}").isEmpty)
  }
}
