// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreData

@Suite("Finding models in bundles")
struct ModelSearchTests {
  @Test("Files come in the order of their names, bundle by bundle, each bundle once")
  func order() throws {
    let (first, second) = (try ModelFolder(), try ModelFolder())
    try first.source("b.xcdatamodel", ["B": ["text"]])
    try first.compiled("a.mom", ["A": ["text"]])
    try first.source("C.xcdatamodeld/C.xcdatamodel", ["C": ["text"]])
    try first.write("no model", to: "a.txt")
    try second.source("A.xcdatamodel", ["D": ["text"]])
    let files = try NSManagedObjectModel.files(inBundles: [second.bundle, first.bundle, second.bundle])
    #expect(files.map(\.lastPathComponent) == ["A.xcdatamodel", "C.xcdatamodeld", "a.mom", "b.xcdatamodel"])
    let merged = NSManagedObjectModel.mergedModel(from: [try second.bundle, try first.bundle])
    #expect(merged.map { Set($0.entitiesByName.keys) } == ["A", "B", "C", "D"])
  }

  @Test("Of one name, the compiled form is the model, in whatever order the files are listed")
  func compiledFirst() throws {
    let folder = try ModelFolder()
    try folder.source("Notes.xcdatamodeld/Notes.xcdatamodel", ["Note": ["source"]])
    try folder.source("Notes.xcdatamodel", ["Note": ["single"]])
    #expect(ModelFolder.content(of: .mergedModel(from: [try folder.bundle])) == ["Note": ["source"]])
    try folder.compiled("Notes.mom", ["Note": ["compiled"]])
    #expect(ModelFolder.content(of: .mergedModel(from: [try folder.bundle])) == ["Note": ["compiled"]])
    try folder.compiled("Notes.momd/Notes.mom", ["Note": ["bundled"]])
    #expect(ModelFolder.content(of: .mergedModel(from: [try folder.bundle])) == ["Note": ["bundled"]])
    #expect(ModelFolder.content(of: try .load(named: "Notes", fromBundles: [folder.bundle])) == ["Note": ["bundled"]])
  }

  @Test("Mapping models are found in the same way")
  func mappingModels() throws {
    let folder = try ModelFolder()
    try folder.write("", to: "1to2.cdm")
    try folder.write("", to: "1to2.xcmappingmodel/xcmapping.xml")
    try folder.write("", to: "0to1.xcmappingmodel/xcmapping.xml")
    let search = try ModelSearch(bundles: [folder.bundle])
    #expect(try search.mappingModels().map(\.lastPathComponent) == ["0to1.xcmappingmodel", "1to2.cdm"])
    #expect(try search.models().isEmpty)
  }

  @Test("A bundle without models gives none, and the reason names the place")
  func none() throws {
    let folder = try ModelFolder()
    let bundle = try folder.bundle
    #expect(NSManagedObjectModel.mergedModel(from: [bundle]) == nil)
    #expect(NSManagedObjectModel.mergedModel(from: []) == nil)
    let error = try #require(throws: NSError.self) { try NSManagedObjectModel.load(fromBundles: [bundle]) }
    #expect(error.code == CocoaError.Code.fileReadNoSuchFile.rawValue)
    #expect(error.localizedFailureReason?.contains(folder.url.lastPathComponent) == true)
  }

  @Test("A file that cannot be read makes no half a model, and the reason names the file")
  func unreadable() throws {
    let folder = try ModelFolder()
    try folder.source("Good.xcdatamodel", ["Note": ["text"]])
    try folder.write("bplist00 and no more", to: "Broken.mom")
    let bundle = try folder.bundle
    #expect(NSManagedObjectModel.mergedModel(from: [bundle]) == nil)
    let error = try #require(throws: NSError.self) { try NSManagedObjectModel.load(fromBundles: [bundle]) }
    #expect(error.code == CocoaError.Code.fileReadCorruptFile.rawValue)
    #expect((error.userInfo[NSFilePathErrorKey] as? String)?.hasSuffix("Broken.mom") == true)
  }

  @Test("For a store's metadata, a version that is not current is found, and broken files beside it do no harm")
  func metadata() throws {
    let folder = try ModelFolder()
    try folder.source("Notes.xcdatamodeld/Notes.xcdatamodel", ["Note": ["text"]])
    try folder.source("Notes.xcdatamodeld/Notes 2.xcdatamodel", ["Note": ["text", "title"]])
    try folder.mark("Notes 2", in: "Notes.xcdatamodeld")
    try folder.write("nothing", to: "Broken.mom")
    let old = ModelFolder.model(["Note": ["text"]])
    let metadata: [String: Any] = [NSStoreModelVersionHashesKey: old.entityVersionHashesByName]
    let bundle = try folder.bundle
    let found = NSManagedObjectModel.mergedModel(from: [bundle], forStoreMetadata: metadata)
    #expect(ModelFolder.content(of: found) == ["Note": ["text"]])
    let strange = ModelFolder.model(["Note": ["strange"]]).entityVersionHashesByName
    let other: [String: Any] = [NSStoreModelVersionHashesKey: strange]
    #expect(NSManagedObjectModel.mergedModel(from: [bundle], forStoreMetadata: other) == nil)
    let error = try #require(throws: NSError.self) {
      try NSManagedObjectModel.load(fromBundles: [bundle], forStoreMetadata: other)
    }
    #expect(error.code == NSMigrationMissingSourceModelError)
    let reason = try #require(error.localizedFailureReason)
    #expect(reason.contains("2 model versions"))
    #expect(reason.contains("'Note'"))
    #expect(reason.contains("Broken.mom"))
  }

  @Test("Without bundles, the resource bundles beside the executable are searched")
  func program() throws {
    let found = try NSManagedObjectModel.files(inBundles: nil).map(\.lastPathComponent)
    #expect(found.contains("Books.xcdatamodeld"))
    #expect(found.contains("Readers.xcdatamodeld"))
    #expect(
      try NSManagedObjectModel.files(inBundles: [.module]).map(\.lastPathComponent)
        == ["Books.xcdatamodeld", "Readers.xcdatamodeld"])
  }
}

@Suite("Containers that find their model")
struct ContainerFindingTests {
  @Test("The model of the container's name is found among the resources of the tests, in its current version")
  func found() throws {
    let container = NSPersistentContainer(name: "Books")
    #expect(ModelFolder.content(of: container.managedObjectModel) == ["Book": ["name", "pages"]])
    #expect(container.persistentStoreDescriptions.first?.url?.lastPathComponent == "Books.sqlite")
  }

  @Test("A name that is not found traps, with the places that were searched and the models that are there")
  func missing() async throws {
    let result = try await #require(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      _ = NSPersistentContainer(name: "Boks")
    }
    let words = String(decoding: result.standardErrorContent, as: UTF8.self)
    #expect(words.contains("There is no model named 'Boks'"), "\(words)")
    #expect(words.contains("OpenCoreData_CoreDataTests.resources"), "\(words)")
    #expect(words.contains("'Books.xcdatamodeld'"), "\(words)")
  }

  @Test("The default folder has both spellings, and a subclass changes both")
  func directory() {
    final class Container: NSPersistentContainer, @unchecked Sendable {
      override class func defaultDirectoryURL() -> URL { URL(fileURLWithPath: "/nowhere") }
    }
    #expect(NSPersistentContainer.defaultDirectoryURL == NSPersistentContainer.defaultDirectoryURL())
    #expect(Container.defaultDirectoryURL.path == "/nowhere")
  }
}
