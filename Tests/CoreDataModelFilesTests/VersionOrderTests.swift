// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreDataModelFiles

@Suite("The order of versions")
struct VersionOrderTests {
  private typealias Version = ModelBundle.Version

  /// A version of entities with optional texts: `Note(title body) Tag(name)`.
  private func version(_ name: String, _ entities: String...) -> Version {
    var document = ModelDocument()
    document.entities = entities.map { text in
      let parts = text.split { !$0.isLetter }.map(String.init)
      var entity = EntityDocument(name: parts[0])
      entity.attributes = parts.dropFirst().map { AttributeDocument(name: $0, kind: .string) }
      return entity
    }
    return (name, document)
  }

  /// The names of versions as a bundle of them has them in order.
  private func order(_ versions: [Version], current: String) throws -> [String] {
    let directory = try TemporaryDirectory()
    let (url, compiled) = (directory.file("M.xcdatamodeld"), directory.file("M.momd"))
    try ModelBundle.writeSource(versions, current: current, to: url)
    try ModelBundle.writeCompiled(versions, current: current, to: compiled)
    let found = try ModelBundle(contentsOf: url)
    #expect(found.versions.map(\.name) == found.names)
    #expect(try ModelBundle(contentsOf: compiled).names == found.names)
    return found.names
  }

  @Test("Names without numbers are put in the order in which the model grew")
  func words() throws {
    let versions = [
      version("Initial", "Note(title)"), version("Authors", "Note(title)", "Author(name)"),
      version("Dates", "Note(title date)", "Author(name)"), version("Final", "Note(title date)", "Author(name born)"),
    ]
    #expect(try order(versions, current: "Final") == ["Initial", "Authors", "Dates", "Final"])
    // Where the bundle names another version, those that have more than it come after it.
    #expect(try order(versions, current: "Dates") == ["Initial", "Authors", "Dates", "Final"])
  }

  @Test("The current version is the last, also where it has less than the one before")
  func current() throws {
    let versions = [
      version("Zero", "Note(title)"), version("Large", "Note(title body date)", "Tag(name)"),
      version("Clean", "Note(title body author)", "Tag(name)"),
    ]
    #expect(try order(versions, current: "Clean") == ["Zero", "Large", "Clean"])
    #expect(try order(versions, current: "Large") == ["Zero", "Clean", "Large"])
  }

  @Test("Names with numbers keep their order, and the others have their place among them")
  func mixture() throws {
    let versions = [
      version("Beta", "Note(title)"), version("V2", "Note(title body date)"), version("V 10", "Note(title body)"),
      version("Between", "Note(title body date place)"),
      version("V 58", "Note(title body date place time)"),
    ]
    // By what they hold, the second would be the third.
    #expect(try order(versions, current: "V 58") == ["Beta", "V2", "V 10", "Between", "V 58"])
  }

  @Test("Two series of names keep their orders, and follow one another as the models do")
  func twoSeries() throws {
    let versions = [
      version("New 1", "Note(title body date)"), version("New 2", "Note(title body date place)"),
      version("Old", "Note(title)"), version("Old 2", "Note(title body)"),
    ]
    #expect(try order(versions, current: "New 2") == ["Old", "Old 2", "New 1", "New 2"])
  }

  @Test("Versions with equal hashes are in the order of their names")
  func equal() throws {
    let versions = ["Pear", "Apple", "Fig"].map { version($0, "Note(title)") }
    #expect(try order(versions, current: "Pear") == ["Apple", "Fig", "Pear"])
    #expect(try order(versions, current: "Fig") == ["Apple", "Pear", "Fig"])
  }

  @Test("A renaming identifier tells which of two versions is the later one")
  func renamed() throws {
    var versions = [version("Blue", "Note(title)"), version("Amber", "Note(heading)")]
    versions[1].document.entities[0].attributes[0].renamingIdentifier = "title"
    let hashes = versions.map { (name: $0.name, document: $0.document, hashes: VersionHashes($0.document)) }
    #expect(VersionChain.order(hashes, current: nil) == [0, 1])
    #expect(VersionChain.order(hashes.reversed(), current: nil) == [1, 0])
  }

  @Test("Where the names tell the order, no version is read for it")
  func namesSuffice() throws {
    let directory = try TemporaryDirectory()
    let folder = directory.url
    func write(_ name: String, _ text: String) throws {
      try directory.write(text, to: "\(name).xcdatamodel/contents")
    }
    for name in ["M", "M 2"] { try write(name, "no XML") }
    try write("M 10", "<model><entity name=\"Note\"/></model>")
    let bundle = try ModelBundle(contentsOf: folder)
    #expect(bundle.names == ["M", "M 2", "M 10"])
    #expect(try bundle.document(named: "M 10").entities.map(\.name) == ["Note"])
    #expect(bundle.problemsSoFar.unreadable.isEmpty)
    #expect(bundle.unreadable.map(\.name) == ["M", "M 2"])
    // A name that is in no series makes all of them be read.
    try write("Final", "<model><entity name=\"Note\"/></model>")
    #expect(try ModelBundle(contentsOf: folder).problemsSoFar.unreadable.map(\.name) == ["M", "M 2"])
    #expect(try ModelBundle(contentsOf: folder).names == ["M", "M 2", "Final", "M 10"])
  }

  @Test(
    "Of the names that projects give to versions, those are series that a person would take for one",
    arguments: [
      (["Model", "Model 2", "Model 10"], true), (["V2", "V 58", "v10"], true), (["1.0", "1.0.1", "2"], true),
      (["Model", "Modelv2", "Modelv3"], true), (["1 start", "2 authors"], true), (["Only"], true),
      (["Model", "Final"], false), (["Model 2", "Shop 3"], false), (["A", "B"], false), (["V1", "V2", "Final"], false),
    ])
  func series(_ names: [String], _ isSeries: Bool) {
    #expect(VersionNames.suffice(names) == isSeries)
  }
}

@Suite("The order of versions of other projects", .enabled(if: Fixtures.isPresent, "no fixtures"))
struct VersionOrderFixtureTests {
  /// The bundles of several versions, each set of hashes once, in the order of their names.
  private static func bundles() throws -> [(url: URL, versions: [VersionChain.Version], current: String?)] {
    var seen: Set<[[String: Data]]> = []
    return (Fixtures.modelBundles + Fixtures.compiledBundles).compactMap { url in
      // Some bundles are there to be refused.
      guard let bundle = try? ModelBundle(contentsOf: url), bundle.versions.count > 1 else { return nil }
      var versions = bundle.versions.map { (name: $0.name, document: $0.document, hashes: VersionHashes($0.document)) }
      versions.sort { VersionNames.precede($0.name, $1.name) }
      if url.lastPathComponent == "ArtsyPartner.xcdatamodeld" {
        // The app was renamed: numbers begin anew.
        let older = versions.filter { $0.name.hasPrefix("ArtsyPartner") }
        versions = older + versions.filter { $0.name.hasPrefix("ArtsyFolio") }
      }
      guard seen.insert(versions.map(\.hashes.entities)).inserted else { return nil }
      return (url, versions, bundle.currentVersionName)
    }
  }

  @Test("With letters for names, in random order, most versions have the neighbours that their real names tell")
  func scrambled() throws {
    var (right, count, byLetters, bundleCount) = (0, 0, 0, 0)
    for (_, versions, current) in try Self.bundles() {
      var generator = SeededGenerator(seed: UInt64(versions.count))
      let shuffled = versions.shuffled(using: &generator)
      let letters = shuffled.indices.map { String(UnicodeScalar(UInt8(ascii: "A") + UInt8($0))) }
      let renamed = zip(shuffled, letters).map { (name: $1, document: $0.document, hashes: $0.hashes) }
      let mark = zip(shuffled, letters).first { $0.0.name == current }?.1
      let found = VersionChain.order(renamed, current: mark).map { shuffled[$0].name }
      let real = versions.map(\.name)
      let expected = Set(zip(real, real.dropFirst()).map { Pair(first: $0, second: $1) })
      func neighbours(_ names: [String]) -> Int {
        zip(names, names.dropFirst()).count { expected.contains(Pair(first: $0, second: $1)) }
      }
      right += neighbours(found)
      byLetters += neighbours(shuffled.map(\.name))
      count += expected.count
      bundleCount += 1
    }
    #expect((bundleCount, count) == (16, 48))
    #expect(right == 35)
    #expect(byLetters == 0)
  }

  private struct Pair: Hashable {
    let first: String
    let second: String
  }

  @Test("A bundle whose names are of two series begins with the older one")
  func renamedApp() throws {
    let bundle = try ModelBundle(contentsOf: Fixtures.url("artsy__energy/Resources/CoreData/ArtsyPartner.xcdatamodeld"))
    #expect(bundle.names.count == 19)
    #expect(
      bundle.names.prefix(6) == [
        "ArtsyPartner", "ArtsyPartner 2", "ArtsyPartner 3", "ArtsyPartner 4", "ArtsyPartner 5", "ArtsyFolio v1.4",
      ])
    #expect(bundle.names.last == bundle.currentVersionName)
  }
}
