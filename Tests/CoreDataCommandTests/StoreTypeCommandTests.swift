// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataTestSupport
import Foundation
import Testing

@Suite(
  "Creating and restoring stores of every type",
  .enabled(if: ProgramShelf.program.isPresent, "The program was not built"))
struct StoreTypeCommandTests {
  private let shelf: ProgramShelf

  init() throws {
    shelf = try ProgramShelf()
  }

  private func bytes(_ path: String) throws -> Data { try Data(contentsOf: URL(fileURLWithPath: path)) }

  /// Makes an XML or binary store with the objects of the shelf.
  private func makeFile(_ type: String, _ name: String = "Books") throws -> String {
    let path = shelf.path("\(name).\(type)")
    let run = try shelf.run("store", "copy", shelf.store, path, "--type", type, "-q")
    try #require(run.status == 0, "\(run.text)")
    return path
  }

  private func damage(_ path: String) throws {
    let whole = try bytes(path)
    try whole.prefix(whole.count / 2).write(to: URL(fileURLWithPath: path))
  }

  @Test(
    "The type of a new store follows from its name, unless --type says otherwise",
    arguments: [
      ("A.xml", nil, "XML"), ("A.binary", nil, "Binary"), ("A.XML", nil, "XML"), ("A.sqlite", nil, "SQLite"),
      ("A.store", nil, "SQLite"), ("A.store", "xml", "XML"), ("A.store", "binary", "Binary"),
      ("A.xml", "sqlite", "SQLite"),
    ] as [(String, String?, String)])
  func create(name: String, type: String?, kind: String) throws {
    let path = shelf.path(name)
    let options = type.map { ["--type", $0] } ?? []
    let run = try shelf.run(["store", "create", path, shelf.model, "--format", "json"] + options)
    #expect(run.status == 0 && run.output.contains("\"type\": \"\(kind.lowercased())\""), "\(run.text)")
    let info = try shelf.run("store", "info", path, "--model", shelf.model)
    #expect(info.status == 0 && info.output.contains(kind), "\(info.text)")
    // It can be filled and read.
    try shelf.load(ProgramShelf.rows, into: path, "--model", shelf.model)
    let count = try shelf.run("store", "query", path, "Book", "--count", "--model", shelf.model)
    #expect(count.output == "3\n", "\(count.text)")
    let before = try bytes(path)
    let again = try shelf.run(["store", "create", path, shelf.model] + options)
    #expect(again.status == 6 && again.error.contains("already exists"), "\(again.text)")
    #expect(try bytes(path) == before)
  }

  @Test("An XML or binary store is restored from a backup, and what it was is kept", arguments: ["xml", "binary"])
  func restore(type: String) throws {
    let store = try makeFile(type)
    let original = try bytes(store)
    let set = try shelf.run("store", "set", store, "Author/1", "name=Zoe", "--model", shelf.model)
    #expect(set.status == 0 && shelf.directory.exists("Books~.\(type)"), "\(set.text)")
    let changed = try bytes(store)
    try #require(changed != original)
    let run = try shelf.run("migrate", "restore", store, shelf.path("Books~.\(type)"))
    #expect(run.status == 0 && run.output.contains("Kept    \(shelf.path("Books~2.\(type)"))"), "\(run.text)")
    #expect(try bytes(store) == original && bytes(shelf.path("Books~2.\(type)")) == changed)
    // A damaged store is kept too, and one that is missing is made.
    try damage(store)
    let damaged = try bytes(store)
    #expect(try shelf.run("migrate", "restore", store, shelf.path("Books~.\(type)")).status == 0)
    #expect(try bytes(store) == original && bytes(shelf.path("Books~3.\(type)")) == damaged)
    try FileManager.default.removeItem(atPath: store)
    #expect(try shelf.run("migrate", "restore", store, shelf.path("Books~.\(type)")).status == 0)
    #expect(try bytes(store) == original)
  }

  @Test(
    "A backup that is damaged or of another type is refused, and the store stays as it was",
    arguments: ["xml", "binary"])
  func refusedRestore(type: String) throws {
    let store = try makeFile(type)
    let (before, files) = (try bytes(store), try shelf.directory.files())
    for (target, backup) in [(store, shelf.store), (shelf.store, store)] {
      let kept = try bytes(target)
      let run = try shelf.run("migrate", "restore", target, backup)
      #expect(run.status == 4 && run.error.contains("Nothing was changed."), "\(run.text)")
      #expect(try bytes(target) == kept)
    }
    #expect(try shelf.directory.files() == files)
    let backup = try makeFile(type, "Bad")
    try damage(backup)
    let run = try shelf.run("migrate", "restore", store, backup)
    #expect(run.status == 4 && run.error.contains("The backup Bad.\(type)"), "\(run.text)")
    let none = try shelf.run("migrate", "restore", store, shelf.path("None.\(type)"))
    #expect(none.status == 4 && none.error.contains("There is no file"), "\(none.text)")
    #expect(try bytes(store) == before)
  }

  @Test(
    "Recovery has nothing to do for a whole XML or binary store, and refuses a damaged one",
    arguments: ["xml", "binary"])
  func recover(type: String) throws {
    let store = try makeFile(type)
    #expect(try shelf.run("migrate", "recover", store).status == 0)
    let before = try bytes(store)
    let aside = try shelf.run("migrate", "recover", store, "--set-aside", "--model", shelf.model)
    #expect(aside.status == 2 && aside.error.contains("would replace it by a SQLite store"), "\(aside.text)")
    #expect(aside.error.contains("--type \(type)"), "\(aside.text)")
    #expect(try bytes(store) == before && !shelf.directory.exists("Incompatible"))
    try FileManager.default.copyItem(atPath: store, toPath: shelf.path("Books~.\(type)"))
    try damage(store)
    let damaged = try bytes(store)
    for options in [[], ["--inspect"], ["--set-aside", "--model", shelf.model]] {
      let run = try shelf.run(["migrate", "recover", store] + options)
      #expect(run.status == 4 && run.error.contains("cannot be recovered. Nothing was changed."), "\(run.text)")
      #expect(run.error.contains("coredata migrate restore") && run.error.contains("Books~.\(type)"), "\(run.text)")
    }
    #expect(try bytes(store) == damaged)
  }
}
