// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataPredicates
import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreDataModelFiles

@Suite(
  "Compiled models of other projects", .enabled(if: Fixtures.isPresent, "The fixtures are not beside the repository"))
struct CompiledModelFixtureTests {
  /// Every store that carries a model, with what it says about it.
  static func caches() throws -> [(name: String, contents: StoreContents, archive: Data)] {
    try Fixtures.stores.compactMap { store in
      let contents = try StoreContents(copyOf: store)
      guard let cache = contents.modelCache, !cache.isEmpty else { return nil }
      return (Fixtures.name(of: store), contents, try RawDeflate.decompress(cache))
    }
  }

  @Test("The model that a store carries has the hashes, digest and checksum of the store's metadata")
  func cacheHashes() throws {
    let caches = try Self.caches()
    #expect(caches.count == 23)
    for (name, contents, archive) in caches {
      let document = try ModelCache.unarchive(archive)
      #expect(throws: Never.self, "\(name)") { try document.validate() }
      let hashes = VersionHashes(document)
      #expect(hashes.entities == contents.hashes, "\(name)")
      if let digest = contents.digest { #expect(VersionHashes.digest(of: hashes.entities) == digest, "\(name)") }
      if let checksum = contents.checksum { #expect(hashes.checksum == checksum, "\(name)") }
    }
  }

  @Test("Every compiled model has the hashes that its bundle notes")
  func compiledHashes() throws {
    #expect(Fixtures.compiledModels.count == 21)
    var compared = 0
    for folder in Set(Fixtures.compiledModels.map { $0.deletingLastPathComponent() }) {
      let bundle = try ModelBundle(contentsOf: folder)
      for version in bundle.versions {
        try version.document.validate()
        guard let recorded = bundle.recordedHashes[version.name] else { continue }
        #expect(VersionHashes(version.document).entities == recorded, "\(Fixtures.name(of: folder)) \(version.name)")
        compared += 1
      }
    }
    // The other ten lie in the fixtures without the VersionInfo.plist of their bundle.
    #expect(compared == 11)
  }

  /// Compilation puts the module in front of class names; all else must agree.
  @Test("A source and the model that a store of it carries agree")
  func sourcesAndCaches() throws {
    var sources: [[String: Data]: [ModelDocument]] = [:]
    for source in try distinctSources() {
      let document = try ModelBundle(contentsOf: source).currentDocument()
      sources[VersionHashes(document).entities, default: []].append(withoutModules(comparable(document)))
    }
    let archives =
      try Self.caches().map { ($0.name, $0.archive) }
      + Fixtures.compiledModels.map { (Fixtures.name(of: $0), try Data(contentsOf: $0)) }
    var equal = 0
    var different: Set<String> = []
    for (name, archive) in archives {
      let document = withoutModules(comparable(try ModelCache.unarchive(archive)))
      guard let candidates = sources[VersionHashes(document).entities] else { continue }
      if candidates.contains(document) {
        equal += 1
      } else {
        different.insert(name)
      }
    }
    #expect(equal == 26)
    let samples = "tinrobots__CoreDataPlus/Tests/Resources/SampleModel/Fixtures"
    #expect(
      different == [
        // The source says renamingIdentifier where Xcode says elementID, and Core Data's compiler passes over it.
        "kasianov-mikhail__scout/_history/e19406da/Tests/ScoutTests/Fixtures/Scout-v4.sqlite",
        // The class of a transformable attribute is missing from these, whatever the source says.
        "\(samples)/SampleModelV1.sqlite", "\(samples)/SampleModel.momd/SampleModel.mom",
        // The program that wrote this store took the classes out of its model.
        "\(samples)/SampleModelV2.sqlite",
      ])
  }

  /// One of each of the sources whose content is the same.
  private func distinctSources() throws -> [URL] {
    let groups = try Dictionary(grouping: Fixtures.modelSources) {
      try Data(contentsOf: $0.appendingPathComponent("contents"))
    }
    return groups.values.compactMap(\.first)
  }

  @Test("Reading what was written gives the same model")
  func roundTrip() throws {
    let archives =
      try Self.caches().map { ($0.name, $0.archive) }
      + Fixtures.compiledModels.map { (Fixtures.name(of: $0), try Data(contentsOf: $0)) }
    #expect(archives.count == 44)
    for (name, archive) in archives {
      let document = try ModelCache.unarchive(archive)
      #expect(try ModelCache.decode(ModelCache.encode(document)) == document, "\(name)")
    }
  }

  @Test("Every source can be written as a model cache and read again")
  func sourcesRoundTrip() throws {
    for source in try distinctSources() {
      let document = try ModelBundle(contentsOf: source).currentDocument()
      let decoded = try ModelCache.decode(ModelCache.encode(document))
      #expect(comparable(decoded) == comparable(document), "\(Fixtures.name(of: source))")
      #expect(VersionHashes(decoded).entities == VersionHashes(document).entities)
    }
  }

  /// Models made by programs instead of Xcode hold mutable classes and empty lists of constraints; ours never do.
  @Test("What we write has the classes, keys and values of what Core Data wrote for the same model")
  func structure() throws {
    for (name, _, archive) in try Self.caches() {
      let document = try ModelCache.unarchive(archive)
      let ours = try archiveShape(ModelCache.archive(document))
      var theirs = try archiveShape(archive)
      theirs["NSMutableString"] = nil
      if theirs.removeValue(forKey: "NSMutableSet") != nil { theirs["NSSet"] = ours["NSSet"] }
      if document.entities.allSatisfy(\.uniquenessConstraints.isEmpty) {
        theirs["NSEntityDescription"]?.remove("NSUniqueTuples")
        if ours["NSMutableArray"] == nil { theirs["NSMutableArray"] = nil }
      }
      for className in Set(ours.keys).union(theirs.keys) {
        #expect(ours[className] == theirs[className], "\(className) of \(name)")
      }
      let ourFacts = try facts(of: ModelCache.archive(document))
      for (subject, theirs) in try facts(of: archive) {
        #expect(ourFacts[subject] == theirs, "\(subject) of \(name)")
      }
    }
  }
}

/// What an archive says of every entity and property in texts and numbers, bits included; not what they refer to.
private func facts(of archive: Data) throws -> [String: [String: ArchiveValue]] {
  let archive = try KeyedArchive(archive)
  func scalars(_ object: ArchivedObject) throws -> [String: ArchiveValue] {
    var result: [String: ArchiveValue] = [:]
    for (key, value) in object.fields {
      guard let resolved = try archive.resolved(value) else {
        result[key] = .string("null")
        continue
      }
      if case .dictionary = resolved { continue }
      result[key] = resolved
    }
    return result
  }
  var result: [String: [String: ArchiveValue]] = [:]
  for (name, value) in try archive.root().entries("NSEntities") {
    guard let entity = try archive.object(value) else { continue }
    result[name] = try scalars(entity)
    result[name]?["NSRenamingIdentifier"] = try entity.string("NSRenamingIdentifier").map { .string($0) }
    // Some empty sets of sub-entities are null in Apple's.
    result[name]?["NSSubentities"] = nil
    for (property, value) in try entity.entries("NSProperties") {
      result["\(name).\(property)"] = try archive.object(value).map(scalars)
    }
  }
  return result
}

/// A document without the order of things, and without what sources alone hold.
func comparable(_ document: ModelDocument) -> ModelDocument {
  var result = document
  result.versionIdentifiers.sort()
  result.entities.sort { $0.name < $1.name }
  for position in result.entities.indices {
    var entity = result.entities[position]
    entity.codeGeneration = .manual
    entity.attributes = comparable(entity.attributes)
    entity.relationships.sort { $0.name < $1.name }
    for index in entity.relationships.indices {
      normalize(&entity.relationships[index].renamingIdentifier, entity.relationships[index].name)
    }
    entity.fetchedProperties.sort { $0.name < $1.name }
    for index in entity.fetchedProperties.indices { entity.fetchedProperties[index].request?.name = "" }
    normalize(&entity.renamingIdentifier, entity.name)
    entity.removeImpliedIndexes(hasImplied: true)
    result.entities[position] = entity
  }
  result.removeRepeatedProperties()
  return result
}

private func comparable(_ attributes: [AttributeDocument]) -> [AttributeDocument] {
  attributes.sorted { $0.name < $1.name }.map { attribute in
    var attribute = attribute
    attribute.usesScalarValueType = false
    attribute.compositeName = nil
    attribute.isIndexedBySpotlight = false
    attribute.allowsCloudEncryption = false
    attribute.elements = comparable(attribute.elements)
    normalize(&attribute.renamingIdentifier, attribute.name)
    if attribute.valueClassName == attribute.kind.valueClassName { attribute.valueClassName = nil }
    return attribute
  }
}

private func normalize(_ identifier: inout String?, _ name: String) {
  if identifier == name { identifier = nil }
}

/// A document whose class names lack the module.
private func withoutModules(_ document: ModelDocument) -> ModelDocument {
  var result = document
  for position in result.entities.indices {
    let name = result.entities[position].className
    result.entities[position].className = name?.split(separator: ".").last.map(String.init)
  }
  return result
}
