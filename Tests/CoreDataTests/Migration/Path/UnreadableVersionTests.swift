// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreData

/// An attribute is called `note` in the first version, `summary` in the second and `synopsis` in the third: whoever does not
/// know the second does not find its values.
@Suite("Versions that cannot be read")
struct UnreadableVersionTests {
  private func versions(_ names: [String]) throws -> NoteVersions {
    func attributes(_ text: String, renamedFrom: String? = nil) -> [NSAttributeDescription] {
      [.make("name", .stringAttributeType), .make(text, .stringAttributeType, renamedFrom: renamedFrom)]
    }
    let versions = try NoteVersions([
      (names[0], attributes("note")), (names[1], attributes("summary", renamedFrom: "note")),
      (names[2], attributes("synopsis", renamedFrom: "summary")),
    ])
    let context = try versions.store.context(versions.model(names[0]))
    context.make("Note", ["name": "one", "note": "kept"])
    try context.save()
    try versions.store.close()
    return versions
  }

  private func spoil(_ name: String, of versions: NoteVersions) throws {
    try Data("nonsense".utf8).write(to: versions.url.appendingPathComponent("\(name).mom"))
  }

  @Test(
    "No inferred step passes over one: what it renames is kept",
    arguments: [["v1", "v2", "v3"], ["First", "Second", "Third"]])
  func between(_ names: [String]) throws {
    let versions = try versions(names)
    let file = versions.url.appendingPathComponent("\(names[1]).mom")
    let good = try Data(contentsOf: file)
    try spoil(names[1], of: versions)
    let error = try #require(throws: NSError.self) { try versions.open(names[2]) }
    #expect(error.domain == NSCocoaErrorDomain && error.code == CocoaError.Code.fileReadCorruptFile.rawValue)
    let reason = try #require(error.localizedFailureReason)
    #expect(
      reason.hasPrefix("The migration from '\(names[0])' to '\(names[2])' would skip the version '\(names[1])'"))
    #expect(reason.contains("\(names[1]).mom") && reason.contains(versions.store.url.path))
    #expect(try versions.version() == names[0])
    #expect(throws: NSError.self) { try StoreMigration(storeAt: versions.store.url, modelsAt: versions.url) }

    try good.write(to: file)
    #expect(try versions.open(names[2]) == ["one"])
    let context = try versions.store.context(versions.model(names[2]))
    #expect(try context.all("Note").map { $0["synopsis"] as? String } == ["kept"])
  }

  @Test("One that is not between the two ends does not matter, nor in a migration of one step")
  func elsewhere() throws {
    let last = try versions(["v1", "v2", "v3"])
    try spoil("v3", of: last)
    #expect(try last.open("v2") == ["one"])
    #expect(try last.version() == "v2")
    let single = try versions(["v1", "v2", "v3"])
    try spoil("v2", of: single)
    #expect(try single.open("v3", [MigrationOption.isProgressive: false]) == ["one"])
  }

  @Test("A mapping model may lead over one")
  func mapped() throws {
    let versions = try versions(["v1", "v2", "v3"])
    try versions.writeMapping("v1", "v3")
    try spoil("v2", of: versions)
    // The mapping model reads the names alone.
    #expect(try versions.open("v3", [MigrationOption.allowsLoss: true]) == ["one"])
  }
}
