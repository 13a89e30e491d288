// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import CoreData

@Suite("References to models")
struct ModelReferenceTests {
  private let folder: ModelFolder
  private let first = ModelFolder.model(["Note": ["text"]])
  private let second = ModelFolder.model(["Note": ["text", "title"]])

  init() throws {
    folder = try ModelFolder()
    try folder.source("Notes.xcdatamodeld/Notes.xcdatamodel", ["Note": ["text"]])
    try folder.source("Notes.xcdatamodeld/Notes 2.xcdatamodel", ["Note": ["text", "title"]])
    try folder.mark("Notes 2", in: "Notes.xcdatamodeld")
  }

  private func check(
    _ reference: NSManagedObjectModelReference, is model: NSManagedObjectModel,
    sourceLocation: SourceLocation = #_sourceLocation
  ) throws {
    #expect(reference.versionChecksum == model.versionChecksum, sourceLocation: sourceLocation)
    let resolved = try reference.resolve()
    #expect(
      resolved.entityVersionHashesByName == model.entityVersionHashesByName, sourceLocation: sourceLocation)
    #expect(reference.resolvedModel === resolved, sourceLocation: sourceLocation)
  }

  private func reason(_ reference: NSManagedObjectModelReference) throws -> String {
    let error = try #require(throws: NSError.self) { try reference.resolve() }
    #expect(error.domain == NSCocoaErrorDomain)
    #expect(error.code == NSManagedObjectModelReferenceNotFoundError)
    return try #require(error.localizedFailureReason)
  }

  @Test("A given model")
  func model() throws {
    try check(.init(model: first, versionChecksum: first.versionChecksum), is: first)
    let wrong = try reason(.init(model: first, versionChecksum: second.versionChecksum))
    #expect(wrong.contains(first.versionChecksum) && wrong.contains(second.versionChecksum))
  }

  @Test("A file: of several versions the one with the checksum")
  func file() throws {
    let bundle = folder.url.appendingPathComponent("Notes.xcdatamodeld")
    for model in [first, second] {
      try check(.init(fileURL: bundle, versionChecksum: model.versionChecksum), is: model)
    }
    let single = bundle.appendingPathComponent("Notes.xcdatamodel")
    try check(.init(fileURL: single, versionChecksum: first.versionChecksum), is: first)
    #expect(try reason(.init(fileURL: single, versionChecksum: second.versionChecksum)).contains("'Notes'"))
    let nowhere = folder.url.appendingPathComponent("Nowhere.momd")
    #expect(try reason(.init(fileURL: nowhere, versionChecksum: "")).contains("Nowhere.momd"))
  }

  @Test("A name in a bundle: that of a version, or that of a model")
  func name() throws {
    let bundle = try folder.bundle
    try check(.init(name: "Notes 2", in: bundle, versionChecksum: second.versionChecksum), is: second)
    try check(.init(name: "Notes", in: bundle, versionChecksum: second.versionChecksum), is: second)
    try check(.init(name: "Notes", in: bundle, versionChecksum: first.versionChecksum), is: first)
    let changed = try reason(.init(name: "Notes 2", in: bundle, versionChecksum: first.versionChecksum))
    #expect(changed.contains(second.versionChecksum))
    let missing = try reason(.init(name: "Notes 3", in: bundle, versionChecksum: first.versionChecksum))
    #expect(missing.contains("Notes 3") && missing.contains(folder.url.lastPathComponent))
    let books = NSPersistentContainer(name: "Books").managedObjectModel
    try check(.init(name: "Books 2", in: nil, versionChecksum: books.versionChecksum), is: books)
  }

  @Test("Entity version hashes in a bundle")
  func hashes() throws {
    let bundle = try folder.bundle
    for model in [first, second] {
      let hashes = model.entityVersionHashesByName
      try check(.init(entityVersionHashes: hashes, in: bundle, versionChecksum: model.versionChecksum), is: model)
    }
    let other = ModelFolder.model(["Note": ["other"]])
    _ = try reason(
      .init(
        entityVersionHashes: other.entityVersionHashesByName, in: bundle, versionChecksum: other.versionChecksum))
    #expect(
      try reason(.init(entityVersionHashes: ["Note": 1], in: bundle, versionChecksum: "")).contains("must be data"))
  }

  @Test("The property that cannot throw traps, with the code and the reason")
  func trap() async throws {
    let result = try await #require(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let nowhere = URL(fileURLWithPath: "Nowhere.momd")
      _ = NSManagedObjectModelReference(fileURL: nowhere, versionChecksum: "x").resolvedModel
    }
    let words = String(decoding: result.standardErrorContent, as: UTF8.self)
    #expect(words.contains("134504") && words.contains("Nowhere.momd"), "\(words)")
  }
}
