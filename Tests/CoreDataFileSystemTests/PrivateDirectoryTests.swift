// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataFileSystem
import CoreDataTestSupport
import Foundation
import Testing

@Suite("Private directories")
struct PrivateDirectoryTests {
  private let room: TemporaryDirectory

  init() throws {
    room = try TemporaryDirectory()
  }

  private func mode(_ url: URL) throws -> Int? {
    try FileManager.default.attributesOfItem(atPath: url.path)[.posixPermissions] as? Int
  }

  @Test("Only its owner can enter it, and it goes with everything in it")
  func removal() throws {
    let directory = try PrivateDirectory.make(prefix: ".copy-", in: room.url)
    #expect(try mode(directory.url) == 0o700)
    try FileManager.default.createDirectory(
      at: directory.url.appendingPathComponent("a/b"), withIntermediateDirectories: true)
    try Data("x".utf8).write(to: directory.url.appendingPathComponent("a/b/c"))
    #expect(try directory.names() == ["a"])
    try directory.remove()
    try directory.remove()
    #expect(try room.files() == [])
  }

  @Test("One process has it; what has been abandoned is taken over, and cleared away by the next")
  func abandoned() throws {
    let url = room.file(".one")
    var first = try PrivateDirectory.claim(url)
    #expect(first != nil)
    #expect(try PrivateDirectory.claim(url) == nil)
    #expect(try PrivateDirectory.reclaim(url) == nil)
    first = nil
    #expect(try PrivateDirectory.claim(url) == nil)
    #expect(try PrivateDirectory.reclaim(url) != nil)

    let living = try PrivateDirectory.make(prefix: ".copy-", in: room.url)
    let dead = try PrivateDirectory.claim(room.file(".copy-dead"))?.url
    try Data("x".utf8).write(to: try #require(dead).appendingPathComponent("file"))
    let next = try PrivateDirectory.make(prefix: ".copy-", in: room.url)
    #expect(try room.files() == [".one", living.url.lastPathComponent, next.url.lastPathComponent].sorted())
  }

  @Test("Links, and directories that others can enter, are not taken for abandoned ones")
  func foreign() throws {
    let other = room.file("other")
    try FileManager.default.createDirectory(
      at: other, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o755])
    try Data("x".utf8).write(to: other.appendingPathComponent("file"))
    try FileManager.default.createSymbolicLink(
      at: room.file(".copy-link"), withDestinationURL: other)
    try FileManager.default.createDirectory(
      at: room.file(".copy-open"), withIntermediateDirectories: true,
      attributes: [.posixPermissions: 0o755])
    try PrivateDirectory.make(prefix: ".copy-", in: room.url).remove()
    #expect(try room.files() == [".copy-link", ".copy-open", "other"])
    #expect(try FileManager.default.contentsOfDirectory(atPath: other.path) == ["file"])
  }

  @Test("A parent that is missing is an error")
  func missingParent() throws {
    #expect(throws: FileFailure.self) { try PrivateDirectory.make(prefix: ".copy-", in: room.file("missing")) }
  }

  @Test("A new name is never one that something has, be it a link that leads nowhere")
  func names() throws {
    let (file, link) = (room.file("file"), room.file("link"))
    try Data("x".utf8).write(to: file)
    try FileManager.default.createSymbolicLink(
      at: link, withDestinationURL: room.file("nowhere"))
    #expect(try !FileCalls.renameToNew(file, to: link))
    #expect(throws: FileFailure.self) { try FileCalls.makePrivateFile(link) }
    #expect(try FileCalls.renameToNew(file, to: room.file("new")))
    #expect(try room.files() == ["link", "new"])
  }

  @Test("A copy has the permissions of its original, and no more")
  func permissions() throws {
    for mode in [0o600, 0o640, 0o444, 0o4755] {
      let (old, new) = (room.file("old\(mode)"), room.file("new\(mode)"))
      for url in [old, new] { try Data().write(to: url) }
      try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: old.path)
      try FileCalls.copyPermissions(of: old, for: new)
      #expect(try self.mode(new) == mode & 0o777)
    }
  }

  @Test("Directories are made with those above them, and a file in the place of one is an error that names it")
  func directories() throws {
    let base = room.file("made")
    let deep = base.appendingPathComponent("a/b")
    for _ in 0..<2 { try FileCalls.makeDirectories(deep) }
    #expect(FileCalls.isDirectory(deep))
    let file = base.appendingPathComponent("file")
    try Data().write(to: file)
    let failure = #expect(throws: FileFailure.self) {
      try FileCalls.makeDirectories(file.appendingPathComponent("c"))
    }
    #expect(failure?.number == ENOTDIR && failure?.path.hasSuffix("/file/c") == true)
  }

  @Test("A word of a command line is quoted where a shell would take it for something else")
  func shellWords() {
    #expect(
      ShellWord.line(["coredata", "a b", "it's", "~x", "$(rm)", "", "a/b-1.sqlite"])
        == "coredata 'a b' 'it'\\''s' '~x' '$(rm)' '' a/b-1.sqlite")
  }
}
