// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreData

/// A folder with `Notes.xcdatamodeld`, of which `Notes 2` is the current version.
private final class NotesBundle {
  private let directory: TemporaryDirectory
  var folder: URL { directory.url }
  var url: URL { directory.file("Notes.xcdatamodeld") }

  init() throws {
    directory = try TemporaryDirectory()
    try write("Notes", attributes: #"<attribute name="text" optional="YES" attributeType="String"/>"#)
    try write(
      "Notes 2",
      attributes: #"<attribute name="text" attributeType="String" defaultValueString="none"/>"#
        + #"<attribute name="stars" attributeType="Integer 16" defaultValueString="3"/>"#)
    let current: [String: Any] = ["_XCCurrentVersionName": "Notes 2.xcdatamodel"]
    try PropertyListSerialization.data(fromPropertyList: current, format: .xml, options: 0)
      .write(to: url.appendingPathComponent(".xccurrentversion"))
  }

  func write(_ name: String, attributes: String) throws {
    let xml = """
      <?xml version="1.0" encoding="UTF-8" standalone="yes"?>
      <model type="com.apple.IDECoreDataModeler.DataModel" userDefinedModelVersionIdentifier="">
        <entity name="Note" representedClassName="Note">\(attributes)</entity>
      </model>
      """
    try directory.write(xml, to: "Notes.xcdatamodeld/\(name).xcdatamodel/contents")
  }
}

@Suite("Models from files")
struct ModelFileTests {
  @Test("A bundle gives its current version, and every version by name")
  func versions() throws {
    let bundle = try NotesBundle()
    let model = try #require(NSManagedObjectModel(contentsOf: bundle.url))
    let note = try #require(model.entitiesByName["Note"])
    #expect(note.managedObjectClassName == "Note")
    #expect(note.attributesByName["text"]?.defaultValue as? String == "none")
    #expect(note.attributesByName["stars"]?.defaultValue as? Int == 3)
    #expect(note.attributesByName["stars"]?.attributeType == .integer16AttributeType)
    let versions = try NSManagedObjectModel.versions(contentsOf: bundle.url)
    #expect(versions.map(\.name) == ["Notes", "Notes 2"])
    #expect(versions[1].model == model)
    let first = try NSManagedObjectModel.load(contentsOf: bundle.url, version: "Notes")
    #expect(first == versions[0].model)
    #expect(first.entityVersionHashesByName != model.entityVersionHashesByName)
    #expect(
      try NSManagedObjectModel.__checksumsForVersionedModel(at: bundle.url)
        == ["Notes": first.versionChecksum, "Notes 2": model.versionChecksum])
  }

  @Test("A missing file and a missing version say so")
  func missing() throws {
    let bundle = try NotesBundle()
    let nowhere = bundle.folder.appendingPathComponent("Nowhere.xcdatamodeld")
    #expect(NSManagedObjectModel(contentsOf: nowhere) == nil)
    let file = try #require(throws: NSError.self) { try NSManagedObjectModel.load(contentsOf: nowhere) }
    #expect(file.code == CocoaError.Code.fileReadNoSuchFile.rawValue)
    #expect(file.userInfo[NSFilePathErrorKey] as? String == nowhere.path)
    let version = try #require(throws: NSError.self) {
      try NSManagedObjectModel.load(contentsOf: bundle.url, version: "Notes 3")
    }
    #expect(version.code == NSCoreDataError)
    #expect(version.localizedFailureReason?.contains("Notes 3") == true)
  }

  @Test("A broken version says in which file")
  func broken() throws {
    let bundle = try NotesBundle()
    try bundle.write("Notes 2", attributes: "<attribute")
    #expect(NSManagedObjectModel(contentsOf: bundle.url) == nil)
    let error = try #require(throws: NSError.self) {
      try NSManagedObjectModel.load(contentsOf: bundle.url, version: "Notes 2")
    }
    #expect(error.code == CocoaError.Code.fileReadCorruptFile.rawValue)
    #expect((error.userInfo[NSFilePathErrorKey] as? String)?.contains("Notes 2.xcdatamodel") == true)
  }

  @Test("A broken version, or one that contradicts itself, does not keep the others from being used")
  func brokenBesideOthers() throws {
    for attributes in ["<attribute", "<attribute name=\"a\" attributeType=\"Colour\"/>"] {
      let bundle = try NotesBundle()
      let whole = try NSManagedObjectModel.versions(contentsOf: bundle.url)
      #expect(try NSManagedObjectModel.warnings(contentsOf: bundle.url).isEmpty)
      try bundle.write("Notes 2", attributes: attributes)
      let left = try NSManagedObjectModel.versions(contentsOf: bundle.url)
      #expect(whole.map(\.name) == ["Notes", "Notes 2"] && left.map(\.name) == ["Notes"])
      #expect(left[0].model == whole[0].model)
      let warnings = try NSManagedObjectModel.warnings(contentsOf: bundle.url)
      #expect(warnings.count == 1)
      #expect(warnings[0].hasPrefix("The version 'Notes 2' cannot be read and is left out. "))
    }
  }

  @Test("A default value of another type is taken as Foundation reads it, and told")
  func oddDefault() throws {
    let bundle = try NotesBundle()
    try bundle.write(
      "Notes 2", attributes: "<attribute name=\"a\" attributeType=\"Integer 32\" defaultValueString=\"NO\"/>")
    let model = try NSManagedObjectModel.load(contentsOf: bundle.url, version: "Notes 2")
    #expect(model.entities.compactMap { $0.attributesByName["a"]?.defaultValue as? Int } == [0])
    let warnings = try NSManagedObjectModel.warnings(contentsOf: bundle.url)
    #expect(
      warnings.count == 1 && warnings[0].contains("defaultValueString is \"NO\"")
        && warnings[0].contains("0 is used instead"))
  }

  @Test(
    "Every model source of the fixtures becomes a model with the same document and hashes",
    .enabled(if: Fixtures.isPresent, "Fixtures are not there."))
  func fixtures() throws {
    // A state of a model between two releases, with a relationship that leads nowhere yet.
    let unfinished = Fixtures.url(
      "artsy__energy/_history/8aa5eb7b/Resources/CoreData/ArtsyPartner.xcdatamodeld/ArtsyFolio v2.6.0.xcdatamodel")
    // Many sources are older states of others that did not change.
    var seen: Set<ModelDocument> = []
    for url in Fixtures.modelSources {
      let document = try ModelBundle(contentsOf: url).currentDocument()
      guard seen.insert(document).inserted else { continue }
      if url.path == unfinished.path {
        #expect(throws: NSError.self) { try NSManagedObjectModel(document: document) }
        continue
      }
      let model = try NSManagedObjectModel(document: document)
      #expect(model.document.isEquivalent(to: document), "\(Fixtures.name(of: url))")
      #expect(model.entityVersionHashesByName == VersionHashes(document).entities, "\(Fixtures.name(of: url))")
      let copy = try #require(model.copy() as? NSManagedObjectModel)
      #expect(copy == model, "\(Fixtures.name(of: url))")
      for entity in model { #expect(entity.versionHash.count == 32) }
    }
    #expect(seen.count > 100)
  }

  @Test(
    "Compiled models of the fixtures have the hashes that Xcode recorded",
    .enabled(if: Fixtures.isPresent, "Fixtures are not there."))
  func compiled() throws {
    var compared = 0
    for url in Fixtures.compiledBundles {
      let recorded = try ModelBundle(contentsOf: url).recordedHashes
      for (name, model) in try NSManagedObjectModel.versions(contentsOf: url) {
        guard let hashes = recorded[name] else { continue }
        #expect(model.entityVersionHashesByName == hashes, "\(Fixtures.name(of: url)) \(name)")
        let metadata: [String: Any] = ["NSStoreModelVersionHashes": hashes]
        #expect(model.isConfiguration(withName: nil, compatibleWithStoreMetadata: metadata))
        compared += 1
      }
    }
    #expect(compared > 5)
  }
}
