// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataTerminal
import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreDataCommand

/// A folder with a store to browse: authors, their books and tags, with all kinds of relationships, hostile values and
/// history. Removed at the end of its life.
final class BrowseLibrary {
  private let directory: TemporaryDirectory
  var model: String { path("Library.xcdatamodeld") }
  var store: String { path("Library.sqlite") }

  static let bookCount = 120
  /// A picture of one pixel.
  static let picture = Data(
    base64Encoded: "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==")
  static let script = Data("<svg xmlns=\"http://www.w3.org/2000/svg\"><script>alert(1)</script></svg>".utf8)
  static let hostile = "<script>alert('x')</script>\"'&\u{202e}\u{1b}[31m"

  init() throws {
    directory = try TemporaryDirectory()
    try directory.write(
      """
      <?xml version="1.0" encoding="UTF-8" standalone="yes"?>
      <model type="com.apple.IDECoreDataModeler.DataModel" documentVersion="1.0" userDefinedModelVersionIdentifier="">
      <entity name="Author"><attribute name="biography" optional="YES" attributeType="String"/>
      <attribute name="born" optional="YES" attributeType="Date"/>
      <attribute name="name" optional="YES" attributeType="String"/>
      <attribute name="portrait" optional="YES" attributeType="Binary"/>
      <relationship name="books" optional="YES" toMany="YES" destinationEntity="Book" inverseName="author"
      inverseEntity="Book"/>
      <relationship name="favorites" optional="YES" toMany="YES" ordered="YES" destinationEntity="Book"
      inverseName="fans" inverseEntity="Book"/></entity>
      <entity name="Book"><attribute name="identifier" optional="YES" attributeType="UUID"/>
      <attribute name="isLent" attributeType="Boolean" defaultValueString="NO"/>
      <attribute name="pages" attributeType="Integer 32" defaultValueString="0"/>
      <attribute name="price" optional="YES" attributeType="Decimal"/>
      <attribute name="title" optional="YES" attributeType="String"/>
      <relationship name="author" optional="YES" maxCount="1" destinationEntity="Author" inverseName="books"
      inverseEntity="Author"/>
      <relationship name="fans" optional="YES" toMany="YES" destinationEntity="Author" inverseName="favorites"
      inverseEntity="Author"/>
      <relationship name="tags" optional="YES" toMany="YES" destinationEntity="Tag" inverseName="books"
      inverseEntity="Tag"/></entity>
      <entity name="Novel" parentEntity="Book"><attribute name="genre" optional="YES" attributeType="String"/></entity>
      <entity name="Tag"><attribute name="label" optional="YES" attributeType="String"/>
      <relationship name="books" optional="YES" toMany="YES" destinationEntity="Book" inverseName="tags"
      inverseEntity="Book"/></entity>
      </model>
      """, to: "Library.xcdatamodeld/Library.xcdatamodel/contents")
    let model = try NSManagedObjectModel.load(contentsOf: directory.file("Library.xcdatamodeld"), version: "Library")
    try withContext(model, at: URL(fileURLWithPath: store), options: [NSPersistentHistoryTrackingKey: true]) {
      context in
      context.transactionAuthor = "librarian"
      try Self.fill(context)
    }
  }

  private static func fill(_ context: NSManagedObjectContext) throws {
    func make(_ entity: String, _ values: [String: Any]) -> NSManagedObject {
      let object = NSEntityDescription.insertNewObject(forEntityName: entity, into: context)
      object.setValuesForKeys(values)
      return object
    }
    let author = make("Author", ["name": "Iris Maple", "biography": String(repeating: "long ", count: 10_000)])
    author.setValue(picture, forKey: "portrait")
    let other = make("Author", ["name": hostile, "portrait": script])
    let tag = make("Tag", ["label": "green"])
    try context.save()
    var books: [NSManagedObject] = []
    for number in 1...bookCount {
      books.append(make("Book", ["title": "Volume \(number)", "pages": number * 3]))
      // One at a time, so that the keys follow the numbers.
      try context.obtainPermanentIDs(for: books.suffix(1))
    }
    for book in books.prefix(100) { book.setValue(author, forKey: "author") }
    for book in books.prefix(70) { book.setValue(NSSet(object: tag), forKey: "tags") }
    let novel = make("Novel", ["title": "Été à Nantes", "price": NSDecimalNumber(string: "12.50"), "genre": "quiet"])
    novel.setValue(UUID(uuidString: "0F0E0D0C-0B0A-0908-0706-050403020100"), forKey: "identifier")
    other.setValue(NSOrderedSet(array: [books[4], books[2], books[9]]), forKey: "favorites")
    try context.save()
    context.delete(books[110])
    try context.save()
  }

  func path(_ name: String) -> String { directory.path(name) }

  /// The names of all files, sorted.
  func files() throws -> [String] { try directory.files() }

  /// Opens a store as `store browse` does.
  func site(_ arguments: String...) throws -> BrowseSite {
    let line = ["store", "browse"] + arguments
    guard case .command(let parsed) = try CommandLineTool.specification.parse(line) else { throw NotACommand() }
    let streams = CommandStreams(output: { _ in }, error: { _ in })
    let invocation = CommandInvocation(parsed, of: CommandLineTool.specification, streams: streams)
    return BrowseSite(try BrowsedStore(invocation), port: 4711)
  }

  private struct NotACommand: Error {}
}

/// What a page says.
struct BrowseAnswer {
  let status: Int
  let headers: [String: String]
  let body: Data
  var text: String { String(decoding: body, as: UTF8.self) }

  /// Reads an answer as a browser receives it.
  init(_ bytes: Data) throws {
    let end = try #require(bytes.firstRange(of: Data("\r\n\r\n".utf8)))
    let lines = String(decoding: bytes[..<end.lowerBound], as: UTF8.self).components(separatedBy: "\r\n")
    status = Int(lines[0].split(separator: " ")[1]) ?? 0
    headers = Dictionary(
      lines.dropFirst().map { line in
        let parts = line.components(separatedBy: ": ")
        return (parts[0].lowercased(), parts.dropFirst().joined(separator: ": "))
      }
    ) { $1 }
    body = Data(bytes[end.upperBound...])
  }
}

extension BrowseSite {
  /// Asks for a page by its path after the secret.
  func get(_ path: String, host: String = "127.0.0.1:4711", method: String = "GET", more: String = "") throws
    -> BrowseAnswer
  {
    try send("\(method) /\(token)/\(path) HTTP/1.1\r\nHost: \(host)\r\n\(more)\r\n")
  }

  /// Sends a request.
  func send(_ text: String) throws -> BrowseAnswer {
    var reader = HTTPRequestReader()
    let request = try #require(try reader.add(text.utf8))
    return try BrowseAnswer(answer(request).bytes(hasBody: request.method != .head))
  }

  /// The addresses in a page that begin with a path after the secret.
  func links(_ answer: BrowseAnswer, _ path: String) -> [String] {
    let pattern = "href=\"/\(token)/"
    return answer.text.components(separatedBy: pattern).dropFirst().map { part in
      String(part.prefix { $0 != "\"" }).replacing("&amp;", with: "&")
    }.filter { $0.hasPrefix(path) }
  }
}
