// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataTestSupport
import Foundation
import Testing

@Suite(
  "coredata store browse --write", .enabled(if: ProgramShelf.program.isPresent, "The program was not built"))
struct BrowseWriteTests {
  private let shelf: ProgramShelf

  init() throws {
    shelf = try ProgramShelf()
  }

  private func line(_ id: String) throws -> String {
    try #require(try shelf.objects().first { $0.contains("\"id\":\"\(id)\"") })
  }

  private func hasBackups() throws -> Int { try shelf.directory.files().count { $0.hasPrefix("Shelf~") } }

  @Test("A form changes values of every kind, after one backup, and leads to the object")
  func edit() throws {
    let browser = try BrowseClient(shelf.store, "--write")
    let object = try browser.get("object/Book/p1")
    #expect(object.text.contains("/edit/Book/p1\"") && object.text.contains("/delete/Book/p1\""))
    let answer = try browser.submit(
      "edit/Book/p1", ("v.title", "New\r\n\"title\""), ("v.pages", "321"), ("v.price", "19.90"), ("v.isRead", "true"),
      ("v.added", "2026-03-14T15:09:26Z"), ("v.place.city", "Rome"), ("v.author", "Author/p2"), ("v.tags", "Tag/p1"))
    #expect(answer.status == 303, "\(answer)")
    let saved = try browser.get(try #require(answer.headers["location"]))
    #expect(
      saved.status == 200 && saved.text.contains("Saved.") && saved.text.contains("Shelf~.sqlite"), "\(saved.text)")
    let line = try line("Book/p1")
    for part in [
      #""title":"New\n\"title\"""#, #""pages":321"#, #""price":"19.9""#, #""isRead":true"#, #""city":"Rome""#,
      #""author":"Author/p2""#, #""tags":["Tag/p1"]"#, "2026-03-14T15:09:26",
    ] { #expect(line.contains(part), "\(part) \(line)") }
    #expect(try browser.submit("edit/Book/p1", ("v.title", ""), ("n.title", "1")).status == 303)
    #expect(try self.line("Book/p1").contains(#""title":"""#) || self.line("Book/p1").contains(#""title":null"#))
    #expect(try hasBackups() == 1)
  }

  @Test("A form that is sent as it was loaded changes nothing, whatever the values are")
  func unchanged() throws {
    let before = try Data(contentsOf: URL(fileURLWithPath: shelf.store))
    let browser = try BrowseClient(shelf.store, "--write")
    for id in ["Book/p1", "Novel/p2", "Book/p3", "Author/p1", "Tag/p1"] {
      let answer = try browser.submit("edit/\(id)")
      #expect(answer.status == 303 && answer.headers["location"]?.hasSuffix("did=nothing") == true, "\(id) \(answer)")
    }
    #expect(try hasBackups() == 0)
    #expect(try Data(contentsOf: URL(fileURLWithPath: shelf.store)) == before)
  }

  @Test(
    "A wrong value or a broken rule is explained above the form, which keeps what was typed",
    arguments: [
      ("edit/Book/p1", "v.pages", "many", "is not an Integer 32"), ("edit/Book/p1", "v.pages", "-1", "pages"),
      ("edit/Author/p1", "v.name", "A", "name"), ("edit/Book/p1", "v.author", "Author/p99", "no object Author/p99"),
      ("edit/Book/p1", "v.author", "Tag/p1", "is not a Author"), ("new/Author", "v.name", "", "name"),
    ])
  func refused(path: String, field: String, text: String, expected: String) throws {
    let before = try shelf.objects()
    let browser = try BrowseClient(shelf.store, "--write")
    let answer = try browser.submit(path, (field, text))
    #expect(
      answer.status == 422 && answer.text.contains("class=\"bad\"") && answer.text.contains(expected), "\(answer)")
    if !text.isEmpty { #expect(answer.text.contains("value=\"\(text)\"") || answer.text.contains("\n\(text)<")) }
    #expect(try shelf.objects() == before && hasBackups() == 0)
  }

  @Test("Objects are inserted with their default values, and deleted by the rules of the model")
  func insertAndDelete() throws {
    let browser = try BrowseClient(shelf.store, "--write", "--no-backup")
    #expect(try browser.get("list/Novel").text.contains("/new/Novel\""))
    let form = try browser.get("new/Novel")
    #expect(form.value("v.pages") == "0")
    let made = try browser.submit("new/Novel", ("v.title", "Third"), ("v.author", "Author/p2"))
    #expect(made.status == 303, "\(made)")
    #expect(try line("Novel/p4").contains("\"title\":\"Third\""))
    let denied = try browser.submit("delete/Author/p1")
    #expect(denied.status == 422 && denied.text.contains("class=\"bad\""), "\(denied)")
    let deleted = try browser.submit("delete/Novel/p4")
    #expect(deleted.status == 303 && deleted.headers["location"]?.contains("list/Novel") == true, "\(deleted)")
    #expect(try !shelf.objects().contains { $0.contains("Novel/p4") })
    #expect(try browser.get("edit/Novel/p4").status == 404)
    #expect(try hasBackups() == 0)
  }

  @Test("Of two browsers that edit one object, the second sees what the first has saved, and saves nothing")
  func twoBrowsers() throws {
    let browser = try BrowseClient(shelf.store, "--write")
    let (one, other) = (try browser.get("edit/Book/p1"), try browser.get("edit/Book/p1"))
    #expect(try browser.post("edit/Book/p1", browser.hidden(one) + [("v.title", "First")]).status == 303)
    let answer = try browser.post("edit/Book/p1", browser.hidden(other) + [("v.title", "Second")])
    #expect(answer.status == 409 && answer.text.contains("was changed after this form was loaded"), "\(answer)")
    #expect(answer.text.contains("The store has: First") && answer.text.contains("Second</textarea>"))
    #expect(try line("Book/p1").contains("\"title\":\"First\""))
    #expect(try browser.post("delete/Book/p1", browser.hidden(other)).status == 409)
    // What the answer has shown can be saved.
    #expect(try browser.post("edit/Book/p1", browser.hidden(answer) + [("v.title", "Second")]).status == 303)
    #expect(try line("Book/p1").contains("\"title\":\"Second\""))
  }

  @Test("Forms of other sites, and without the secrets, change nothing")
  func otherSites() throws {
    let before = try shelf.objects()
    let browser = try BrowseClient(shelf.store, "--write")
    let form = try browser.get("edit/Book/p1")
    let fields = browser.hidden(form) + [("v.title", "Stolen")]
    for header in ["Origin: https://evil.example", "Origin: null", "Sec-Fetch-Site: cross-site"] {
      #expect(try browser.post("edit/Book/p1", fields, header).status == 403)
    }
    let state = fields.filter { $0.0 != "form" }
    #expect(try browser.post("edit/Book/p1", state).status == 403)
    #expect(try browser.post("edit/Book/p1", state + [("form", String(repeating: "0", count: 32))]).status == 403)
    let type = ["Content-Type: application/x-www-form-urlencoded", "Content-Length: 1"]
    #expect(try browser.ask("POST /edit/Book/p1", type, "a").status == 403)
    #expect(try browser.ask("POST \(browser.base)edit/Book/p1", type, "a", host: "evil.example").status == 403)
    #expect(try browser.get("edit/Book/p1?v.title=Stolen&form=\(form.value("form") ?? "")").status == 200)
    #expect(try shelf.objects() == before)
    // The server's own page.
    let own = "Origin: http://127.0.0.1:\(browser.port)"
    #expect(try browser.post("edit/Book/p1", fields, own, "Sec-Fetch-Site: same-origin").status == 303)
  }

  @Test("Requests that are too large, or no forms, are refused at once")
  func wrongRequests() throws {
    let browser = try BrowseClient(shelf.store, "--write")
    let post = "POST \(browser.base)edit/Book/p1"
    let form = "Content-Type: application/x-www-form-urlencoded"
    let huge = String(repeating: "x", count: 20 << 20)
    #expect(try browser.ask(post, [form, "Content-Length: \(huge.utf8.count)"], huge).status == 413)
    #expect(try browser.ask(post, [form, "Content-Length: 4294967296"]).status == 411)
    #expect(try browser.ask(post, [form, "Content-Length: -1"]).status == 411)
    #expect(try browser.ask(post, [form]).status == 411)
    #expect(try browser.ask(post, [form, "Transfer-Encoding: chunked"], "0\r\n\r\n").status == 413)
    #expect(
      try browser.ask(post, ["Content-Type: multipart/form-data; boundary=x", "Content-Length: 0"]).status == 415)
    #expect(try browser.ask("DELETE \(browser.base)object/Book/p1", []).status == 405)
    #expect(try browser.get("").status == 200)
  }

  @Test("A store that another program has open is refused, and changed when it is closed")
  func inUse() throws {
    let browser = try BrowseClient(shelf.store, "--write")
    let other = try BrowseClient(shelf.store)
    let answer = try browser.submit("edit/Book/p1", ("v.title", "Late"))
    #expect(answer.status == 409 && answer.text.contains("open"), "\(answer)")
    #expect(answer.text.contains("Late</textarea>"))
    #expect(try other.get("").status == 200)
    withExtendedLifetime(other) {}
  }

  @Test("Without --write, there are no forms to change anything")
  func readOnly() throws {
    let browser = try BrowseClient(shelf.store)
    #expect(try !browser.get("object/Book/p1").text.contains("/edit/"))
    #expect(try browser.get("edit/Book/p1").status == 404)
    #expect(try browser.post("edit/Book/p1", [("form", "x")]).status == 405)
    let run = try shelf.run("store", "browse", shelf.store, "--no-backup")
    #expect(run.status == 2 && run.error.contains("belong to --write"))
  }

  @Test("Values never become markup, nor names of files")
  func hostile() throws {
    let browser = try BrowseClient(shelf.store, "--write")
    let text = "</textarea><script>alert(1)</script>\"'&amp;\u{202e}"
    #expect(try browser.submit("edit/Book/p1", ("v.title", text)).status == 303)
    let form = try browser.get("edit/Book/p1")
    #expect(!form.text.contains("<script>") && !form.text.contains("\u{202e}"))
    #expect(form.text.contains("&lt;/textarea&gt;&lt;script&gt;") && form.text.contains("&amp;amp;&#8238;</textarea>"))
    #expect(try browser.submit("edit/Book/p1").headers["location"]?.hasSuffix("did=nothing") == true)
    let refused = try browser.submit("edit/Book/p1", ("v.pages", "\"><script>"))
    #expect(refused.status == 422 && !refused.text.contains("<script>"))
    // What store set reads from a file is a value here.
    #expect(try browser.submit("edit/Tag/p1", ("v.name", "@/etc/passwd")).status == 303)
    #expect(try line("Tag/p1").contains("\"name\":\"@/etc/passwd\""))
    #expect(try browser.submit("edit/Tag/p1", ("v.name", "null")).status == 303)
    #expect(try line("Tag/p1").contains("\"name\":\"null\""))
  }

  @Test("XML and binary stores are changed too", arguments: ["xml", "binary"])
  func otherTypes(type: String) throws {
    let store = shelf.path("Books.\(type)")
    try #require(try shelf.run("store", "copy", shelf.store, store, "--type", type, "-q").status == 0)
    let browser = try BrowseClient(store, "--write", "--model", shelf.model)
    let id = try #require(
      try shelf.objects(store, "--model", shelf.model).first { $0.contains("Ada") }?.firstMatch(of: /Author\/p[0-9]+/)?
        .0)
    #expect(try browser.submit("edit/\(id)", ("v.name", "Zoe")).status == 303)
    #expect(try shelf.objects(store, "--model", shelf.model).contains { $0.contains("Zoe") })
    #expect(shelf.directory.exists("Books~.\(type)"))
  }
}
