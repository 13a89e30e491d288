// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataSQLite
import CoreDataTerminal
import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreDataCommand

/// A row of the list of version hashes.
private struct KnownHash: Decodable {
  let model: String
  let entity: String
  let hash: String
}

@Suite("Commands over models and stores of other projects", .serialized)
struct FixtureCommandTests {
  /// What `model versions` writes of models, each asked for once.
  private struct KnownVersions {
    private let options: [String]
    private var runs: [String: CommandRun] = [:]

    init(_ options: String...) { self.options = options }

    mutating func run(_ path: String) -> CommandRun {
      if let run = runs[path] { return run }
      let run = CommandRun(["model", "versions", path, "--format", "json"] + options)
      runs[path] = run
      return run
    }
  }

  @Test(
    "model versions tells the hashes that Apple's tools computed",
    .enabled(if: Fixtures.isPresent, "The fixtures are not beside the repository"))
  func versionHashes() throws {
    let known = try JSONDecoder().decode(
      [KnownHash].self, from: Data(contentsOf: Fixtures.url("version-hashes.json")))
    var checked = 0
    var models = KnownVersions("--hashes")
    for (source, rows) in Dictionary(grouping: known, by: \.model) {
      // <bundle>.xcdatamodeld/<version>.xcdatamodel/contents, or a version alone
      let package = Fixtures.url(source).deletingLastPathComponent()
      let name = package.deletingPathExtension().lastPathComponent
      for path in [package.deletingLastPathComponent().path, package.path]
      where path.hasSuffix("xcdatamodeld") || path == package.path {
        let run = models.run(path)
        #expect(run.status == .done, "\(path): \(run.error)")
        let versions = try #require(try run.json["versions"] as? [[String: Any]])
        let version = try #require(versions.first { $0["name"] as? String == name }, "\(path)")
        let hashes = try #require(version["entities"] as? [String: String])
        for row in rows { #expect(hashes[row.entity] == row.hash, "\(path) \(row.entity)") }
        checked += path == package.path ? rows.count : 0
      }
    }
    #expect(checked == 207)
  }

  @Test(
    "store info and store export read every store, and leave every byte as it was",
    .enabled(if: Fixtures.isPresent, "The fixtures are not beside the repository"))
  func stores() throws {
    var rows = 0
    for url in Fixtures.stores {
      let name = Fixtures.name(of: url)
      let folder = url.deletingLastPathComponent().path
      let siblings = try FileManager.default.contentsOfDirectory(atPath: folder)
      let files = ["", "-wal", "-shm"].map { url.path + $0 }
      let before = files.map { FileManager.default.contents(atPath: $0) }
      let info = CommandRun("store", "info", url.path, "--format", "json", "--quiet")
      #expect(info.status == .done, "\(name): \(info.error)")
      let entities = try #require(try info.json["entities"] as? [[String: Any]])
      let count = entities.reduce(0) { $0 + ($1["rows"] as? Int ?? 0) }
      let export = CommandRun("store", "export", url.path, "--quiet")
      #expect(export.status == .done, "\(name): \(export.error)")
      #expect(try export.jsonLines.count == count, "\(name)")
      #expect(export.error.isEmpty)
      rows += count
      #expect(files.map { FileManager.default.contents(atPath: $0) } == before, "\(name)")
      #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == siblings, "\(name)")
    }
    #expect(Fixtures.stores.count == 41)
    #expect(rows > 4000)
  }

  @Test(
    "Every store that carries its model is read as before when its metadata are emptied; others by their tables or a named model",
    .enabled(if: Fixtures.isPresent, "The fixtures are not beside the repository"))
  func emptyMetadata() throws {
    var (derived, refused) = (0, 0)
    for url in Fixtures.stores {
      let name = Fixtures.name(of: url)
      let temporary = try Fixtures.copy(ofStore: url)
      let copy = temporary.url
      let info = try CommandRun("store", "info", copy.path, "--format", "json", "-q").json
      let rows = CommandRun("store", "export", copy.path, "-q").output
      let connection = try SQLiteConnection(url: copy, mode: .readWrite)
      try connection.execute("UPDATE Z_METADATA SET Z_PLIST = x''")
      let carriesModel =
        try connection.catalog().table(named: "Z_MODELCACHE") != nil
        && connection.scalar("SELECT Z_CONTENT FROM Z_MODELCACHE") != nil
      try connection.close()
      let again = CommandRun("store", "info", copy.path, "--format", "json")
      let export = CommandRun("store", "export", copy.path, "-q")
      if carriesModel {
        #expect(again.status == .done, "\(name): \(again.error)")
        #expect(again.error.contains("Z_METADATA.Z_PLIST is empty"), "\(name)")
        #expect(try again.json["checksum"] as? String == info["checksum"] as? String, "\(name)")
        #expect(export.output == rows, "\(name)")
        derived += 1
      } else {
        #expect(again.status == .done && again.error.contains("Z_PLIST is empty"), "\(name): \(again.error)")
        #expect(try again.json["checksum"] as? String == "", "\(name)")
        #expect(export.status == .done, "\(name): \(export.error)")
        #expect(export.output.split(separator: "\n").count == rows.split(separator: "\n").count, "\(name)")
        #expect(CommandRun("store", "verify", copy.path, "-q").status == .no, "\(name)")
        // There is no model to take from it, and none is made from its tables.
        let model = copy.path + ".xcdatamodel"
        let extraction = CommandRun("store", "extract-model", copy.path, "--output", model)
        #expect(extraction.status == .unreadableStore, "\(name): \(extraction.error)")
        #expect(!FileManager.default.fileExists(atPath: model), "\(name)")
        refused += 1
      }
    }
    #expect(derived == 23 && refused == 18)
  }

  @Test(
    "store match finds the version of every store whose model is there",
    .enabled(if: Fixtures.isPresent, "The fixtures are not beside the repository"))
  func matches() throws {
    var found = 0
    var models = KnownVersions()
    for url in Fixtures.stores {
      let project = Fixtures.name(of: url).prefix { $0 != "/" }
      let info = try CommandRun("store", "info", url.path, "--format", "json", "-q").json
      for bundle in Fixtures.modelBundles where Fixtures.name(of: bundle).hasPrefix(project) {
        let versions = models.run(bundle.path)
        // Some fixtures are unfinished states of a model, which is another suite's subject.
        guard versions.status == .done, let list = try versions.json["versions"] as? [[String: Any]] else { continue }
        let same = list.filter { $0["checksum"] as? String == info["checksum"] as? String }
        guard !same.isEmpty else { continue }
        let match = try CommandRun("store", "match", url.path, bundle.path, "--format", "json").json
        #expect(same.contains { $0["name"] as? String == match["version"] as? String }, "\(url.path) \(bundle.path)")
        let named = CommandRun("store", "export", url.path, "--model", bundle.path)
        #expect(named.status == .done, "\(url.path): \(named.error)")
        #expect(try named.jsonLines.count == CommandRun("store", "export", url.path, "-q").jsonLines.count)
        found += 1
        break
      }
    }
    #expect(found >= 20)
  }
}
