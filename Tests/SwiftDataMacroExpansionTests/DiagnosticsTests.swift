// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import SwiftDataMacroExpansion

@Suite("Errors and warnings of the macros")
struct DiagnosticsTests {
  @Test(
    "What cannot be persisted is reported at its name",
    arguments: [
      (
        "var a = 1, b = 2",
        "error at a: A persisted property needs a declaration of its own. Write a 'var' for each of 'a', 'b'"
      ),
      ("// ä\n  lazy var b: Int = 1", "error at b: The lazy property 'b' cannot be persisted. Mark it @Transient"),
      ("@Attribute @Relationship var c: B", "error at c: The property 'c' has @Attribute and @Relationship."),
      ("@Attribute(.unique) var d: Int { 1 }", "error at d: @Attribute has no effect: 'd' is computed,"),
      ("@Relationship static var e: Int = 1", "error at e: @Relationship has no effect: 'e' belongs to the type,"),
      ("@Transient @Attribute var f = 1", "error at f: @Attribute has no effect: 'f' is @Transient,"),
      ("@Transient var g: Int", "error at g: The transient property 'g' needs an initial value"),
      ("@Transient let h: Int?", "error at h: The transient property 'h' needs an initial value"),
      ("let j: Int", "warning at j: The constant 'j' can only be persisted with the rules of Swift 5."),
      ("var i = 1 { didSet {} }", "warning at i: The observers of 'i' are never called"),
    ])
  func problems(property: String, problem: String) throws {
    let found = Expanding.problems(property)
    #expect(found.count == 1)
    #expect(try #require(found.first).hasPrefix(problem))
  }

  @Test(
    "What can be persisted is not reported",
    arguments: [
      "var a: Int", "@Transient var a: Int?", "@Transient var a: Int!", "@Transient @Wrapper var a: Int",
      "@Transient lazy var a: Int = 1", "@Transient var a: Int { 1 }", "static var a = 1, b = 2",
      "var a: Int { didSet() }", "@Transient var a: () async throws -> Void = {}",
    ])
  func noProblems(property: String) {
    #expect(Expanding.problems(property).isEmpty)
  }

  @Test("A tuple pattern is reported")
  func tuple() {
    #expect(Expanding.problems("var (a, b) = (1, 2)").first?.contains("tuple pattern") == true)
  }

  @Test(
    "Only a class can be a model",
    arguments: [("struct", "a struct"), ("enum", "an enum"), ("actor", "an actor"), ("protocol", "a protocol")])
  func kinds(keyword: String, description: String) {
    let result = Expanding.members("/// Doc\n@Model \(keyword) Trip {}")
    #expect(result.source.isEmpty)
    #expect(
      result.diagnostics.map(\.message) == [
        "@Model can only be attached to a class, because models have an identity; 'Trip' is \(description)."
      ])
    #expect(result.diagnostics.first?.position.offset == 15)
  }

  @Test("A class without an initializer is told which properties to set")
  func initializer() {
    func message(_ members: String) -> String? {
      Expanding.members("@Model class Trip { \(members) }").diagnostics.first { $0.severity == "error" }?.message
    }
    #expect(
      message("var a: Int; var b: Int?; var c = 1; let d: Int") == "@Model requires an initializer to be provided for "
        + "'Trip'. It has to set 'a', 'd', which have no initial value.")
    #expect(message("var c = 1")?.hasSuffix("Every property has an initial value, so init() {} is enough.") == true)
    #expect(message("convenience init(x: Int) { self.init() }") == nil)
    #expect(message("class Inner { init() {} }") != nil)
  }

  @Test("Annotations belong on properties")
  func annotations() {
    func messages(_ declaration: String) -> [String] {
      MacroExpansion.expand(Expanding.request("TransientMacro", role: "peer", declaration)).diagnostics.map(\.message)
    }
    #expect(messages("@Transient func a() {}") == ["@Transient can only be attached to a property."])
    #expect(messages("@Transient struct A {}") == ["@Transient can only be attached to a property."])
    #expect(messages("@Transient var a = 1").isEmpty)
  }

  @Test("#Unique and #Index belong into models")
  func constraints() {
    func messages(_ around: [String]) -> [String] {
      MacroExpansion.expand(
        Expanding.request("UniqueMacro", role: "declaration", "#Unique<Trip>([\\.a])", around: around)
      ).diagnostics.map(\.message)
    }
    #expect(messages(["@Model final class Trip {}"]).isEmpty)
    #expect(messages([]) == ["#Unique has no effect here. Put it into the body of a class with @Model."])
    #expect(messages(["struct Trip {}"]).count == 1)
  }

  @Test("An actor gets a container and an executor")
  func modelActor() {
    let result = MacroExpansion.expand(
      Expanding.request("ModelActorMacro", role: "member", "@ModelActor public actor Importer {}"))
    #expect(
      result.source == """
        public nonisolated let modelExecutor: any SwiftData.ModelExecutor

        public nonisolated let modelContainer: SwiftData.ModelContainer

        public init(modelContainer: SwiftData.ModelContainer) {
          let modelContext = SwiftData.ModelContext(modelContainer)
          self.modelExecutor = SwiftData.DefaultSerialModelExecutor(modelContext: modelContext)
          self.modelContainer = modelContainer
        }
        """)
    let conformance = MacroExpansion.expand(
      Expanding.request(
        "ModelActorMacro", role: "extension", "@ModelActor actor Importer {}",
        conformances: "struct Placeholder: ModelActor {}", extended: "Importer"))
    #expect(conformance.source == "extension Importer: SwiftData.ModelActor {}")
    let wrong = MacroExpansion.expand(
      Expanding.request("ModelActorMacro", role: "member", "@ModelActor class Importer {}"))
    #expect(
      wrong.diagnostics.map(\.message) == ["@ModelActor can only be attached to an actor; 'Importer' is a class."])
  }
}
