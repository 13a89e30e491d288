// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataModelFiles
import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreDataTesting

@Suite("Rehearsals that are no success")
struct RehearsalProblemsTests {
  private let directory: TemporaryDirectory
  private var folder: URL { directory.url }

  init() throws {
    directory = try TemporaryDirectory()
  }

  /// Versions `V1`, `V2` … of a model with one entity, by its attributes.
  private func model(_ versions: [[AttributeDocument]], current: Int? = nil) throws -> URL {
    let url = folder.appendingPathComponent("M.momd")
    let documents = versions.enumerated().map { position, attributes in
      var entity = EntityDocument(name: "Item")
      entity.attributes = [AttributeDocument(name: "name", kind: .string)] + attributes
      return ("V\(position + 1)", ModelDocument(entities: [entity]))
    }
    try ModelBundle.writeCompiled(documents, current: "V\(current ?? versions.count)", to: url)
    return url
  }

  /// An attribute that a migration refuses to add, since there is no value for it.
  private static let required = AttributeDocument(name: "pages", kind: .integer16, isOptional: false)
  private static let optional = AttributeDocument(name: "note", kind: .string)

  private func store(_ name: String, _ model: URL, _ version: String, rows: Int = 3) throws -> URL {
    let url = folder.appendingPathComponent(name)
    try withContext(.load(contentsOf: model, version: version), at: url) { context in
      for number in 0..<rows {
        NSEntityDescription.insertNewObject(forEntityName: "Item", into: context).setValue("\(number)", forKey: "name")
      }
      try context.save()
    }
    return url
  }

  /// What an expectation says that is not met; nil where it is met.
  private func failure(
    _ model: URL, _ source: MigrationRehearsal.Source = .everyVersion,
    expecting: ExpectedRefusals = []
  ) async throws -> String? {
    do {
      try await expectMigration(of: model, from: source, expecting: expecting)
      return nil
    } catch let failure as MigrationExpectationFailure {
      #expect(failure.localizedDescription == failure.description)
      return failure.description
    }
  }

  @Test("A version that no store with rows reaches is a failure, unless its refusal is expected")
  func unreached() async throws {
    let url = try model([[], [Self.required]])
    let text = try #require(try await failure(url))
    #expect(text.contains("No store of 'V1' with rows reached 'V2': 3 were refused."))
    #expect(text.contains("pages") && text.contains("expecting: .refusal(from: \"V1\")"))
    #expect(try await failure(url, expecting: .refusal(from: "V1")) == nil)
    #expect(try await failure(url, expecting: .refusal(from: "V1", to: "V2")) == nil)
    #expect(try await failure(url, expecting: [.refusal(from: "V1")]) == nil)
    let rehearsal = try MigrationRehearsal(modelsAt: url, expecting: .refusal(from: "V1"))
    #expect(rehearsal.isSuccess && rehearsal.cases.allSatisfy { $0.isExpected && $0.rows["Item"]?.before == 4 })
    #expect(throws: (any Error).self) { try MigrationRehearsal(modelsAt: url, expecting: .refusal(from: "V9")) }
  }

  @Test("Each version counts: one that is reached does not make up for another")
  func eachVersion() async throws {
    // The second version has the attribute with a default value, so that only the first is refused.
    var filled = Self.required
    filled.isOptional = true
    let url = try model([[], [filled], [Self.required]])
    let text = try #require(try await failure(url))
    // The stores of V2 with all values are migrated.
    #expect(text.contains("'V1'") && !text.contains("'V2' with rows"))
  }

  @Test("A refusal that is expected and does not happen is a failure")
  func missingRefusal() async throws {
    let url = try model([[], [Self.optional], [Self.optional, Self.optional.renamed("more")]])
    #expect(try await failure(url) == nil)
    let text = try #require(try await failure(url, expecting: .refusal(from: "V1")))
    #expect(text.contains("Stores of 'V1' were expected to be refused on the way to 'V3', and were not."))
    #expect(text.contains("3 of 3 stores were migrated."))
    let other = try #require(try await failure(url, expecting: .refusal(from: "V1", to: "V2")))
    #expect(other.contains("The rehearsal leads to 'V3'."))
    let none = try #require(try await failure(url, .versions(["V1"]), expecting: .refusal(from: "V2")))
    #expect(none.contains("No store of it was rehearsed."))
  }

  @Test("Each given store counts, and one that is refused is a failure")
  func given() async throws {
    let url = try model([[], [Self.optional], [Self.optional, Self.required]])
    let old = try store("Old.sqlite", url, "V1")
    let newest = try store("Newest.sqlite", url, "V3", rows: 0)
    let text = try #require(try await failure(url, .stores([newest, old])))
    #expect(text.contains("Old.sqlite (V1) was refused.") && text.contains("pages"))
    #expect(try await failure(url, .stores([newest, old]), expecting: .refusal(from: "V1")) == nil)
    let damaged = folder.appendingPathComponent("Damaged.sqlite")
    try Data(repeating: 7, count: 5000).write(to: damaged)
    #expect(try #require(try await failure(url, .stores([damaged]))).contains("Damaged.sqlite"))
  }

  @Test("Nothing rehearsed is a failure")
  func nothing() async throws {
    let url = try model([[], [Self.optional]])
    #expect(try #require(try await failure(url, .stores([]))).contains("no store was given"))
    #expect(try #require(try await failure(url, .versions([]))).contains("Nothing was rehearsed"))
    #expect(try #require(try await failure(url, .versions(["V2"]))).contains("have the version 'V2' already"))
    let current = try store("Current.sqlite", url, "V2")
    #expect(try #require(try await failure(url, .stores([current]))).contains("have the version 'V2' already"))
    let first = try model([[], [Self.optional]], current: 1)
    #expect(try #require(try await failure(first)).contains("no version before 'V1'"))
  }

  @Test("A version that cannot be read is a failure: its stores are not rehearsed")
  func unreadable() async throws {
    let url = try model([[], [Self.optional], [Self.optional, Self.optional.renamed("more")]])
    try Data("none".utf8).write(to: url.appendingPathComponent("V2.mom"))
    let text = try #require(try await failure(url))
    #expect(text.contains("'V2' cannot be read"))
  }

  @Test("A directory of mapping models without any is an error")
  func mappings() throws {
    let url = try model([[], [Self.optional]])
    let empty = folder.appendingPathComponent("Mappings")
    try FileManager.default.createDirectory(at: empty, withIntermediateDirectories: true)
    let error = try #require(throws: NSError.self) { try MigrationRehearsal(modelsAt: url, mappings: [empty]) }
    #expect(error.localizedFailureReason?.contains(empty.path) == true)
    #expect(error.localizedFailureReason?.contains(".cdm, .xcmappingmodel, .mapping") == true)
  }
}

extension AttributeDocument {
  fileprivate func renamed(_ name: String) -> AttributeDocument {
    var copy = self
    copy.name = name
    return copy
  }
}
