// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataTestSupport
import Foundation
import Testing

@Suite(
  "An import that runs out of space", .enabled(if: ProgramShelf.program.isPresent, "The program was not built"))
struct FullDiskImportTests {
  private let shelf: ProgramShelf
  private static let rowCount = 4_000

  init() throws {
    shelf = try ProgramShelf()
    let rows = (1...Self.rowCount).map { "Title number \($0) of many that is long enough to fill pages,\($0)\n" }
    try shelf.directory.write("title,pages\n" + rows.joined(), to: "many.csv")
  }

  @Test(
    "The store keeps its objects, nothing stays beside it, and the error says what to do",
    arguments: ["sqlite", "xml", "binary"],
    [true, false])
  func full(type: String, hasBackup: Bool) throws {
    var store = shelf.store
    if type != "sqlite" {
      store = shelf.path("Books.\(type)")
      let copy = try shelf.run("store", "copy", shelf.store, store, "--type", type, "-q")
      try #require(copy.status == 0, "\(copy.text)")
    }
    let model = ["--model", shelf.model]
    let before = try shelf.objects(store, "--model", shelf.model)
    let files = try shelf.directory.files()
    let options = ["store", "import", store, shelf.path("many.csv"), "--entity", "Book"] + model
    // Enough for the store and its backup, and not for the rows.
    let run = try shelf.run(filesUpTo: 160 << 10, options + (hasBackup ? [] : ["--no-backup"]))
    #expect(run.status == 6 && run.output.isEmpty, "\(run.text)")
    #expect(run.error.contains("at most 163,840 bytes. Raise the limit (ulimit -f)."), "\(run.text)")
    #expect(run.error.lowercased().components(separatedBy: "nothing was changed").count == 2, "\(run.text)")
    #expect(try shelf.objects(store, "--model", shelf.model) == before)
    #expect(try shelf.directory.files() == files)
    #expect(try shelf.run(["store", "verify", store] + (type == "sqlite" ? [] : [shelf.model])).status == 0)
    // With space, the same command works.
    let again = try shelf.run(options + ["--no-backup"])
    #expect(again.status == 0 && again.output.contains("4,000"), "\(again.text)")
  }

  @Test(
    "On a full disk, the store keeps its objects, and the error says so", .enabled(if: SmallDisk.isPossible),
    arguments: ["sqlite", "xml", "binary"], [true, false])
  func fullDisk(type: String, hasBackup: Bool) throws {
    let disk = try SmallDisk(bytes: 400 << 10)
    defer { disk.unmount() }
    let store = disk.directory.path("Books.\(type)")
    let copy = try shelf.run("store", "copy", shelf.store, store, "--type", type, "-q")
    try #require(copy.status == 0, "\(copy.text)")
    let model = ["--model", shelf.model]
    let before = try shelf.objects(store, "--model", shelf.model)
    let files = try disk.directory.files()
    let options = ["store", "import", store, shelf.path("many.csv"), "--entity", "Book"] + model
    let run = try shelf.run(options + (hasBackup ? [] : ["--no-backup"]))
    #expect(run.status == 6 && run.output.isEmpty, "\(run.text)")
    #expect(run.error.contains("Free some space on the disk"), "\(run.text)")
    #expect(run.error.lowercased().components(separatedBy: "nothing was changed").count == 2, "\(run.text)")
    #expect(try shelf.objects(store, "--model", shelf.model) == before)
    #expect(try disk.directory.files() == files)
  }
}

/// A file system in memory of a certain size, which only the superuser can mount.
private struct SmallDisk {
  static let isPossible: Bool = {
    // A container may forbid it to its superuser.
    guard geteuid() == 0, let disk = try? SmallDisk(bytes: 64 << 10) else { return false }
    return disk.unmount()
  }()

  let directory: TemporaryDirectory

  init(bytes: Int) throws {
    directory = try TemporaryDirectory()
    try #require(Self.run("mount", "-t", "tmpfs", "-o", "size=\(bytes)", "tmpfs", directory.path("")))
  }

  @discardableResult
  func unmount() -> Bool { Self.run("umount", directory.path("")) }

  private static func run(_ arguments: String...) -> Bool {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = arguments
    process.standardError = FileHandle.nullDevice
    do { try process.run() } catch { return false }
    process.waitUntilExit()
    return process.terminationStatus == 0
  }
}
