// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataTestSupport
import Foundation
import Testing

@Suite("coredata store export as CSV", .enabled(if: ProgramShelf.program.isPresent, "The program was not built"))
struct CSVExportTests {
  private let shelf: ProgramShelf
  private var csv: String { shelf.path("csv") }

  init() throws {
    shelf = try ProgramShelf()
  }

  private func file(_ name: String) throws -> String {
    try String(contentsOfFile: "\(csv)/\(name)", encoding: .utf8).replacing(/x-coredata:\/\/[^\/]*\//, with: "")
  }

  @Test("A directory gets a file for each entity, and importing it gives an equal store")
  func roundTrip() throws {
    let export = try shelf.run("store", "export", shelf.store, "--format", "csv", "--directory", csv)
    #expect(export.status == 0 && export.lines.last == "  Tag.csv           2", "\(export.text)")
    #expect(
      try FileManager.default.contentsOfDirectory(atPath: csv).sorted() == [
        "Author.csv", "Book.csv", "Novel.csv", "Tag.csv",
      ])
    #expect(
      try file("Book.csv") == """
        id,added,cover,isRead,pages,place,price,title,author,tags
        Book/p1,,,,100,,,"A, ""quoted""\",Author/p1,"Tag/p2,Tag/p1"
        Book/p3,,AQID,,0,"{""city"":""Rome"",""shelf"":3}",,"",,""

        """)
    #expect(try file("Novel.csv").contains("crime") && file("Novel.csv").contains("\"Two\nlines\""))
    // The other side of an ordered relationship to many is a column too, since neither side has one object.
    #expect(
      try file("Tag.csv").hasPrefix("id,name,books\n")
        && file("Author.csv") == "id,name\nAuthor/p1,Ada\nAuthor/p2,Ben\n")
    let copy = shelf.path("Copy.sqlite")
    try shelf.create(copy)
    let run = try shelf.run("store", "import", copy, csv, "--no-backup")
    #expect(run.status == 0, "\(run.text)")
    let diff = try shelf.run("store", "diff", shelf.store, copy)
    #expect(diff.status == 0 && diff.lines.last == "No differences.", "\(diff.text)")
  }

  @Test("One entity goes to standard output, and with its subentities as store query writes it")
  func oneEntity() throws {
    let run = try shelf.run("store", "export", shelf.store, "--format", "csv", "--entity", "Author", "--limit", "1")
    #expect(run.status == 0 && run.lines.count == 2 && run.lines[0] == "id,name", "\(run.text)")
    let all = try shelf.run("store", "export", shelf.store, "--format", "csv", "--entity", "Book", "--subentities")
    #expect(
      all.status == 0 && all.lines[0].hasPrefix("id,entity,added") && all.output.contains(",Novel,"), "\(all.text)")
    let query = try shelf.run("store", "query", shelf.store, "Author", "--format", "csv")
    #expect(
      try shelf.run("store", "export", shelf.store, "--format", "csv", "--entity", "Author").output == query.output)
  }

  @Test("Options that contradict each other are errors of the command line, and nothing is written")
  func refused() throws {
    for (options, sentence) in [
      (["--format", "csv"], "A CSV file has the objects of one entity."),
      (["--format", "csv", "--entity", "Book", "--entity", "Tag"], "A CSV file has the objects of one entity."),
      (["--directory", csv], "--directory is for --format csv."),
      (["--format", "csv", "--directory", csv, "--output", shelf.path("x")], "cannot be used together"),
    ] {
      let run = try shelf.run(["store", "export", shelf.store] + options)
      #expect(run.status == 2 && run.error.contains(sentence) && run.output.isEmpty, "\(options): \(run.text)")
    }
    let entity = try shelf.run("store", "export", shelf.store, "--format", "csv", "--entity", "Bok")
    #expect(entity.status == 4 && entity.error.contains("Did you mean Book?"), "\(entity.text)")
    #expect(!shelf.directory.exists("csv") && !shelf.directory.exists("x"))
  }

  @Test("A property named id leaves the column objectID for the identifiers, which an import knows")
  func ownID() throws {
    let model = """
      <?xml version="1.0" encoding="UTF-8" standalone="yes"?>
      <model type="com.apple.IDECoreDataModeler.DataModel" documentVersion="1.0" userDefinedModelVersionIdentifier="">
      <entity name="Node"><attribute name="id" optional="YES" attributeType="String"/>
      <relationship name="next" optional="YES" maxCount="1" destinationEntity="Node" inverseName="last" inverseEntity="Node"/>
      <relationship name="last" optional="YES" maxCount="1" destinationEntity="Node" inverseName="next" inverseEntity="Node"/>
      </entity></model>
      """
    try shelf.directory.write(model, to: "Nodes.xcdatamodel/contents")
    for name in ["Nodes.sqlite", "Copy.sqlite"] {
      let run = try shelf.run("store", "create", shelf.path(name), shelf.path("Nodes.xcdatamodel"))
      try #require(run.status == 0, "\(run.text)")
    }
    let rows = """
      {"entity":"Node","id":"1","values":{"id":"one","next":"2"}}
      {"entity":"Node","id":"2","values":{"id":"two"}}

      """
    try shelf.load(rows, into: shelf.path("Nodes.sqlite"))
    let export = try shelf.run("store", "export", shelf.path("Nodes.sqlite"), "--format", "csv", "--directory", csv)
    #expect(try export.status == 0 && file("Node.csv").hasPrefix("objectID,id,last,next\n"), "\(export.text)")
    let run = try shelf.run("store", "import", shelf.path("Copy.sqlite"), csv, "--no-backup")
    #expect(run.status == 0, "\(run.text)")
    #expect(try shelf.objects(shelf.path("Copy.sqlite")) == shelf.objects(shelf.path("Nodes.sqlite")))
  }

  @Test("A problem in a directory names the file and the line, and nothing is imported")
  func problems() throws {
    try shelf.directory.write("id,name\n1,Cy\n", to: "in/Author.csv")
    try shelf.directory.write("id,title,author\n2,T,9\n", to: "in/Book.csv")
    let before = try shelf.objects()
    let run = try shelf.run("store", "import", shelf.store, shelf.path("in"), "--no-backup")
    #expect(
      run.status == 6 && run.error.contains("Book.csv, line 2: Book.author: 9 is neither in the file"), "\(run.text)")
    // A rule of the model, which only the save checks.
    try shelf.directory.write("id,title\n2,T\n", to: "in/Book.csv")
    try shelf.directory.write("id,name\n1,C\n", to: "in/Author.csv")
    let rule = try shelf.run("store", "import", shelf.store, shelf.path("in"), "--no-backup")
    #expect(rule.status == 6 && rule.error.contains("Author.csv, line 2"), "\(rule.text)")
    try FileManager.default.createDirectory(atPath: shelf.path("none"), withIntermediateDirectories: true)
    let none = try shelf.run("store", "import", shelf.store, shelf.path("none"), "--no-backup")
    #expect(none.status == 6 && none.error.contains("is a directory without a file named *.csv"), "\(none.text)")
    #expect(try shelf.objects() == before)
  }

  @Test(
    "A store of another project is the same after its export as CSV and an import",
    .enabled(if: Fixtures.isPresent, "The fixtures are not beside the repository"))
  func fixtures() throws {
    var checked = 0
    for store in Fixtures.stores {
      let original = try Fixtures.copy(ofStore: store)
      let (copy, target) = (shelf.path("\(checked).sqlite"), shelf.path("csv\(checked)"))
      // A store without its model cannot be exported this way, and says so.
      let export = try shelf.run("store", "export", original.url.path, "--format", "csv", "--directory", target, "-q")
      if export.status == 4, export.error.contains("contains no model") { continue }
      #expect(export.status == 0, "\(store.path): \(export.text)")
      let create = try shelf.run("store", "create", copy, original.url.path)
      let run = try shelf.run("store", "import", copy, target, "--no-backup")
      #expect(create.status == 0 && run.status == 0, "\(store.path): \(create.error)\(run.error)")
      let diff = try shelf.run("store", "diff", original.url.path, copy)
      #expect(diff.lines.last == "No differences.", "\(store.path): \(diff.text)")
      checked += 1
    }
    #expect(checked >= 20)
  }
}
