// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import Testing

@Suite("Fetch requests")
struct FetchTests {
  private let stack: Stack

  /// Two authors, five books of 100 to 500 pages, three tags; the last book has no author, price and tag.
  init() throws {
    stack = try Stack(library())
    try stack.run { context in
      let authors = ["Ann", "Bob"].map { context.insert("Author", ["name": $0, "born": $0 == "Ann" ? 1950 : 1980]) }
      let tags = ["x", "y", "z"].map { context.insert("Tag", ["name": $0]) }
      for (index, title) in ["alpha", "Beta", "gamma", "Délta", "epsilon"].enumerated() {
        let book = context.insert(
          "Book",
          [
            "title": title, "pages": (index + 1) * 100,
            "published": Date(timeIntervalSinceReferenceDate: Double(index) * 86_400),
          ])
        guard index < 4 else { continue }
        book.setValue(Double(index) + 0.5, forKey: "price")
        book.setValue(authors[index / 3], forKey: "author")
        book.setValue(Set(tags[0...min(index, 2)]), forKey: "tags")
      }
      try context.save()
      context.reset()
    }
  }

  private func titles(_ format: String, _ arguments: Any...) throws -> [String] {
    let condition = NSPredicate(format: format, argumentArray: arguments)
    return try stack.run { try $0.texts("title", of: "Book", where: condition) }
  }

  @Test("Comparisons take the rows that they say")
  func comparisons() throws {
    #expect(try titles("pages > 300") == ["Délta", "epsilon"])
    #expect(try titles("pages BETWEEN {200, 300}") == ["Beta", "gamma"])
    #expect(try titles("pages IN %@", [100, 500]) == ["alpha", "epsilon"])
    #expect(try titles("title == %@", "alpha") == ["alpha"])
    #expect(try titles("published < %@", Date(timeIntervalSinceReferenceDate: 86_400)) == ["alpha"])
  }

  @Test("AND, OR and NOT join comparisons")
  func compounds() throws {
    #expect(try titles("pages > 100 AND pages < 400") == ["Beta", "gamma"])
    #expect(try titles("pages == 100 OR pages == 500") == ["alpha", "epsilon"])
    #expect(try titles("NOT pages < 500") == ["epsilon"])
    #expect(try titles("FALSEPREDICATE") == [])
  }

  @Test("Texts are compared with regard to case and accents, unless [c] and [d] say otherwise")
  func texts() throws {
    #expect(try titles("title BEGINSWITH 'b'") == [])
    #expect(try titles("title BEGINSWITH[c] 'b'") == ["Beta"])
    #expect(try titles("title CONTAINS[d] 'elta'") == ["Délta"])
    #expect(try titles("title ==[cd] 'delta'") == ["Délta"])
    #expect(try titles("title ENDSWITH 'n'") == ["epsilon"])
    #expect(try titles("title LIKE '*a?ma'") == ["gamma"])
  }

  @Test("nil matches what has no value, of attributes and relationships")
  func missing() throws {
    #expect(try titles("price == nil") == ["epsilon"])
    #expect(try titles("author == nil") == ["epsilon"])
    #expect(try titles("author != nil AND pages < 200") == ["alpha"])
  }

  @Test("Key paths go through to-one relationships, and ANY through to-many ones")
  func keyPaths() throws {
    #expect(try titles("author.name == 'Bob'") == ["Délta"])
    #expect(try titles("ANY tags.name == 'z'") == ["Délta", "gamma"])
    #expect(try titles("tags.@count == 1") == ["alpha"])
    #expect(try titles("tags.@count == 0") == ["epsilon"])
  }

  @Test("An object is compared with a relationship, by itself and by its identifier")
  func objects() throws {
    let ann = try stack.run { try #require(try $0.all("Author", where: predicate("name == 'Ann'")).first) }
    #expect(try titles("author == %@", ann) == ["Beta", "alpha", "gamma"])
    #expect(try titles("author == %@", ann.objectID) == ["Beta", "alpha", "gamma"])
    let alpha = try stack.run { try #require(try $0.all("Book", where: predicate("title == 'alpha'")).first) }
    #expect(try titles("SELF IN %@", [alpha.objectID]) == ["alpha"])
  }

  @Test("SUBQUERY counts the members that meet several conditions at once")
  func subqueries() throws {
    let names = try stack.run {
      try $0.texts(
        "name", of: "Author",
        where: predicate("SUBQUERY(books, $b, $b.pages > 100 AND $b.price < 2).@count == 1"))
    }
    #expect(names == ["Ann"])
  }

  @Test("Aggregates over a to-many relationship")
  func aggregates() throws {
    func names(_ format: String) throws -> [String] {
      try stack.run { try $0.texts("name", of: "Author", where: NSPredicate(format: format, argumentArray: [])) }
    }
    #expect(try names("books.@sum.pages == 600") == ["Ann"])
    #expect(try names("books.@max.pages > 300") == ["Bob"])
    #expect(try names("books.@avg.pages == 200") == ["Ann"])
  }

  @Test("Rows without a value come first in an ascending order, and last in a descending one")
  func missingValuesInOrder() throws {
    func order(ascending: Bool) throws -> [String?] {
      let request = NSFetchRequest<NSManagedObject>(entityName: "Book")
      request.sortDescriptors = [NSSortDescriptor(key: "price", ascending: ascending)]
      return try stack.run { try $0.fetch(request).map { $0.text("title") } }
    }
    #expect(try order(ascending: true) == ["epsilon", "alpha", "Beta", "gamma", "Délta"])
    #expect(try order(ascending: false) == ["Délta", "gamma", "Beta", "alpha", "epsilon"])
  }

  @Test("Several sort descriptors, one of them through a relationship, order by the first and then by the next")
  func order() throws {
    let request = NSFetchRequest<NSManagedObject>(entityName: "Book")
    request.predicate = predicate("author != nil")
    request.sortDescriptors = [
      NSSortDescriptor(key: "author.name", ascending: false), NSSortDescriptor(key: "pages", ascending: false),
    ]
    let titles = try stack.run { try $0.fetch(request).map { $0.text("title") } }
    #expect(titles == ["Délta", "gamma", "Beta", "alpha"])
  }

  @Test("Limit and offset take a part of the order, and a count counts the part")
  func limits() throws {
    let request = NSFetchRequest<NSManagedObject>(entityName: "Book")
    request.sortDescriptors = [NSSortDescriptor(key: "pages", ascending: true)]
    request.fetchOffset = 1
    request.fetchLimit = 2
    try stack.run { context throws in
      #expect(try context.fetch(request).map { $0.number("pages") } == [200, 300])
      #expect(try context.count(for: request) == 2)
    }
  }

  @Test("A batch size changes nothing of the result")
  func batches() throws {
    let request = NSFetchRequest<NSManagedObject>(entityName: "Book")
    request.sortDescriptors = [NSSortDescriptor(key: "pages", ascending: true)]
    request.fetchBatchSize = 2
    try stack.run { context in
      let books = try context.fetch(request)
      #expect(books.count == 5)
      #expect(books.map { $0.number("pages") } == [100, 200, 300, 400, 500])
    }
  }

  @Test("A request sees what the context has not saved, unless it excludes pending changes")
  func pendingChanges() throws {
    try stack.run { context in
      context.insert("Book", ["title": "new"])
      try context.all("Book", where: predicate("title == 'alpha'")).first?.setValue("omega", forKey: "title")
      #expect(try context.all("Book").count == 6)
      #expect(try context.all("Book", where: predicate("title == 'omega'")).count == 1)
      #expect(try context.all("Book", where: predicate("title == 'alpha'")).isEmpty)
      let request = NSFetchRequest<NSManagedObject>(entityName: "Book")
      request.includesPendingChanges = false
      #expect(try context.fetch(request).count == 5)
    }
  }

  @Test("Identifiers and counts as results")
  func otherResults() throws {
    let identifiers = NSFetchRequest<NSManagedObjectID>(entityName: "Book")
    identifiers.resultType = .managedObjectIDResultType
    let counts = NSFetchRequest<NSNumber>(entityName: "Book")
    counts.resultType = .countResultType
    try stack.run { context throws in
      let found = Set(try context.fetch(identifiers))
      #expect(try found == Set(context.all("Book").map(\.objectID)))
      #expect(try context.fetch(counts).map(\.intValue) == [5])
    }
  }

  @Test("Prefetching a relationship changes nothing of the result")
  func prefetching() throws {
    let request = NSFetchRequest<NSManagedObject>(entityName: "Author")
    request.relationshipKeyPathsForPrefetching = ["books", "books.tags"]
    request.sortDescriptors = [NSSortDescriptor(key: "name", ascending: true)]
    #expect(try stack.run { try $0.fetch(request).map { $0.objects("books").count } } == [3, 1])
  }

  @Test("A request of an abstract parent gives the objects of its children, and one without subentities does not")
  func hierarchy() throws {
    let parent = entity("Medium", [attribute("title")])
    parent.isAbstract = true
    let children = [entity("Film"), entity("Song")]
    parent.subentities = children
    let stack = try Stack(model(parent, children[0], children[1]))
    try stack.run { context in
      context.insert("Film", ["title": "f"])
      context.insert("Song", ["title": "s"])
      try context.save()
      #expect(try context.texts("title", of: "Medium") == ["f", "s"])
      let request = NSFetchRequest<NSManagedObject>(entityName: "Medium")
      request.includesSubentities = false
      #expect(try context.fetch(request).isEmpty)
      #expect(try context.all("Film").first?.entity.isKindOf(entity: parent) == true)
    }
  }

  @Test("A request template of the model takes its variables")
  func template() throws {
    let model = library()
    let request = NSFetchRequest<NSFetchRequestResult>(entityName: "Book")
    request.predicate = NSPredicate(format: "pages > $minimum", argumentArray: [])
    model.setFetchRequestTemplate(request, forName: "long")
    let stack = try Stack(model)
    try stack.run { context in
      for pages in [10, 20, 30] { context.insert("Book", ["pages": pages]) }
      try context.save()
      let filled = try #require(
        model.fetchRequestFromTemplate(withName: "long", substitutionVariables: ["minimum": 15]))
      #expect(try context.count(for: filled) == 2)
    }
  }

  @Test("An asynchronous fetch hands over its results")
  func asynchronous() async throws {
    let request = NSFetchRequest<NSManagedObject>(entityName: "Book")
    let log = Log()
    let asynchronous = NSAsynchronousFetchRequest(fetchRequest: request) { result in
      log.add("\(result.finalResult?.count ?? -1)")
    }
    _ = try stack.run { try $0.execute(asynchronous) }
    for _ in 0..<500 where log.all.isEmpty { try await Task.sleep(nanoseconds: 10_000_000) }
    #expect(log.all == ["5"])
  }
}
