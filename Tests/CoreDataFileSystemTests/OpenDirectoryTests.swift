// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataFileSystem
import CoreDataTestSupport
import Foundation
import Testing

@Suite("Directories that are used by their descriptors")
struct OpenDirectoryTests {
  private let parent: TemporaryDirectory
  private let folder: URL
  private let other: URL

  init() throws {
    parent = try TemporaryDirectory()
    (folder, other) = (parent.file("folder"), parent.file("other"))
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    try parent.write("precious", to: "other/file")
  }

  private func link(_ name: String, to target: URL) throws {
    try FileManager.default.createSymbolicLink(at: folder.appendingPathComponent(name), withDestinationURL: target)
  }

  @Test("A link to a directory is no directory, in another one or by its path")
  func links() throws {
    try link("link", to: other)
    let url = folder.appendingPathComponent("link")
    let problem = RegularFile.Problem.notDirectory(path: url.path, kind: "a symbolic link")
    let directory = try OpenDirectory.open(folder)
    #expect(throws: problem) { try directory.directory("link") }
    #expect(throws: problem) { try directory.directoryIfPresent("link") }
    #expect(throws: problem) { try directory.makeDirectory("link") }
    #expect(throws: problem) { try OpenDirectory.open(url, followsLinks: false) }
    #expect(try OpenDirectory.open(url).names() == ["file"])
    #expect(try directory.directoryIfPresent("none") == nil)
  }

  @Test("A directory that is swapped for a link after it was opened stays the one that is used")
  func swapped() throws {
    let inner = folder.appendingPathComponent("inner")
    let directory = try OpenDirectory.open(folder).makeDirectory("inner")
    try directory.write(Data([1]), to: "file", mode: 0o600)
    try FileManager.default.moveItem(at: inner, to: folder.appendingPathComponent("moved"))
    try link("inner", to: other)
    try directory.removeFile("file")
    try directory.write(Data([2]), to: "new", mode: 0o600)
    #expect(try directory.names() == ["new"])
    #expect(try Data(contentsOf: other.appendingPathComponent("file")) == Data("precious".utf8))
    #expect(try FileManager.default.contentsOfDirectory(atPath: other.path) == ["file"])
  }

  @Test("A tree is removed with the links in it, and not what they lead to; names need not be UTF-8")
  func trees() throws {
    let directory = try OpenDirectory.open(folder)
    let tree = try directory.makeDirectory("tree").makeDirectory("deeper")
    try FileManager.default.createSymbolicLink(
      at: folder.appendingPathComponent("tree/deeper/link"), withDestinationURL: other)
    #expect(mkfifo(folder.appendingPathComponent("tree/pipe").path, 0o600) == 0)
    let bytes: [CChar] = [-1, -2, 0]
    close(openat(tree.descriptor, bytes, O_WRONLY | O_CREAT | O_CLOEXEC, 0o600))
    try directory.removeTree("tree")
    try directory.removeTree("tree")
    try link("link", to: other)
    try FileCalls.removeTree(folder.appendingPathComponent("link"))
    #expect(try directory.names() == [])
    #expect(FileCalls.exists(other.appendingPathComponent("file")))
  }

  @Test("A tree that is deeper than anything this framework makes is left, and named")
  func deepTree() throws {
    let directory = try OpenDirectory.open(folder)
    var inner = directory
    for _ in 0..<200 { inner = try inner.makeDirectory("d") }
    #expect(throws: FileFailure.self) { try directory.removeTree("d") }
    #expect(directory.exists("d"))
  }

  @Test("Links, FIFOs and directories are neither read, linked nor written through")
  func kinds() throws {
    let directory = try OpenDirectory.open(folder)
    try link("link", to: other.appendingPathComponent("file"))
    #expect(mkfifo(folder.appendingPathComponent("pipe").path, 0o600) == 0)
    _ = try directory.makeDirectory("directory")
    for (name, kind) in [("link", "a symbolic link"), ("pipe", "a FIFO"), ("directory", "a directory")] {
      let problem = RegularFile.Problem.notRegular(path: folder.appendingPathComponent(name).path, kind: kind)
      #expect(throws: problem) { try directory.read(name, limit: 100) }
      #expect(throws: problem) { try directory.link(name, to: directory, "copy") }
    }
    // The draft of a file that is written has a name that can be foreseen.
    try link(".new.part", to: other.appendingPathComponent("file"))
    try directory.write(Data("new".utf8), to: "new", mode: 0o600)
    try FileCalls.write(Data("new".utf8), to: folder.appendingPathComponent("new"))
    #expect(try directory.read("new", limit: 100) == Data("new".utf8))
    #expect(try Data(contentsOf: other.appendingPathComponent("file")) == Data("precious".utf8))
    #expect(throws: RegularFile.Problem.self) { try directory.read("new", limit: 2) }
  }

  @Test("A file gets the permissions of another; a group that cannot be given gains nothing")
  func permissions() throws {
    let (old, new) = (folder.appendingPathComponent("old"), folder.appendingPathComponent("new"))
    for file in [old, new] { try Data([1]).write(to: file) }
    chmod(old.path, 0o640)
    chmod(new.path, 0o666)
    try FileCalls.copyPermissions(of: old, for: new)
    var found = stat()
    #expect(lstat(new.path, &found) == 0 && found.st_mode & 0o7777 == 0o640)
  }

  @Test("The null device is known by what it is, and not by its name")
  func nullDevice() throws {
    try link("null", to: URL(fileURLWithPath: "/dev/null"))
    #expect(RegularFile.isNullDevice(URL(fileURLWithPath: "/dev/null")))
    #expect(RegularFile.isNullDevice(folder.appendingPathComponent("null")))
    #expect(!RegularFile.isNullDevice(URL(fileURLWithPath: "/dev/zero")))
    #expect(!RegularFile.isNullDevice(other.appendingPathComponent("file")))
    #expect(!RegularFile.isNullDevice(folder.appendingPathComponent("none")))
  }
}
