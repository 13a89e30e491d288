// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataMigration
import CoreDataModelFiles
import CoreDataPredicates
import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreDataAnalysis

@Suite("Findings about models, and locks of versions")
struct ModelLintTests {
  private let directory: TemporaryDirectory
  private var folder: URL { directory.url }

  init() throws {
    directory = try TemporaryDirectory()
  }

  /// Order with note and total, and a customer with the inverse orders.
  private static func model(_ edit: (inout EntityDocument, inout EntityDocument) -> Void = { _, _ in }) -> ModelDocument
  {
    var order = EntityDocument(name: "Order")
    order.attributes = [
      AttributeDocument(name: "note", kind: .string), AttributeDocument(name: "total", kind: .double),
    ]
    order.relationships = [
      RelationshipDocument(name: "customer", destinationEntityName: "Customer", inverseName: "orders")
    ]
    var customer = EntityDocument(name: "Customer")
    customer.relationships = [
      RelationshipDocument(name: "orders", destinationEntityName: "Order", inverseName: "customer", isToMany: true)
    ]
    edit(&order, &customer)
    return ModelDocument(entities: [order, customer])
  }

  private static func versions(_ documents: ModelDocument...) -> ModelVersions {
    ModelVersions(
      documents.enumerated().map { position, document in
        ModelVersion(name: "V\(position + 1)", document: document, versionHashes: VersionHashes(document))
      })
  }

  private func codes(_ versions: ModelVersions, _ edit: (inout ModelLint.Options) -> Void = { _ in }) throws -> [String]
  {
    var options = ModelLint.Options()
    edit(&options)
    return try ModelLint(versions, options).entries.map {
      "\($0.finding.level.rawValue) \($0.finding.code.rawValue) \($0.version) \($0.finding.place)"
    }
  }

  @Test("A model that keeps the rules has no findings")
  func clean() throws {
    #expect(try codes(Self.versions(Self.model())).isEmpty)
    let longer = Self.model { order, _ in order.attributes.append(AttributeDocument(name: "date", kind: .date)) }
    #expect(try codes(Self.versions(Self.model(), longer)).isEmpty)
  }

  /// What breaks a rule, with the finding.
  struct Breach: Sendable {
    let expected: String
    let edit: @Sendable (inout EntityDocument, inout EntityDocument) -> Void

    init(_ expected: String, _ edit: @escaping @Sendable (inout EntityDocument, inout EntityDocument) -> Void) {
      self.expected = expected
      self.edit = edit
    }
  }

  @Test(
    "Each rule about a model by itself finds what breaks it, and nothing else",
    arguments: [
      Breach("warn MD501 V1 Order.customer") { order, customer in
        order.relationships[0].inverseName = nil
        customer.relationships = []
      },
      Breach("warn MD502 V1 Order.description") { order, _ in order.attributes[0].name = "description" },
      Breach("warn MD503 V1 Order.color") { order, _ in
        order.attributes.append(AttributeDocument(name: "color", kind: .transformable))
      },
      Breach("warn MD503 V1 Order.color") { order, _ in
        var color = AttributeDocument(name: "color", kind: .transformable)
        color.valueTransformerName = "NSKeyedUnarchiveFromData"
        order.attributes.append(color)
      },
      Breach("warn MD504 V1 Customer.orders") { order, customer in
        order.relationships[0].isOptional = false
        customer.relationships[0].isOptional = false
      },
    ])
  func rules(breach: Breach) throws {
    let (expected, edit) = (breach.expected, breach.edit)
    #expect(try codes(Self.versions(Self.model(edit))) == [expected])
    // The same with an allowance in the model.
    let allowed = Self.model { order, customer in
      edit(&order, &customer)
      let code = expected.split(separator: " ")[1]
      order.userInfo["coredata.allow"] = .string("\(code) on purpose")
      customer.userInfo["coredata.allow"] = .string("DS102 other; \(code) on purpose")
    }
    #expect(try codes(Self.versions(allowed)) == [expected.replacingOccurrences(of: "warn", with: "info")])
  }

  @Test("A secure transformer is none of the insecure ones")
  func transformers() throws {
    let model = Self.model { order, _ in
      var color = AttributeDocument(name: "color", kind: .transformable)
      color.valueTransformerName = "NSSecureUnarchiveFromData"
      order.attributes.append(color)
    }
    #expect(try codes(Self.versions(model)).isEmpty)
  }

  @Test("The last step is judged, or all of them, and levels can be changed or turned off")
  func steps() throws {
    let second = Self.model { order, _ in order.attributes.remove(at: 1) }
    let third = Self.model { order, _ in order.attributes = [] }
    let versions = Self.versions(Self.model(), second, third)
    #expect(try codes(versions) == ["error DS102 V3 Order.note"])
    let all = try codes(versions) { $0.includesAllSteps = true }
    #expect(all == ["error DS102 V2 Order.total", "error DS102 V3 Order.note"])
    #expect(try codes(versions) { $0.levels = [.attributeRemoved: .warning] } == ["warn DS102 V3 Order.note"])
    #expect(try codes(versions) { $0.levels = [.attributeRemoved: nil] }.isEmpty)
    let allowed = try codes(versions) { $0.allowances = [FindingAllowance(.attributeRemoved, entity: "Order")] }
    #expect(allowed == ["info DS102 V3 Order.note"])
  }

  @Test("A version without a path to the current one, and versions with equal hashes, are found")
  func paths() throws {
    let second = Self.model { order, _ in order.attributes[0].kind = .date }
    let found = try codes(Self.versions(Self.model(), second))
    #expect(found == ["error VR402 V1 ", "error CM303 V2 Order.note"])
    // From the first of three versions no path leads over the gap; from the last but one there is one.
    let third = Self.model { order, _ in
      order.attributes[0].kind = .date
      order.attributes.append(AttributeDocument(name: "more", kind: .string))
    }
    let gap = try codes(Self.versions(Self.model(), Self.model(), second, third))
    #expect(gap == ["error VR402 V1 ", "error VR402 V2 "])
    let same = Self.model { order, _ in order.attributes[1].defaultValue = .real(1) }
    #expect(try codes(Self.versions(Self.model(), same)) == ["warn VR404 V2 "])
  }

  @Test("A mapping model that fits no two versions is found; one that fits decides its step")
  func mappings() throws {
    let (old, new) = (Self.model(), Self.model { order, _ in order.attributes.remove(at: 0) })
    let versions = Self.versions(old, new)
    let mapping = try NSMappingModel.inferredMappingModel(
      forSourceModel: NSManagedObjectModel(document: old), destinationModel: NSManagedObjectModel(document: new))
    let url = folder.appendingPathComponent("M.cdm")
    try mapping.document.writeCompiled(to: url)
    #expect(try codes(versions) { $0.mappings = [url] } == ["error DS102 V2 Order.note"])
    let edited = Self.versions(old, Self.model { order, _ in order.attributes[0].name = "text" })
    let found = try codes(edited) { $0.mappings = [url] }
    #expect(found.contains { $0.hasPrefix("error VR403 V2") })
  }

  // MARK: Probable renames

  @Test(
    "A property that is lost beside one much like it is probably renamed; with a renaming identifier it is not asked")
  func renames() throws {
    func found(_ edit: @escaping (inout EntityDocument) -> Void) throws -> [String] {
      try codes(Self.versions(Self.model(), Self.model { order, _ in edit(&order) }))
    }
    #expect(
      try found { $0.attributes[0].name = "notes" } == ["error DS102 V2 Order.note", "warn CM301 V2 Order.notes"])
    let several = try found { order in
      order.attributes[0].name = "notes"
      order.attributes.append(AttributeDocument(name: "noteText", kind: .string))
    }
    #expect(several == ["error DS102 V2 Order.note", "warn CM301 V2 Order.notes"])
    #expect(try found { $0.attributes[0].name = "remark" } == ["error DS102 V2 Order.note"])
    let declared = try found {
      $0.attributes[0].name = "notes"
      $0.attributes[0].renamingIdentifier = "note"
    }
    #expect(declared.isEmpty)
    let typed = try found {
      $0.attributes[0].name = "notes"
      $0.attributes[0].kind = .date
    }
    #expect(typed == ["error DS102 V2 Order.note"])
    #expect(NameLikeness.of("note", "note") == 1 && NameLikeness.of("a", "b") == 0 && NameLikeness.of("", "x") == 0)
    #expect(NameLikeness.of("created", "createdAt") >= 0.7)
  }

  @Test("A renaming identifier that two properties have stops the migration")
  func ambiguous() throws {
    let new = Self.model { order, _ in
      order.attributes[0].name = "first"
      order.attributes[0].renamingIdentifier = "note"
      var second = AttributeDocument(name: "second", kind: .string)
      second.renamingIdentifier = "note"
      order.attributes.append(second)
    }
    let found = try codes(Self.versions(Self.model(), new))
    #expect(found.contains("error CM302 V2 Order.first"))
    #expect(found.contains("error VR402 V1 "))
  }

  // MARK: Locks

  private func lock(_ versions: ModelVersions, replacesEdited: Bool = false) throws -> (
    found: [String], added: [String]
  ) {
    let url = folder.appendingPathComponent("coredata.lock")
    let result = try VersionLock.lock(versions, in: url, model: "M.xcdatamodeld", replacesEdited: replacesEdited)
    return (result.findings.map { "\($0.finding.code.rawValue) \($0.version) \($0.finding.place)" }, result.added)
  }

  @Test(
    "Versions are locked once; an edited, missing or older one is found with its properties, and nothing is written")
  func lock() throws {
    let second = Self.model { order, _ in order.attributes.remove(at: 1) }
    #expect(try lock(Self.versions(Self.model())) == ([], ["V1"]))
    #expect(try lock(Self.versions(Self.model(), second)) == ([], ["V2"]))
    let url = folder.appendingPathComponent("coredata.lock")
    let written = try Data(contentsOf: url)
    #expect(try lock(Self.versions(Self.model(), second)) == ([], []))
    let edited = Self.model { order, customer in
      order.attributes[0].isOptional = false
      order.attributes.append(AttributeDocument(name: "date", kind: .date))
      customer.uniquenessConstraints = [["orders"]]
    }
    let found = try lock(Self.versions(edited, second))
    #expect(found.found == ["VR401 V1 Customer", "VR401 V1 Order.date", "VR401 V1 Order.note"])
    #expect(try Data(contentsOf: url) == written)
    #expect(try lock(Self.versions(edited)).found.last == "VR401 V2 ")
    let known = try #require(try VersionLock(contentsOf: url, model: "M.xcdatamodeld"))
    let versions = Self.versions(Self.model(), second)
    #expect(known.findings(in: versions).isEmpty && known.unlocked(in: versions).isEmpty)
    let back = known.findings(versions.versions, current: "V1")
    #expect(back.map { $0.finding.code } == [.currentMovedBack])
    #expect(try codes(versions) { $0.lock = known } == ["info DS102 V2 Order.total"])
    // Renamed files are the same versions.
    let renamed = ModelVersions([
      ModelVersion(name: "A", document: Self.model(), versionHashes: VersionHashes(Self.model())),
      ModelVersion(name: "B", document: second, versionHashes: VersionHashes(second)),
    ])
    #expect(known.findings(in: renamed).isEmpty)
    #expect(try lock(Self.versions(edited, second), replacesEdited: true).found.count == 3)
    #expect(try lock(Self.versions(edited, second)) == ([], []))
  }

  @Test("An entity whose parent was edited is not reported again")
  func inheritance() throws {
    func model(_ name: String) -> ModelDocument {
      var parent = EntityDocument(name: "Thing")
      parent.attributes = [AttributeDocument(name: name, kind: .string)]
      return ModelDocument(entities: [parent, EntityDocument(name: "Car", parentName: "Thing")])
    }
    _ = try lock(Self.versions(model("a")))
    #expect(try lock(Self.versions(model("b"))).found == ["VR401 V1 Thing.a", "VR401 V1 Thing.b"])
  }

  @Test("A version stays locked when it is renamed, and when the current one has moved back before it")
  func movedBack() throws {
    let second = Self.model { item, _ in item.attributes.removeLast() }
    let url = folder.appendingPathComponent("coredata.lock")
    _ = try lock(Self.versions(Self.model(), second))
    let renamed = ModelVersions(
      [("V1", Self.model()), ("V2b", second)].map {
        ModelVersion(name: $0, document: $1, versionHashes: VersionHashes($1))
      }, current: "V1")
    #expect(try lock(renamed).found.map { $0.prefix(5) } == ["VR405"])
    #expect(try lock(renamed, replacesEdited: true).found.count == 1)
    let known = try #require(try VersionLock(contentsOf: url, model: "M.xcdatamodeld"))
    #expect(known.versions.map(\.name) == ["V1", "V2b"])
    #expect(try VersionLock.formerName(in: url, of: renamed) == "M.xcdatamodeld")
  }

  @Test("Several models share a lock, and what is no lock is an error that says so")
  func files() throws {
    let url = folder.appendingPathComponent("coredata.lock")
    _ = try lock(Self.versions(Self.model()))
    _ = try VersionLock.lock(Self.versions(Self.model()), in: url, model: "N.momd", replacesEdited: false)
    #expect(try VersionLock(contentsOf: url, model: "M.xcdatamodeld") != nil)
    #expect(try VersionLock(contentsOf: url, model: "N.momd") != nil)
    #expect(try VersionLock(contentsOf: url, model: "O.momd") == nil)
    for text in ["", "{", "[]", "{\"format\":\"coredata.lock/2\",\"models\":{}}", "version 1"] {
      try Data(text.utf8).write(to: url)
      #expect(throws: ModelFileError.self) { try VersionLock(contentsOf: url, model: "M.xcdatamodeld") }
      #expect(throws: ModelFileError.self) { try lock(Self.versions(Self.model())) }
      #expect(try Data(contentsOf: url) == Data(text.utf8))
    }
    #expect(throws: ModelFileError.self) {
      try VersionLock(contentsOf: folder.appendingPathComponent("none"), model: "M.xcdatamodeld")
    }
  }
}
