// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreData
@testable import CoreDataCommand

@Suite("coredata store query and store get")
struct StoreQueryCommandTests {
  private let directory: TemporaryDirectory
  private var model: String { directory.path("Shelf.xcdatamodel") }
  private static let day = Date(timeIntervalSinceReferenceDate: 86_400.25)

  init() throws {
    directory = try TemporaryDirectory()
    try directory.write(
      """
      <?xml version="1.0" encoding="UTF-8" standalone="yes"?>
      <model type="com.apple.IDECoreDataModeler.DataModel" documentVersion="1.0" userDefinedModelVersionIdentifier="">
      <entity name="Author"><attribute name="name" optional="YES" attributeType="String"/>
      <relationship name="books" optional="YES" toMany="YES" destinationEntity="Book" inverseName="author" inverseEntity="Book"/>
      </entity>
      <entity name="Book"><attribute name="title" optional="YES" attributeType="String" preserveAfterDeletion="YES"/>
      <attribute name="pages" optional="YES" attributeType="Integer 32" usesScalarValueType="NO"/>
      <attribute name="price" optional="YES" attributeType="Decimal"/>
      <attribute name="isRead" optional="YES" attributeType="Boolean" usesScalarValueType="NO"/>
      <attribute name="added" optional="YES" attributeType="Date"/>
      <attribute name="cover" optional="YES" attributeType="Binary"/>
      <relationship name="author" optional="YES" maxCount="1" destinationEntity="Author" inverseName="books" inverseEntity="Author"/>
      </entity>
      <entity name="Novel" parentEntity="Book"><attribute name="genre" optional="YES" attributeType="String"/></entity>
      </model>
      """, to: "Shelf.xcdatamodel/contents")
  }

  /// Makes a store with two authors and four books, one of which is a novel.
  private func store(_ type: String = NSSQLiteStoreType) throws -> String {
    let path = directory.path("Shelf.\(type)")
    let version = try NSManagedObjectModel.load(contentsOf: URL(fileURLWithPath: model), version: nil)
    try withContext(version, at: URL(fileURLWithPath: path), type: .init(rawValue: type)) { context in
      let authors = ["Ada", "Ben"].map { name in
        let author = NSEntityDescription.insertNewObject(forEntityName: "Author", into: context)
        author.setValue(name, forKey: "name")
        return author
      }
      for (index, title) in ["A, \"quoted\"", "Two\nlines", "", nil].enumerated() {
        let book = NSEntityDescription.insertNewObject(forEntityName: index == 1 ? "Novel" : "Book", into: context)
        book.setValue(title, forKey: "title")
        if index == 1 { book.setValue("crime", forKey: "genre") }
        book.setValue(index == 3 ? nil : 100 * (index + 1), forKey: "pages")
        book.setValue(index == 0 ? NSDecimalNumber(string: "19.90") : nil, forKey: "price")
        book.setValue(index == 0 ? true : nil, forKey: "isRead")
        book.setValue(index == 0 ? Self.day : nil, forKey: "added")
        book.setValue(index == 0 ? Data([1, 2, 3]) : nil, forKey: "cover")
        book.setValue(index == 3 ? nil : authors[index % 2], forKey: "author")
      }
      try context.save()
    }
    return path
  }

  private func query(_ store: String, _ arguments: String...) -> CommandRun {
    CommandRun(["store", "query", store] + arguments + (store.hasSuffix("SQLite") ? [] : ["--model", model]))
  }

  @Test(
    "Objects of any store are chosen by a predicate, sorted, limited and counted",
    arguments: [NSSQLiteStoreType, NSXMLStoreType, NSBinaryStoreType])
  func selection(type: String) throws {
    let store = try store(type)
    let sorted = query(
      store, "Book", "pages > 100", "--sort", "-pages", "--show", "pages,author.name", "--format", "csv")
    let lines = sorted.output.split(separator: "\n").map { $0.split(separator: ",").dropFirst().joined(separator: ",") }
    #expect(lines == ["entity,pages,author.name", "Book,300,Ada", "Novel,200,Ben"], "\(sorted.error)\(sorted.output)")
    let limited = query(store, "Book", "--sort", "pages", "--limit", "1", "--show", "pages,title", "--format", "json")
    #expect(
      limited.output.hasSuffix("\"values\":{\"pages\":null,\"title\":null}}\n"), "\(limited.error)\(limited.output)")
    #expect(query(store, "Book", "author.name == 'Ada'", "--count").output == "2\n")
    #expect(
      query(store, "Author", "ANY books.pages == 200", "--count", "--format", "json").output == "{\n  \"count\": 1\n}\n"
    )
    #expect(query(store, "Book", "pages > 900").output == "No objects.\n")
    #expect(query(store, "Book", "pages > 900", "--format", "json").output == "")
    let counts = query(store, "Author", "--show", "name,books.@count,books.@max.pages", "--sort", "name")
    #expect(
      counts.output.split(separator: "\n").dropFirst().map { $0.split(separator: " ").dropFirst() } == [
        ["Ada", "2", "300"], ["Ben", "1", "200"],
      ], "\(counts.output)")
  }

  @Test("CSV and JSON have every value whole, and CSV tells a missing text from an empty one")
  func values() throws {
    let store = try store()
    let paths = "title,pages,price,isRead,added,cover"
    let csv = query(store, "Book", "--sort", "pages", "--show", paths, "--format", "csv").output
    #expect(csv.hasPrefix("id,entity,\(paths)\n"))
    #expect(csv.contains(",Book,\"A, \"\"quoted\"\"\",100,19.9,true,2001-01-02T00:00:00.250000Z,AQID\n"), "\(csv)")
    #expect(csv.contains(",Novel,\"Two\nlines\",200,,,,\n") && csv.contains(",\"\",300,,,,\n"), "\(csv)")
    // The first line, since a missing number comes first.
    #expect(csv.split(separator: "\n").dropFirst().first?.hasSuffix(",,,,,,") == true, "\(csv)")
    let line = try query(store, "Book", "title != nil", "--sort", "pages", "--format", "json").jsonLines.first
    let first = try #require(line?["values"] as? [String: Any])
    #expect(first["title"] as? String == "A, \"quoted\"" && first["price"] as? String == "19.9")
    #expect(first["isRead"] as? Bool == true && first["pages"] as? Int == 100)
    #expect((first["author"] as? String)?.hasPrefix("x-coredata://") == true)
  }

  @Test("Objects of subentities keep their entity and their properties, in JSON and in CSV that can be imported")
  func subentities() throws {
    let store = try store()
    let lines = try query(store, "Book", "--format", "json").jsonLines
    let novel = try #require(lines.first { $0["entity"] as? String == "Novel" }?["values"] as? [String: Any])
    #expect(novel["genre"] as? String == "crime")
    let book = try #require(lines.first { $0["entity"] as? String == "Book" }?["values"] as? [String: Any])
    #expect(book["genre"] == nil && book["title"] != nil)
    let file = directory.path("books.csv")
    try Data(query(store, "Book", "--show", "title,genre,pages", "--format", "csv").output.utf8)
      .write(to: URL(fileURLWithPath: file))
    let copy = directory.path("Copy.sqlite")
    #expect(CommandRun("store", "create", copy, model).status == .done)
    let run = CommandRun("store", "import", copy, file, "--entity", "Book", "--no-backup")
    #expect(run.status == .done, "\(run.error)")
    #expect(query(copy, "Novel", "genre == 'crime'", "--count").output == "1\n")
    #expect(query(copy, "Book", "--count").output == "4\n")
  }

  @Test("A table shows each object on a line, with the entity where there are several, and fits a terminal")
  func table() throws {
    let store = try store()
    let run = query(store, "Book", "--sort", "-pages", "--show", "title,pages,cover")
    let lines = run.output.split(separator: "\n", omittingEmptySubsequences: false)
    try #require(lines.count == 6, "\(run.error)\(run.output)")
    #expect(lines[0].hasPrefix("id") && lines[2].hasPrefix("Novel/p"), "\(run.output)")
    #expect(lines[2].contains("Two lines") && lines[3].hasSuffix("3 bytes"), "\(run.output)")
    let narrow = CommandRun(
      ["store", "query", store, "Book"], environment: ["NO_COLOR": "1"], terminalWidth: 60, showsOutput: true)
    #expect(narrow.output.split(separator: "\n").allSatisfy { $0.count <= 60 }, "\(narrow.output)")
    #expect(narrow.error.contains("There is no room for"), "\(narrow.error)")
    let some = query(store, "Book", "--limit", "2")
    #expect(some.error == "note: 2 of 4 objects are shown.\n", "\(some.error)")
  }

  @Test("What is not in the model is named, with what is")
  func mistakes() throws {
    let store = try store()
    func error(_ arguments: String...) -> String {
      let run = CommandRun(["store", "query", store] + arguments)
      #expect(run.status != .done && run.output.isEmpty, "\(run.output)")
      return run.error
    }
    #expect(error("Bok").contains("has no entity Bok. Did you mean Book? It has Author, Book, Novel."))
    #expect(error("Book", "--show", "titel").contains("Book has no property titel. Did you mean title?"))
    #expect(
      error("Book", "--show", "author.nam").contains(
        "Author has no property nam, in the key path author.nam. Did you mean name?"))
    #expect(error("Book", "--sort", "-pagse").contains("Did you mean pages?"))
    #expect(error("Book", "--show", "title.length").contains("goes on after the attribute title"))
    #expect(error("Author", "--show", "books.@cout").contains("Did you mean @count?"))
    #expect(error("Author", "--show", "books.@max.pagse").contains("Did you mean pages?"))
    #expect(error("Author", "--show", "books.@max").contains("needs the property that it is about"))
    #expect(error("Book", "pages >").contains("pages >"), "\(error("Book", "pages >"))")
    #expect(error("Book", "nothing == 1").contains("nothing"))
  }

  @Test(
    "One object is shown with its relationships, by any form of its identifier",
    arguments: [NSSQLiteStoreType, NSXMLStoreType])
  func object(type: String) throws {
    let store = try store(type)
    let options = type == NSSQLiteStoreType ? [] : ["--model", model]
    let found = try query(store, "Author", "name == 'Ada'", "--format", "json").jsonLines
    let id = try #require(found.first?["id"] as? String)
    let short = id.split(separator: "/").suffix(2).joined(separator: "/")
    let run = CommandRun(["store", "get", store, short] + options)
    #expect(run.status == .done && run.output.hasPrefix("\(short)\n  \(id)\n"), "\(run.error)\(run.output)")
    #expect(run.output.contains("  books  2: Book/p") && run.output.contains("  name   Ada\n"), "\(run.output)")
    let whole = CommandRun(["store", "get", store, id, "--format", "json"] + options)
    let values = try #require(try whole.json["values"] as? [String: Any])
    #expect(values["name"] as? String == "Ada" && (values["books"] as? [String])?.count == 2)
    let missing = CommandRun(["store", "get", store, "Author/p999"] + options)
    #expect(
      missing.status == .unreadableStore && missing.error.contains("has no object Author/p999."), "\(missing.error)")
    let foreign = "x-coredata://\(UUID().uuidString)/Author/p1"
    #expect(CommandRun(["store", "get", store, foreign] + options).error.contains("is an object of another store"))
    #expect(CommandRun(["store", "get", store, "Author"] + options).error.contains("such as Note/p3"))
  }

  @Test("History shows who changed what, after a number or a date, or by one author")
  func history() throws {
    let store = try store()
    let none = CommandRun("store", "history", store)
    #expect(none.status == .unreadableStore && none.error.contains("has no persistent history"), "\(none.error)")
    let version = try NSManagedObjectModel.load(contentsOf: URL(fileURLWithPath: model), version: nil)
    try withContext(version, at: URL(fileURLWithPath: store), options: [NSPersistentHistoryTrackingKey: true]) {
      context in
      for (author, title) in [("phone", "New"), ("watch", nil)] as [(String, String?)] {
        context.transactionAuthor = author
        let request = NSFetchRequest<NSManagedObject>(entityName: "Book")
        request.predicate = NSPredicate(format: "pages == 100")
        let book = try #require(try context.fetch(request).first)
        if let title { book.setValue(title, forKey: "title") } else { context.delete(book) }
        try context.save()
      }
    }
    let run = CommandRun("store", "history", store)
    let lines = run.output.split(separator: "\n")
    try #require(lines.count >= 4, "\(run.error)\(run.output)")
    #expect(lines[0].hasPrefix("1  2") && lines[0].contains("  phone"), "\(run.error)\(run.output)")
    #expect(run.output.contains("  update  Book/p") && run.output.contains("title\n"), "\(run.output)")
    #expect(run.output.contains("  delete  Book/p") && run.output.contains("  title: New\n"), "\(run.output)")
    func count(_ arguments: String...) throws -> Int {
      let run = CommandRun(["store", "history", store, "--format", "json"] + arguments)
      #expect(run.status == .done, "\(run.error)")
      return (try JSONSerialization.jsonObject(with: Data(run.output.utf8)) as? [Any])?.count ?? -1
    }
    #expect(try count() == 2 && count("--author", "watch") == 1 && count("--author", "nobody") == 0)
    #expect(
      try count("--since", "1") == 1 && count("--since", "2999-01-01") == 0 && count("--since", "2001-01-01") == 2)
    let wrong = CommandRun("store", "history", store, "--since", "yesterday")
    #expect(wrong.status == .usage && wrong.error.contains("neither the number of a transaction nor a date"))
  }

  @Test("Values in files beside a store with a write-ahead log are read, too")
  func externalValues() throws {
    let document = directory.path("Shelf.xcdatamodel/contents")
    let text = try String(contentsOfFile: document, encoding: .utf8)
    try directory.write(
      text.replacingOccurrences(
        of: #"name="cover" optional="YES" attributeType="Binary""#,
        with: #"name="cover" optional="YES" allowsExternalBinaryDataStorage="YES" attributeType="Binary""#),
      to: "Shelf.xcdatamodel/contents")
    let path = directory.path("Covers.sqlite")
    try withContext(
      NSManagedObjectModel.load(contentsOf: URL(fileURLWithPath: model), version: nil), at: URL(fileURLWithPath: path)
    ) { context in
      let book = NSEntityDescription.insertNewObject(forEntityName: "Book", into: context)
      book.setValue("large", forKey: "title")
      book.setValue(Data(repeating: 7, count: 300_000), forKey: "cover")
      try context.save()
    }
    let files = try FileManager.default.contentsOfDirectory(
      atPath: directory.path(".Covers_SUPPORT/_EXTERNAL_DATA"))
    #expect(files.count == 1)
    let found = query(path, "Book", "--format", "json", "--show", "cover")
    #expect(found.status == .done && found.error == "")
    let bytes = Data(repeating: 7, count: 300_000).base64EncodedString()
    #expect(found.output.replacingOccurrences(of: "\\/", with: "/").contains(bytes))
  }

  @Test("Reading leaves the store and its directory as they were")
  func unchanged() throws {
    let store = try store()
    let (bytes, files) = (try Data(contentsOf: URL(fileURLWithPath: store)), try directory.files())
    #expect(query(store, "Book").status == .done && CommandRun("store", "get", store, "Author/1").status == .done)
    #expect(try Data(contentsOf: URL(fileURLWithPath: store)) == bytes)
    #expect(try directory.files() == files)
  }

  @Test(
    "Stores of other projects: a query shows the values that an export has",
    .enabled(if: Fixtures.isPresent, "The fixtures are not beside the repository"))
  func fixtures() throws {
    var compared = 0
    for original in Fixtures.stores + Fixtures.swiftDataStores {
      let name = Fixtures.name(of: original)
      // Other tests look at the fixtures' directories at the same time, and a private copy is made beside a store.
      let place = try TemporaryDirectory()
      let url = place.url.appendingPathComponent(original.lastPathComponent)
      let support = ".\(original.deletingPathExtension().lastPathComponent)_SUPPORT"
      for file in [original.lastPathComponent, support] + ["-wal", "-shm"].map({ original.lastPathComponent + $0 }) {
        let source = original.deletingLastPathComponent().appendingPathComponent(file)
        guard FileManager.default.fileExists(atPath: source.path) else { continue }
        try FileManager.default.copyItem(at: source, to: place.url.appendingPathComponent(file))
      }
      let files = FileManager.default.subpaths(atPath: place.url.path)?.sorted() ?? []
      let before = files.map { FileManager.default.contents(atPath: place.path($0)) }
      defer {
        #expect(FileManager.default.subpaths(atPath: place.url.path)?.sorted() == files, "\(name)")
        #expect(files.map { FileManager.default.contents(atPath: place.path($0)) } == before, "\(name)")
      }
      let export = CommandRun("store", "export", url.path, "--quiet")
      let lines = try export.jsonLines
      for (entity, objects) in Dictionary(grouping: lines, by: { $0["entity"] as? String ?? "" }) {
        let run = CommandRun("store", "query", url.path, entity, "--format", "json", "--quiet")
        // A store without a model that fits cannot be opened as objects.
        guard run.status == .done else {
          #expect(!run.error.isEmpty, "\(name)")
          continue
        }
        let rows = try run.jsonLines
        let byID = Dictionary(rows.map { ($0["id"] as? String ?? "", $0) }) { first, _ in first }
        for object in objects.prefix(40) {
          let id = object["id"] as? String ?? ""
          let row = try #require(byID[id]?["values"] as? [String: Any], "\(name) \(id)")
          for (key, value) in object["values"] as? [String: Any] ?? [:] where row[key] != nil {
            #expect(
              NSDictionary(object: row[key] ?? "", forKey: "" as NSString)
                == NSDictionary(object: value, forKey: "" as NSString), "\(name) \(id) \(key)")
            compared += 1
          }
        }
      }
    }
    #expect(compared > 1_000)
  }
}
