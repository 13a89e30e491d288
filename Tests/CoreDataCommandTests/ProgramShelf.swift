// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataTestSupport
import Foundation
import Testing

/// A directory with a model of books, and stores of it that tests change with the program itself; removed at the end of
/// its life.
final class ProgramShelf {
  static let program = BuiltProgram("coredata")

  /// What the program answered.
  struct Answer {
    let status: Int32
    let output: String
    let error: String
    var text: String { "[\(status)] \(error)\(output)" }
    var lines: [String] { output.split(separator: "\n").map(String.init) }
  }

  let directory: TemporaryDirectory
  var model: String { path("Shelf.xcdatamodel") }
  var store: String { path("Shelf.sqlite") }

  /// - Parameter rows: JSON lines for the store; nil for no store.
  init(_ rows: String? = ProgramShelf.rows) throws {
    directory = try TemporaryDirectory()
    try directory.write(Self.contents, to: "Shelf.xcdatamodel/contents")
    guard let rows else { return }
    try create(store)
    try load(rows)
  }

  func path(_ name: String) -> String { directory.path(name) }

  /// Runs the program.
  func run(_ arguments: String...) throws -> Answer { try run(arguments) }

  func run(_ arguments: [String]) throws -> Answer {
    let run = try Self.program.run(arguments)
    return Answer(status: run.status, output: run.output, error: run.error)
  }

  /// Runs the program with a limit for the size of the files that it writes, as on a full disk.
  func run(filesUpTo bytes: Int, _ arguments: [String]) throws -> Answer {
    let place = URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent()
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/bin/sh")
    // POSIX counts blocks of 512 bytes.
    process.arguments =
      ["-c", "ulimit -f \(bytes / 512); exec \"$@\"", "sh", place.appendingPathComponent("coredata").path] + arguments
    let (output, error) = (Pipe(), Pipe())
    (process.standardOutput, process.standardError) = (output, error)
    try process.run()
    let texts = [output, error].map { String(decoding: $0.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self) }
    process.waitUntilExit()
    return Answer(status: process.terminationStatus, output: texts[0], error: texts[1])
  }

  func create(_ store: String, _ options: String...) throws {
    let run = try run(["store", "create", store, model] + options)
    try #require(run.status == 0, "\(run.text)")
  }

  /// Imports JSON lines into a store.
  func load(_ rows: String, into store: String? = nil, _ options: String...) throws {
    try directory.write(rows, to: "rows.jsonl")
    let run = try run(["store", "import", store ?? self.store, path("rows.jsonl"), "--no-backup", "-q"] + options)
    try #require(run.status == 0, "\(run.text)")
  }

  /// The objects of a store as JSON lines, without the UUID in identifiers.
  func objects(_ store: String? = nil, _ options: String...) throws -> [String] {
    let run = try run(["store", "export", store ?? self.store, "-q"] + options)
    #expect(run.status == 0, "\(run.text)")
    return run.output.replacing(/x-coredata:\/\/[^\/]*\//, with: "").split(separator: "\n").map(String.init)
  }

  /// Two authors, one of whom has a book and a novel, and two tags.
  static let rows = """
    {"entity":"Author","id":"a1","values":{"name":"Ada"}}
    {"entity":"Author","id":"a2","values":{"name":"Ben"}}
    {"entity":"Book","id":"b1","values":{"title":"A, \\"quoted\\"","pages":100,"author":"a1","tags":["t2","t1"]}}
    {"entity":"Novel","id":"b2","values":{"title":"Two\\nlines","pages":200,"genre":"crime","author":"a1","tags":["t1"]}}
    {"entity":"Book","id":"b3","values":{"title":"","place":{"city":"Rome","shelf":3},"cover":"AQID"}}
    {"entity":"Tag","id":"t1","values":{"name":"old"}}
    {"entity":"Tag","id":"t2","values":{"name":"long"}}

    """

  private static let contents = """
    <?xml version="1.0" encoding="UTF-8" standalone="yes"?>
    <model type="com.apple.IDECoreDataModeler.DataModel" documentVersion="1.0" userDefinedModelVersionIdentifier="">
    <entity name="Author"><attribute name="name" attributeType="String" minValueString="2"/>
    <relationship name="books" optional="YES" toMany="YES" deletionRule="Deny" destinationEntity="Book"
    inverseName="author" inverseEntity="Book"/>
    </entity>
    <entity name="Book">
    <attribute name="added" optional="YES" attributeType="Date"/>
    <attribute name="cover" optional="YES" attributeType="Binary"/>
    <attribute name="isRead" optional="YES" attributeType="Boolean"/>
    <attribute name="pages" optional="YES" attributeType="Integer 32" minValueString="0" defaultValueString="0"/>
    <attribute name="place" optional="YES" attributeType="Composite" composite="Place"/>
    <attribute name="price" optional="YES" attributeType="Decimal"/>
    <attribute name="title" optional="YES" attributeType="String" preserveAfterDeletion="YES"/>
    <relationship name="author" optional="YES" maxCount="1" deletionRule="Nullify" destinationEntity="Author"
    inverseName="books" inverseEntity="Author"/>
    <relationship name="tags" optional="YES" toMany="YES" ordered="YES" deletionRule="Nullify" destinationEntity="Tag"
    inverseName="books" inverseEntity="Tag"/>
    </entity>
    <entity name="Novel" parentEntity="Book"><attribute name="genre" optional="YES" attributeType="String"/></entity>
    <entity name="Tag"><attribute name="name" optional="YES" attributeType="String"/>
    <relationship name="books" optional="YES" toMany="YES" deletionRule="Nullify" destinationEntity="Book"
    inverseName="tags" inverseEntity="Book"/></entity>
    <composite name="Place"><attribute name="city" optional="YES" attributeType="String"/>
    <attribute name="shelf" optional="YES" attributeType="Integer 32"/></composite>
    </model>
    """

  /// Changes a store as an app that records persistent history: a transaction for each closure.
  func record(_ author: String, _ changes: ((NSManagedObjectContext) throws -> Void)...) throws {
    let version = try NSManagedObjectModel.load(contentsOf: URL(fileURLWithPath: model), version: nil)
    try withContext(version, at: URL(fileURLWithPath: store), options: [NSPersistentHistoryTrackingKey: true]) {
      context in
      context.transactionAuthor = author
      for change in changes {
        try change(context)
        try context.save()
      }
    }
  }
}
