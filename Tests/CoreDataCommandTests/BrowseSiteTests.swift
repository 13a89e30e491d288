// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreDataCommand

@Suite("The pages of coredata store browse")
struct BrowseSiteTests {
  private let library: BrowseLibrary
  private let site: BrowseSite

  init() throws {
    library = try BrowseLibrary()
    site = try library.site(library.store)
  }

  @Test("The first page names the entities, and counts the objects of subentities too")
  func overview() throws {
    let page = try site.get("")
    #expect(page.status == 200 && page.headers["content-type"] == "text/html; charset=utf-8")
    #expect(site.links(page, "list/") == ["list/Author", "list/Book", "list/Novel", "list/Tag"])
    #expect(page.text.contains("<td class=\"number\">120</td>"))
    #expect(page.text.contains("Read only."))
    let policy = try #require(page.headers["content-security-policy"])
    #expect(policy.hasPrefix("default-src 'none';") && !policy.contains("script-src"))
    #expect(!page.text.contains("<script") && !page.text.contains("http://") && !page.text.contains("https://"))
  }

  @Test(
    "A search finds an object of any row by its text, number, UUID or key",
    arguments: [
      ("volume 119", "Volume 119"), ("357", "Volume 119"), ("p119", "Volume 119"), ("ete a", "Été à Nantes"),
      ("0f0e0d0c-0b0a-0908-0706-050403020100", "Été à Nantes"), ("12.5", "Été à Nantes"),
    ])
  func search(text: String, found: String) throws {
    let page = try site.get("list/Book?q=\(URLText.encoded(text))")
    #expect(page.status == 200)
    #expect(page.text.contains("1 object found in all rows"), "\(text)")
    #expect(page.text.contains(">\(found)<"), "\(text)")
  }

  @Test("A search without a result says so, as does one of an entity without text")
  func nothingFound() throws {
    let page = try site.get("list/Author?q=nobody")
    #expect(page.text.contains("0 objects found in all rows") && !page.text.contains("No objects"))
  }

  @Test("A predicate filters, and one that is wrong is explained and kept in its field")
  func predicates() throws {
    let page = try site.get("list/Book?p=" + URLText.encoded("pages > 300 AND author.name BEGINSWITH 'Iris'"))
    #expect(page.status == 200 && page.text.contains("0 objects found"))
    let some = try site.get("list/Book?p=" + URLText.encoded("pages >= 300 AND author.name BEGINSWITH 'Iris'"))
    #expect(some.text.contains("1 object found") && some.text.contains(">Volume 100<"))
    for wrong in ["pages >", "nothing == 1", "FUNCTION(self, 'delete') == 1", "pages BEGINSWITH 3"] {
      let page = try site.get("list/Book?p=" + URLText.encoded(wrong))
      #expect(page.status == 422, "\(wrong)")
      #expect(page.text.contains("<p class=\"bad\">"), "\(wrong)")
      #expect(page.text.contains("name=\"p\" aria-label=\"Predicate\" value=\"\(wrong.prefix(5))"), "\(wrong)")
    }
  }

  @Test("Every object is on exactly one page, in the chosen order")
  func pagesAndOrder() throws {
    var found: [String] = []
    var path: String? = "list/Book?sort=pages&desc=1"
    var count = 0
    while let next = path, count < 10 {
      let page = try site.get(next)
      found += site.links(page, "object/Book/") + site.links(page, "object/Novel/")
      count += 1
      path = site.links(page, "list/Book?").first { page.text.contains("\($0.replacing("&", with: "&amp;"))\">Next<") }
    }
    #expect(count == 3 && found.count == BrowseLibrary.bookCount && Set(found).count == found.count)
    #expect(found.first == "object/Book/p120" && found.last == "object/Novel/p121")
    #expect(try site.get("list/Book?page=999999999999").text.contains("No objects on this page."))
    #expect(try site.get("list/Book?page=-3&sort=nothing").status == 200)
  }

  @Test("Relationships lead to their objects: to one, to many, many to many, ordered")
  func relationships() throws {
    let author = try site.get("object/Author/p1")
    #expect(author.text.contains("<h1>Iris Maple</h1>"))
    let list = try #require(site.links(author, "list/Book?").first { $0.contains("rel=books") })
    let books = try site.get(list)
    #expect(books.text.contains("100 objects") && books.text.contains("Page 1 of 2"))
    #expect(try site.get(list + "&q=volume+99").text.contains("1 object found"))
    let book = try site.get("object/Book/p5")
    #expect(site.links(book, "object/Author/p1").count == 1 && book.text.contains(">green</a>"))
    let tag = try site.get("object/Tag/p1")
    let tagged = try #require(site.links(tag, "list/Book?").first)
    #expect(try site.get(tagged).text.contains("70 objects"))
    let favorites = try #require(site.links(try site.get("object/Author/p2"), "list/Book?").first)
    let ordered = try site.get(favorites)
    #expect(site.links(ordered, "object/Book/") == ["object/Book/p5", "object/Book/p3", "object/Book/p10"])
    #expect(site.links(try site.get(favorites + "&sort=pages"), "object/Book/").first == "object/Book/p3")
    #expect(try site.get("list/Tag?of=Author/p1&rel=books").status == 404)
  }

  @Test("Pictures are shown, and what could contain scripts is only saved")
  func binaryData() throws {
    let author = try site.get("object/Author/p1")
    #expect(author.text.contains("<img src=\"/\(site.token)/data/Author/p1/portrait\""))
    let picture = try site.get("data/Author/p1/portrait")
    #expect(picture.body == BrowseLibrary.picture && picture.headers["content-type"] == "image/png")
    #expect(picture.headers["content-disposition"] == nil && picture.headers["x-content-type-options"] == "nosniff")
    #expect(try !site.get("object/Author/p2").text.contains("<img"))
    let script = try site.get("data/Author/p2/portrait")
    #expect(script.body == BrowseLibrary.script && script.headers["content-type"] == "application/octet-stream")
    #expect(script.headers["content-disposition"]?.hasPrefix("attachment; ") == true)
    #expect(script.headers["content-security-policy"] == "default-src 'none'; sandbox")
    let text = try site.get("data/Author/p2/name")
    #expect(text.text == BrowseLibrary.hostile && text.headers["content-type"] == "text/plain; charset=utf-8")
    #expect(text.headers["content-disposition"]?.hasPrefix("attachment; ") == true)
    #expect(try site.get("data/Author/p1/nothing").status == 404)
    #expect(try site.get("data/Author/p1/born").status == 404)
  }

  @Test("Long texts are cut, and lead to the whole")
  func longTexts() throws {
    let page = try site.get("object/Author/p1")
    #expect(page.text.contains(">all 50,000 bytes</a>") && page.body.count < 60_000)
    #expect(try site.get("data/Author/p1/biography").body.count == 50_000)
    #expect(try site.get("list/Author").body.count < 20_000)
  }

  @Test("Values never become markup", arguments: ["list/Author", "object/Author/p2", "object/Book/p5", "history"])
  func escaping(path: String) throws {
    let page = try site.get(path)
    #expect(page.status == 200)
    for text in ["<script", "alert('x')", "\u{202e}", "\u{1b}"] { #expect(!page.text.contains(text), "\(text)") }
  }

  @Test("What a request contains never becomes markup")
  func escapingOfRequests() throws {
    let text = URLText.encoded("\"><script>alert(1)</script>")
    for path in [
      "list/Book?q=\(text)", "list/Book?p=\(text)", "list/\(text)", "object/Book/\(text)", "list/Book?q=a&sort=\(text)",
      "list/Book?of=\(text)&rel=\(text)", "history?before=\(text)", "data/Author/p1/\(text)", text,
    ] {
      #expect(try !site.get(path).text.contains("<script"), "\(path)")
    }
  }

  @Test("History shows transactions, the latest first, with their changes")
  func history() throws {
    let page = try site.get("history")
    #expect(site.links(page, "history/") == ["history/3", "history/2", "history/2", "history/1"])
    #expect(page.text.contains("librarian") && page.text.contains("deleted Book p111"))
    let second = try site.get("history/2")
    #expect(second.text.contains("Transaction 2") && second.text.contains("inserted"))
    #expect(site.links(second, "object/Book/").count == BrowseLibrary.bookCount)
    #expect(site.links(try site.get("history?before=3"), "history/3").isEmpty)
    #expect(try site.get("history?before=1").text.contains("There are no earlier transactions."))
    for path in ["history/4", "history/x", "history?before=x", "history/9223372036854775807"] {
      #expect(try site.get(path).status == 404, "\(path)")
    }
  }

  @Test("What is not there is said to be missing")
  func missing() throws {
    let paths = [
      "object/Book/p111", "object/Book/p9999", "object/Book/x", "object/Nothing/p1", "list/Nothing", "other", "list",
      "object/Book", "list/Book/x", "object/Book/p1/x/y", "object/Book/p%2F1", "object/%00/p1",
    ]
    for path in paths {
      let page = try site.get(path)
      #expect(page.status == 404, "\(path)")
      #expect(page.text.contains("Not found"), "\(path)")
    }
  }

  @Test("Only requests with the secret, to this server, are answered")
  func access() throws {
    for host in ["evil.example:4711", "127.0.0.1", "127.0.0.1:4712", "127.0.0.1:4711.evil.example", ""] {
      #expect(try site.get("", host: host).status == 403, "\(host)")
    }
    #expect(try site.get("", host: "localhost:4711").status == 200)
    for path in ["/", "/list/Book", "/\(site.token.dropLast())/", "/\(site.token.dropLast())x/", "/\(site.token)x/"] {
      let answer = try site.send("GET \(path) HTTP/1.1\r\nHost: 127.0.0.1:4711\r\n\r\n")
      #expect(answer.status == 403 && !answer.text.contains("Book"), "\(path)")
    }
    #expect(try library.site(library.store).token != site.token)
  }

  @Test("HEAD has the header of the page only")
  func head() throws {
    let head = try site.get("", method: "HEAD")
    #expect(head.status == 200 && head.body.isEmpty)
    #expect(try head.headers["content-length"] == String(site.get("").body.count))
  }

  @Test("What another program writes is shown")
  func otherPrograms() throws {
    #expect(try site.get("object/Tag/p1").text.contains("green"))
    let other = try library.model(changing: "Tag", key: "label", to: "blue")
    defer { other() }
    #expect(try site.get("object/Tag/p1").text.contains("blue"))
    #expect(try site.get("list/Tag?q=blue").text.contains("1 object found"))
  }

  @Test("XML and binary stores are shown with their model, and say that it is needed", arguments: ["xml", "binary"])
  func otherTypes(type: String) throws {
    let path = library.path("Library.\(type)")
    let run = CommandRun("store", "copy", library.store, path, "--type", type)
    try #require(run.status == .done, "\(run.error)")
    let files = try library.files()
    #expect(CommandRun("store", "browse", path).error.contains("--model MODEL"))
    let site = try library.site(path, "--model", library.model)
    #expect(try site.get("list/Book?q=volume+119").text.contains("1 object found"))
    let page = try site.get("list/Book?sort=pages&desc=1")
    let book = try #require(site.links(page, "object/Book/").first)
    #expect(try site.get(book).text.contains("<h1>Volume 120</h1>"))
    #expect(try site.get("list/Author").text.contains("<img"))
    #expect(try site.get("history").text.contains("has no persistent history"))
    try site.store.close()
    #expect(try library.files() == files)
  }

  @Test("A store in a server is shown by its URL, without its password")
  func servers() throws {
    _ = TestServerStore.registration
    let url = "teststore://user:secret@host/library-\(UUID().uuidString)"
    let run = CommandRun("store", "copy", library.store, url)
    try #require(run.status == .done, "\(run.error)")
    let site = try library.site(url)
    let overview = try site.get("")
    #expect(overview.text.contains("library-") && !overview.text.contains("secret"))
    #expect(try site.get("list/Book?q=volume+119").text.contains("1 object found"))
  }

  @Test("A store is not changed, and nothing is left beside it")
  func unchanged() throws {
    let library = try BrowseLibrary()
    let before = try Data(contentsOf: URL(fileURLWithPath: library.store))
    let files = try library.files()
    let site = try library.site(library.store)
    for path in ["", "list/Book?q=a&sort=title", "object/Author/p1", "history"] { _ = try site.get(path) }
    try site.store.close()
    #expect(try library.files() == files)
    #expect(try Data(contentsOf: URL(fileURLWithPath: library.store)) == before)
  }
}

extension BrowseLibrary {
  /// Changes a value of the first object of an entity with a coordinator of its own, as another program does.
  ///
  /// - Returns: closes the store.
  fileprivate func model(changing entity: String, key: String, to value: String) throws -> () -> Void {
    let model = try NSManagedObjectModel.load(contentsOf: URL(fileURLWithPath: self.model), version: "Library")
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
    let added = try coordinator.addPersistentStore(
      type: .sqlite, configuration: nil, at: URL(fileURLWithPath: store),
      options: [NSPersistentHistoryTrackingKey: true])
    let context = NSManagedObjectContext(concurrencyType: .privateQueueConcurrencyType)
    context.persistentStoreCoordinator = coordinator
    try context.performAndWait {
      let object = try context.fetch(NSFetchRequest<NSManagedObject>(entityName: entity)).first
      object?.setValue(value, forKey: key)
      try context.save()
    }
    return {
      do { try coordinator.remove(added) } catch { Issue.record(error) }
    }
  }
}
