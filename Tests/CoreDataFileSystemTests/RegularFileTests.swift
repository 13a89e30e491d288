// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataFileSystem
import CoreDataTestSupport
import Foundation
import Testing

@Suite("Files that a stranger may have made")
struct RegularFileTests {
  private let directory: TemporaryDirectory
  private var folder: URL { directory.url }

  init() throws {
    directory = try TemporaryDirectory()
  }

  @Test("A file is read whole, up to the limit and not beyond it")
  func limit() throws {
    let file = folder.appendingPathComponent("file")
    try Data(repeating: 7, count: 10_000).write(to: file)
    #expect(try RegularFile.read(file, limit: 10_000) == Data(repeating: 7, count: 10_000))
    #expect(throws: RegularFile.Problem.tooLarge(path: file.path, bytes: 10_000, limit: 9_999)) {
      try RegularFile.read(file, limit: 9_999)
    }
    #expect(try RegularFile.firstBytes(3, of: file) == Data([7, 7, 7]))
  }

  @Test("A FIFO, a device and a directory are refused at once")
  func kinds() throws {
    let pipe = folder.appendingPathComponent("pipe")
    #expect(mkfifo(pipe.path, 0o600) == 0)
    for (url, kind) in [(pipe, "a FIFO"), (URL(fileURLWithPath: "/dev/zero"), "a device"), (folder, "a directory")] {
      let problem = RegularFile.Problem.notRegular(path: url.path, kind: kind)
      #expect(throws: problem) { try RegularFile.read(url, limit: 10) }
      #expect(throws: problem) { try RegularFile.check(url) }
    }
  }

  @Test("A symbolic link is followed only where that is allowed")
  func links() throws {
    let (file, link) = (folder.appendingPathComponent("file"), folder.appendingPathComponent("link"))
    try Data([1, 2]).write(to: file)
    try FileManager.default.createSymbolicLink(at: link, withDestinationURL: file)
    #expect(try RegularFile.read(link, limit: 10) == Data([1, 2]))
    #expect(throws: RegularFile.Problem.notRegular(path: link.path, kind: "a symbolic link")) {
      try RegularFile.read(link, limit: 10, followsLinks: false)
    }
  }

  @Test("A missing file is a failure of the file system; checking it is none")
  func missing() throws {
    let file = folder.appendingPathComponent("none")
    #expect(throws: FileFailure(operation: "open", path: file.path, number: ENOENT)) {
      try RegularFile.read(file, limit: 10)
    }
    try RegularFile.check(file)
  }

  @Test("A copy is never written over a file, nor where a link leads")
  func copying() throws {
    let names = ["file", "copy", "other", "link", "target"].map { folder.appendingPathComponent($0) }
    try Data([1]).write(to: names[0])
    try FileCalls.copyBytes(names[0], to: names[1])
    #expect(try Data(contentsOf: names[1]) == Data([1]))
    try Data([2]).write(to: names[2])
    try FileManager.default.createSymbolicLink(at: names[3], withDestinationURL: names[4])
    for target in [names[2], names[3]] {
      #expect(throws: FileFailure(operation: "make", path: target.path, number: EEXIST)) {
        try FileCalls.copyBytes(names[0], to: target)
      }
    }
    #expect(try Data(contentsOf: names[2]) == Data([2]))
    #expect(!FileCalls.exists(names[4]))
  }
}
