// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataSQLite
import CoreDataTerminal
import CoreDataTestSupport
import Foundation

@testable import CoreDataCommand

/// What one command line gave.
struct CommandRun {
  let status: ExitStatus
  let output: String
  let error: String

  /// Runs a command line in this process.
  init(_ arguments: String...) {
    self.init(arguments)
  }

  /// Runs a command line in this process.
  ///
  /// - Parameters:
  ///   - terminalWidth: the columns of the terminal that errors go to; nil for a file.
  ///   - showsOutput: whether the result goes to the terminal too.
  init(
    _ arguments: [String], environment: [String: String] = [:], terminalWidth: Int? = nil, showsOutput: Bool = false
  ) {
    final class Sink {
      var text = ""
    }
    let (output, error) = (Sink(), Sink())
    var streams = CommandStreams(
      output: { output.text += $0 }, error: { error.text += $0 }, environment: environment)
    if let terminalWidth { (streams.isErrorTerminal, streams.columns) = (true, terminalWidth) }
    streams.isOutputTerminal = showsOutput
    status = CommandLineTool.run(arguments, streams: streams)
    self.output = output.text
    self.error = error.text
  }

  /// The output as JSON.
  var json: [String: Any] {
    get throws {
      let value = try JSONSerialization.jsonObject(with: Data(output.utf8))
      guard let object = value as? [String: Any] else { throw CocoaError(.coderReadCorrupt) }
      return object
    }
  }

  /// The output as lines of JSON.
  var jsonLines: [[String: Any]] {
    get throws {
      try output.split(separator: "\n").map { line in
        let value = try JSONSerialization.jsonObject(with: Data(line.utf8))
        guard let object = value as? [String: Any] else { throw CocoaError(.coderReadCorrupt) }
        return object
      }
    }
  }
}

/// A folder that a test fills, with a model of three versions; removed at the end of its life.
final class Workshop {
  private let directory: TemporaryDirectory

  /// - Parameter orders: how many orders the store has, which is of the first version; nil for no store.
  init(orders: Int? = nil) throws {
    directory = try TemporaryDirectory()
    for (name, contents) in [("Shop", Self.first), ("Shop 2", Self.second), ("Shop 3", Self.third)] {
      try directory.write(contents, to: "Shop.xcdatamodeld/\(name).xcdatamodel/contents")
    }
    let marker = try PropertyListSerialization.data(
      fromPropertyList: ["_XCCurrentVersionName": "Shop 2.xcdatamodel"], format: .xml, options: 0)
    try directory.write(marker, to: "Shop.xcdatamodeld/.xccurrentversion")
    if let orders { try fill(store, orders: orders) }
  }

  var url: URL { directory.url }
  var model: String { path("Shop.xcdatamodeld") }
  /// The path of the store that most tests use.
  var store: String { path("Shop.sqlite") }

  func path(_ name: String) -> String { directory.path(name) }

  /// Writes text to a file, after making the directories of its path.
  @discardableResult
  func write(_ text: String, to name: String) throws -> URL { try directory.write(text, to: name) }

  /// The names of all files, hidden ones included, sorted.
  func files() throws -> [String] { try directory.files() }

  /// Makes a store of the second version with objects, as many as named for each entity.
  func makeStore(at path: String, _ counts: [String: Int]) throws {
    let model = try NSManagedObjectModel.load(contentsOf: URL(fileURLWithPath: model), version: "Shop 2")
    try withContext(model, at: URL(fileURLWithPath: path), options: [NSSQLitePragmasOption: ["journal_mode": "DELETE"]])
    { context in
      for (entity, count) in counts {
        for _ in 0..<count { _ = NSEntityDescription.insertNewObject(forEntityName: entity, into: context) }
      }
      try context.save()
    }
  }

  private static func model(_ entities: String) -> String {
    """
    <?xml version="1.0" encoding="UTF-8" standalone="yes"?>
    <model type="com.apple.IDECoreDataModeler.DataModel" documentVersion="1.0" userDefinedModelVersionIdentifier="">
    \(entities)
    </model>
    """
  }

  private static let order = """
    <attribute name="name" optional="YES" attributeType="String"/>
    <attribute name="total" optional="YES" attributeType="Integer 32" defaultValueString="0"/>
    """

  private static let first = model(
    "<entity name=\"Order\" representedClassName=\"Order\">\(order)</entity>")

  private static let second = model(
    """
    <entity name="Customer"><attribute name="email" optional="YES" attributeType="String"/></entity>
    <entity name="Order" representedClassName="Order">
    <attribute name="title" optional="YES" attributeType="String" elementID="name"/>
    <attribute name="total" attributeType="Integer 32" defaultValueString="0"/>
    </entity>
    """)

  /// A change of type that nothing can be inferred for.
  private static let third = model(
    """
    <entity name="Order" representedClassName="Order">
    <attribute name="title" optional="YES" attributeType="Date"/>
    <attribute name="total" attributeType="Integer 32" defaultValueString="0"/>
    </entity>
    """)
}

/// Another program that writes a store and is not done yet.
final class StoreLock {
  private let connection: SQLiteConnection

  init(_ path: String) throws {
    connection = try SQLiteConnection(path: path, mode: .readWrite)
    try connection.execute("BEGIN IMMEDIATE")
  }

  func end() throws {
    try connection.execute("ROLLBACK")
    try connection.close()
  }
}
