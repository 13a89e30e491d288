// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataTestSupport
import Foundation
import Testing

@Suite("Near names for misspelled ones", .enabled(if: ProgramShelf.program.isPresent, "The program was not built"))
struct NearNameTests {
  private let shelf: ProgramShelf

  init() throws {
    shelf = try ProgramShelf()
  }

  @Test(
    "An unknown property in a predicate is an error of the command line that names a near property",
    arguments: [
      ("Book", "titel == 'a'", "Book has no property titel. Did you mean title?"),
      ("Book", "title != nil AND NOT (pags > 3)", "Book has no property pags. Did you mean pages?"),
      ("Book", "title == titel", "Book has no property titel. Did you mean title?"),
      ("Book", "author.nam == 'a'", "Author has no property nam, in the key path author.nam. Did you mean name?"),
      ("Author", "ANY books.pags > 3", "Book has no property pags, in the key path books.pags. Did you mean pages?"),
      ("Author", "SUBQUERY(books, $b, $b.pags > 3).@count > 0", "Book has no property pags. Did you mean pages?"),
      ("Author", "SUBQUERY(boks, $b, $b.pages > 3).@count > 0", "Author has no property boks. Did you mean books?"),
      ("Author", "books.@cuont > 3", "A relationship has no property @cuont"),
      (
        "Book", "place.ctiy == 'Rome'",
        "The composite attribute has no property ctiy, in the key path place.ctiy. Did you mean city?"
      ),
      ("Book", "pages IN {1, pags}", "Book has no property pags. Did you mean pages?"),
      ("Book", "pages + pags > 1", "Book has no property pags. Did you mean pages?"),
      ("Book", "genre == 'crime'", "Book has no property genre, which only its subentity Novel has."),
    ])
  func predicate(entity: String, text: String, sentence: String) throws {
    let run = try shelf.run("store", "query", shelf.store, entity, text)
    #expect(run.status == 2 && run.output.isEmpty)
    #expect(run.error.contains(sentence), "\(run.error)")
  }

  @Test(
    "Names that exist, of every kind, are no error",
    arguments: [
      ("Book", "SELF != nil AND entity.name == 'Book'", 2), ("Author", "books.@count > 1", 1),
      ("Author", "books.@max.pages == 200", 1), ("Book", "place.city == 'Rome'", 1),
      ("Author", "SUBQUERY(books, $b, $b.pages > 150 AND $b.author.name == 'Ada').@count == 1", 1),
      ("Novel", "genre == 'crime' AND length:(title) > 2", 1), ("Book", "ANY tags.name == 'old'", 2),
      ("Book", "pages > 50 + 60", 1), ("Book", "TRUEPREDICATE", 3),
    ])
  func known(entity: String, text: String, count: Int) throws {
    let run = try shelf.run("store", "query", shelf.store, entity, text, "--count")
    #expect(run.status == 0 && run.output == "\(count)\n", "\(text): \(run.text)")
  }

  @Test("A misspelled entity, sort key and column are errors that name near ones")
  func others() throws {
    let entity = try shelf.run("store", "query", shelf.store, "Atuhor")
    #expect(entity.status == 4 && entity.error.contains("no entity Atuhor. Did you mean Author?"), "\(entity.text)")
    for option in ["--sort", "--show"] {
      let run = try shelf.run("store", "query", shelf.store, "Book", option, "pages,autor")
      #expect(run.status == 2 && run.error.contains("no property autor. Did you mean author?"), "\(run.text)")
    }
    let descending = try shelf.run("store", "query", shelf.store, "Book", "--sort", "-pags")
    #expect(descending.status == 2 && descending.error.contains("Did you mean pages?"), "\(descending.text)")
    let child = try shelf.run("store", "query", shelf.store, "Book", "--sort", "genre")
    #expect(child.status == 2 && child.error.contains("only its subentity Novel"), "\(child.text)")
  }
}
