// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import Testing

@Suite("Dictionaries as results")
struct DictionaryResultTests {
  private let stack: Stack

  init() throws {
    stack = try Stack(library())
    try stack.run { context in
      let authors = ["Ann", "Bob"].map { context.insert("Author", ["name": $0]) }
      for index in 0..<5 {
        context.insert(
          "Book", ["title": "t\(index % 3)", "pages": index * 10, "author": authors[index / 3]])
      }
      try context.save()
    }
  }

  private func total(_ name: String, _ function: String, of key: String) -> NSExpressionDescription {
    let result = NSExpressionDescription()
    result.name = name
    result.expression = NSExpression(forFunction: function, arguments: [NSExpression(forKeyPath: key)])
    result.expressionResultType = .integer64AttributeType
    return result
  }

  private func fetch(_ change: (NSFetchRequest<NSDictionary>) -> Void) throws -> [NSDictionary] {
    let request = NSFetchRequest<NSDictionary>(entityName: "Book")
    request.resultType = .dictionaryResultType
    change(request)
    return try stack.run { try $0.fetch(request) }
  }

  @Test("A dictionary has the properties that were asked for, also through a relationship")
  func properties() throws {
    let rows = try fetch {
      $0.propertiesToFetch = ["title", "author.name"]
      $0.sortDescriptors = [NSSortDescriptor(key: "pages", ascending: true)]
    }
    #expect(rows.first == ["title": "t0", "author.name": "Ann"])
    #expect(rows.count == 5)
  }

  @Test("Distinct results name each value once")
  func distinct() throws {
    let rows = try fetch {
      $0.propertiesToFetch = ["title"]
      $0.returnsDistinctResults = true
      $0.sortDescriptors = [NSSortDescriptor(key: "title", ascending: true)]
    }
    #expect(rows.map { $0["title"] as? String } == ["t0", "t1", "t2"])
  }

  @Test("Sum, minimum, maximum and count over all rows are one dictionary")
  func aggregates() throws {
    let rows = try fetch {
      $0.propertiesToFetch = [
        total("sum", "sum:", of: "pages"), total("least", "min:", of: "pages"), total("most", "max:", of: "pages"),
        total("number", "count:", of: "pages"),
      ]
    }
    #expect(rows == [["sum": 100, "least": 0, "most": 40, "number": 5]])
  }

  @Test("Groups have a dictionary each")
  func groups() throws {
    let rows = try fetch {
      $0.propertiesToFetch = ["title", total("sum", "sum:", of: "pages")]
      $0.propertiesToGroupBy = ["title"]
      $0.sortDescriptors = [NSSortDescriptor(key: "title", ascending: true)]
    }
    #expect(rows == [["title": "t0", "sum": 30], ["title": "t1", "sum": 50], ["title": "t2", "sum": 20]])
  }

  @Test("A predicate of having takes the groups that it says")
  func having() throws {
    let rows = try fetch {
      $0.propertiesToFetch = ["title", total("sum", "sum:", of: "pages")]
      $0.propertiesToGroupBy = ["title"]
      $0.havingPredicate = NSPredicate(format: "title != 't1'", argumentArray: [])
      $0.sortDescriptors = [NSSortDescriptor(key: "title", ascending: true)]
    }
    #expect(rows.map { $0["title"] as? String } == ["t0", "t2"])
  }

  @Test("Dictionaries are those of the store: what the context has not saved is not in them")
  func unsavedChanges() throws {
    _ = stack.run { $0.insert("Book", ["title": "new"]) }
    try deviation("OpenCoreData includes unsaved changes (dictionaryResultType in DEVIATIONS.md)") {
      let rows = try fetch { $0.propertiesToFetch = ["title"] }
      #expect(rows.count == 5)
    }
  }
}
