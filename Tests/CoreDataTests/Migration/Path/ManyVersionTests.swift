// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreData

@Suite("Models of many versions")
struct ManyVersionTests {
  private static let count = 30

  /// Thirty versions `M` to `M 30`; each adds an attribute to one of five entities.
  private static func versions() -> [ModelBundle.Version] {
    var document = ModelDocument()
    document.entities = (0..<5).map { EntityDocument(name: "Entity\($0)") }
    return (1...count).map { number in
      document.entities[number % 5].attributes.append(AttributeDocument(name: "value\(number)", kind: .string))
      return (number == 1 ? "M" : "M \(number)", document)
    }
  }

  /// Runs a body with a bundle of the versions, and a folder for a store.
  private func withBundle(_ form: String, _ body: (URL, TemporaryStore) throws -> Void) throws {
    let store = try TemporaryStore()
    let url = store.folder.appendingPathComponent("Many.\(form)")
    if form == "momd" {
      try ModelBundle.writeCompiled(Self.versions(), current: "M \(Self.count)", to: url)
    } else {
      try ModelBundle.writeSource(Self.versions(), current: "M \(Self.count)", to: url)
    }
    try body(url, store)
  }

  @Test("The version of a store is found wherever it is", arguments: ["xcdatamodeld", "momd"])
  func found(_ form: String) throws {
    try withBundle(form) { url, _ in
      for version in Self.versions() {
        let metadata: [String: Any] = [NSStoreModelVersionHashesKey: VersionHashes(version.document).entities]
        let known = try ModelVersions(contentsOf: url)
        #expect(known.version(fitting: metadata, configuration: nil)?.name == version.name)
      }
      let stranger: [String: Any] = [NSStoreModelVersionHashesKey: ["Entity0": Data(count: 32)]]
      #expect(try ModelVersions(contentsOf: url).version(fitting: stranger, configuration: nil) == nil)
    }
  }

  @Test("One step is planned without reading most of the versions", arguments: ["xcdatamodeld", "momd"])
  func fewRead(_ form: String) throws {
    try withBundle(form) { url, store in
      _ = try store.context(.load(contentsOf: url, version: "M 29"))
      try store.close()
      // A version that was looked at would be among the problems.
      for number in 3...20 {
        let file = url.appendingPathComponent(
          form == "momd" ? "M \(number).mom" : "M \(number).xcdatamodel/contents")
        try Data("broken".utf8).write(to: file)
      }
      let bundle = try ModelBundle(contentsOf: url)
      let known = try ModelVersions(bundle)
      let migration = try StoreMigration(storeAt: store.url, known: known, version: nil, allowsLoss: false)
      #expect(migration.steps.map(\.source) == ["M 29"])
      #expect(bundle.problemsSoFar.unreadable.isEmpty)
      #expect(known.names.count == Self.count)
      #expect(known.versions.count == Self.count - 18)
    }
  }

  @Test("A way over many versions goes through each of them", arguments: ["xcdatamodeld", "momd"])
  func allSteps(_ form: String) throws {
    try withBundle(form) { url, store in
      _ = try store.context(.load(contentsOf: url, version: "M"))
      try store.close()
      let migration = try StoreMigration(storeAt: store.url, modelsAt: url)
      #expect(migration.steps.map(\.destination) == Self.versions().dropFirst().map(\.name))
    }
  }

  @Test("Wrong hashes in VersionInfo.plist mislead nobody")
  func wrongNotes() throws {
    try withBundle("momd") { url, _ in
      let versions = Self.versions()
      let hashes = versions.map { VersionHashes($0.document).entities }
      // The notes of neighbours are exchanged.
      let notes = Dictionary(
        uniqueKeysWithValues: versions.indices.map { (versions[$0].name, hashes[($0 + 1) % versions.count]) })
      let plist = try PropertyListSerialization.data(
        fromPropertyList: ["NSManagedObjectModel_VersionHashes": notes], format: .binary, options: 0)
      try plist.write(to: url.appendingPathComponent("VersionInfo.plist"))
      let known = try ModelVersions(contentsOf: url)
      for position in [0, 12, 29] {
        let metadata: [String: Any] = [NSStoreModelVersionHashesKey: hashes[position]]
        #expect(known.version(fitting: metadata, configuration: nil)?.name == versions[position].name)
      }
    }
  }

  @Test("Of versions with equal hashes the one is found that the store's identifier names, far from the others too")
  func equalHashes() throws {
    let store = try TemporaryStore()
    let url = store.folder.appendingPathComponent("Many.xcdatamodeld")
    var versions = Self.versions()
    versions[3].document = versions[27].document
    versions[3].document.versionIdentifiers = ["early"]
    try ModelBundle.writeSource(versions, current: "M 30", to: url)
    var metadata: [String: Any] = [NSStoreModelVersionHashesKey: VersionHashes(versions[27].document).entities]
    #expect(try ModelVersions(contentsOf: url).version(fitting: metadata, configuration: nil)?.name == "M 28")
    metadata[NSStoreModelVersionIdentifiersKey] = ["early"]
    #expect(try ModelVersions(contentsOf: url).version(fitting: metadata, configuration: nil)?.name == "M 4")
  }

  @Test("Of neighbours with equal hashes the first is taken, unless the store's identifier names another")
  func equalNeighbours() throws {
    let store = try TemporaryStore()
    let url = store.folder.appendingPathComponent("Many.xcdatamodeld")
    var versions = Self.versions()
    versions[10].document = versions[9].document
    versions[10].document.versionIdentifiers = ["second"]
    try ModelBundle.writeSource(versions, current: "M 30", to: url)
    var metadata: [String: Any] = [NSStoreModelVersionHashesKey: VersionHashes(versions[9].document).entities]
    #expect(try ModelVersions(contentsOf: url).version(fitting: metadata, configuration: nil)?.name == "M 10")
    metadata[NSStoreModelVersionIdentifiersKey] = ["second"]
    #expect(try ModelVersions(contentsOf: url).version(fitting: metadata, configuration: nil)?.name == "M 11")
  }

  @Test("A version named alone is used with those beside it, though the mark of the current one cannot be read")
  func unreadableMark() throws {
    for (form, mark) in [("momd", "VersionInfo.plist"), ("xcdatamodeld", ".xccurrentversion")] {
      try withBundle(form) { url, store in
        _ = try store.context(.load(contentsOf: url, version: "M 28"))
        try store.close()
        try Data("no property list".utf8).write(to: url.appendingPathComponent(mark))
        let version = url.appendingPathComponent("M 30.\(form == "momd" ? "mom" : "xcdatamodel")")
        let migration = try StoreMigration(storeAt: store.url, modelsAt: version)
        #expect(migration.steps.map(\.source) == ["M 28", "M 29"])
      }
    }
  }

  @Test(
    "Where the versions beside one that was named cannot be read, the plan says so",
    .enabled(if: geteuid() != 0, "root reads all"))
  func unreadableFolder() throws {
    try withBundle("momd") { url, store in
      _ = try store.context(.load(contentsOf: url, version: "M 28"))
      try store.close()
      // What is in the folder can be opened by name, and not listed.
      try FileManager.default.setAttributes([.posixPermissions: 0o300], ofItemAtPath: url.path)
      defer {
        #expect(throws: Never.self) {
          try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: url.path)
        }
      }
      let version = url.appendingPathComponent("M 30.mom")
      let migration = try StoreMigration(storeAt: store.url, modelsAt: version)
      #expect(migration.explanation.contains { $0.hasPrefix("The versions in '\(url.path)' cannot be read.") })
    }
  }
}
