// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataMigration
import CoreDataModelFiles
import CoreDataSQLite
import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreDataAnalysis

#if canImport(FoundationXML)
import FoundationXML
#endif

/// The elements of well-formed markup, with their attributes, and its text.
private final class Markup: NSObject, XMLParserDelegate {
  private(set) var elements: [(name: String, attributes: [String: String])] = []
  private(set) var text = ""

  /// Nil where the markup is not well-formed.
  init?(_ source: String) {
    super.init()
    let parser = XMLParser(data: Data(source.utf8))
    parser.delegate = self
    guard parser.parse() else { return nil }
  }

  func parser(
    _ parser: XMLParser, didStartElement name: String, namespaceURI: String?, qualifiedName: String?,
    attributes: [String: String]
  ) { elements.append((name, attributes)) }

  func parser(_ parser: XMLParser, foundCharacters string: String) { text += string }

  func count(_ name: String) -> Int { elements.count { $0.name == name } }
}

@Suite("Pictures and pages")
struct PageTests {
  @Test("Boxes do not overlap, and everything is inside the picture", .enabled(if: Fixtures.isPresent))
  func layouts() throws {
    var (pictures, lines) = (0, 0)
    for model in Fixtures.modelBundles {
      // Some fixtures are damaged on purpose.
      guard let versions = try? ModelVersions(contentsOf: model), let last = versions.versions.last else { continue }
      var graphs = [ModelGraph(entitiesOf: last.document)]
      graphs.append(try ModelGraph(versions: versions, mappings: []))
      for graph in graphs {
        let layout = GraphLayout(graph)
        #expect(layout.boxes.count == graph.nodes.count && layout.curves.count == graph.edges.count)
        for (position, box) in layout.boxes.enumerated() {
          #expect(box.x >= 0 && box.y >= 0 && box.right <= layout.width && box.bottom <= layout.height)
          for other in layout.boxes[..<position] {
            let isApart =
              box.right < other.x || other.right < box.x || box.bottom < other.y || other.bottom < box.y
            #expect(isApart, "\(model.lastPathComponent)")
          }
        }
        for curve in layout.curves {
          #expect(curve.center.x <= layout.width && curve.center.y <= layout.height)
          lines += 1
        }
        let markup = try #require(Markup(graph.svg), "\(model.lastPathComponent)")
        #expect(markup.elements.count { $0.attributes["class"] == "title" } == graph.nodes.count)
        pictures += 1
      }
    }
    #expect(pictures > 100 && lines > 500)
  }

  @Test("An entity that is related to itself has its line beside the box")
  func selfRelation() throws {
    var entity = EntityDocument(name: "Folder")
    entity.relationships = [
      RelationshipDocument(name: "children", destinationEntityName: "Folder", inverseName: "parent", isToMany: true),
      RelationshipDocument(name: "parent", destinationEntityName: "Folder", inverseName: "children"),
    ]
    let layout = GraphLayout(ModelGraph(entitiesOf: ModelDocument(entities: [entity])))
    let (box, curve) = (try #require(layout.boxes.first), try #require(layout.curves.first))
    #expect(curve.start.x == box.right && curve.end.x == box.right && curve.center.x > box.right)
    #expect(curve.start.y != curve.end.y && layout.curves.count == 1)
  }

  @Test("A line between two entities of a column goes round the widest of them")
  func sideLines() throws {
    func relationship(_ name: String, _ destination: String) -> RelationshipDocument {
      RelationshipDocument(name: name, destinationEntityName: destination)
    }
    var (hub, narrow, wide) = (
      EntityDocument(name: "Hub"), EntityDocument(name: "A"), EntityDocument(name: String(repeating: "W", count: 40))
    )
    hub.relationships = [relationship("a", "A"), relationship("w", wide.name), relationship("x", "X")]
    narrow.relationships = [relationship("beside", wide.name)]
    wide.relationships = [relationship("itself", wide.name)]
    let model = ModelDocument(entities: [hub, narrow, wide, EntityDocument(name: "X")])
    let graph = ModelGraph(entitiesOf: model)
    let layout = GraphLayout(graph)
    let end = try #require(layout.boxes.map(\.right).max())
    let widest = try #require(layout.boxes.first { $0.right == end })
    #expect(layout.boxes.filter { $0.x == widest.x }.count == 3)
    let sides = layout.curves.filter(\.isSide)
    #expect(sides.count == 2)
    for curve in sides { #expect(curve.firstControl.x >= end + 50 && curve.secondControl.x >= end + 50) }
  }

  /// Names that would be markup, or turn text around, if they were not escaped.
  private static let hostile = "<script>alert(1)</script>\u{202e}&\"'\u{0}"

  @Test("Names are text in pictures and pages, whatever they are")
  func escaping() throws {
    let (model, store) = (ModelDocument(entities: [EntityDocument(name: Self.hostile)]), try TemporaryStore())
    let svg = try #require(Markup(ModelGraph(entitiesOf: model).svg))
    #expect(svg.count("script") == 0 && svg.text.contains("<script>alert(1)</script>\u{fffd}&\"'\u{fffd}"))

    let context = try store.context(CompanyModel.make())
    context.make("Task", ["title": "<img src=x onerror=alert(1)>\u{1}"])
    try context.save()
    try store.close()
    let html = try StorePage(StoreReader(url: store.url), version: Self.hostile, sampleCount: 3, browsing: "browse")
      .html
    let page = try #require(Markup(html))
    #expect(page.count("script") == 1 && page.count("img") == 0)
    #expect(page.text.contains("<img src=x onerror=alert(1)>\u{fffd}"))
  }

  @Test("Pages load nothing", .enabled(if: Fixtures.isPresent))
  func alone() throws {
    for url in Fixtures.stores {
      let page = try StorePage(StoreReader(url: url), version: nil, sampleCount: 2, browsing: "browse").html
      let markup = try #require(Markup(page), "\(Fixtures.name(of: url))")
      for name in ["link", "img", "iframe", "object", "embed", "base", "form"] { #expect(markup.count(name) == 0) }
      for (_, attributes) in markup.elements {
        #expect(attributes["src"] == nil && attributes["href"]?.hasPrefix("#") ?? true)
        #expect(!attributes.keys.contains { $0.hasPrefix("on") })
      }
      #expect(page.contains("default-src 'none'"))
      // Every link within the page leads somewhere.
      let places = Set(markup.elements.compactMap { $0.attributes["id"] })
      for link in markup.elements.compactMap({ $0.attributes["href"] }) {
        #expect(places.contains(String(link.dropFirst())), "\(link)")
      }
    }
  }

  @Test("The page of a model has every version with its step, changes and findings", .enabled(if: Fixtures.isPresent))
  func models() throws {
    var pages = 0
    for model in Fixtures.modelBundles {
      // Some fixtures are damaged on purpose.
      guard let versions = try? ModelVersions(contentsOf: model), versions.versions.count > 1 else { continue }
      let page = try ModelPage(name: model.lastPathComponent, versions: versions, mappings: []).html
      let markup = try #require(Markup(page), "\(model.lastPathComponent)")
      let places = Set(markup.elements.compactMap { $0.attributes["id"] })
      for position in versions.versions.indices { #expect(places.contains("version-\(position)")) }
      #expect(markup.count("svg") == versions.versions.count + 1)
      for version in versions.versions { #expect(markup.text.contains(version.versionHashes.checksum)) }
      pages += 1
    }
    #expect(pages > 5)
  }

  @Test("What is new or changed since the version before is marked in the picture")
  func highlights() throws {
    var (order, added) = (EntityDocument(name: "Order"), EntityDocument(name: "Note"))
    order.attributes = [
      AttributeDocument(name: "title", kind: .string), AttributeDocument(name: "total", kind: .integer16),
    ]
    let old = ModelDocument(entities: [order])
    order.attributes[1].kind = .integer64
    order.attributes.append(AttributeDocument(name: "date", kind: .date))
    added.attributes = [AttributeDocument(name: "text", kind: .string)]
    let new = ModelDocument(entities: [order, added])
    let versions = ModelVersions([
      ModelVersion(name: "A", document: old, versionHashes: VersionHashes(old)),
      ModelVersion(name: "B", document: new, versionHashes: VersionHashes(new)),
    ])
    let markup = try #require(Markup(try ModelPage(name: "Shop", versions: versions, mappings: []).html))
    let classes = markup.elements.compactMap { $0.attributes["class"] }
    #expect(classes.count { $0 == "box added" } == 1 && classes.count { $0 == "box changed" } == 1)
    let lines = markup.elements.filter { $0.name == "text" }.compactMap { $0.attributes["class"] }
    #expect(lines.count { $0 == "added" } == 1 && lines.count { $0 == "changed" } == 1)
    #expect(markup.text.contains("The attribute Order.date is new: Date, optional."))
  }

  @Test("A page shows as many objects as are wanted, and the problems of a store")
  func storePage() throws {
    let store = try TemporaryStore()
    let context = try store.context(CompanyModel.make())
    for word in ["secret", "unseen"] {
      context.make("Task", ["title": word])
      try context.save()
    }
    try store.close()
    func page(_ count: Int) throws -> String {
      try StorePage(StoreReader(url: store.url), version: "V 1", sampleCount: count, browsing: "browse").html
    }
    #expect(try page(1).contains("<td>secret</td>") && !page(1).contains("unseen"))
    #expect(try page(1).contains("Task, 1 of 2") && page(1).contains("<td>V 1</td>"))
    #expect(try !page(0).contains("secret") && !page(0).contains("Samples"))
    #expect(try page(0).contains("<p class=\"good\">No problems.</p>"))
    for (count, words) in [(0, "none of the 2 objects"), (1, "1 of the 2 objects")] {
      #expect(try page(count).contains("which shows \(words). To search all of them: browse</small>"))
    }
    #expect(try page(2).contains("which shows all objects of the store.</small>"))

    try SQLiteConnection.execute("UPDATE ZTASK SET ZPROJECT = 99", at: store.url)
    #expect(try page(1).contains("<p class=\"bad\">1 problem.</p>"))
    #expect(try page(1).contains("<td class=\"bad\">dangling-key</td><td>Task.project</td><td class=\"number\">2</td>"))
  }

  @Test("A page about a store with damaged pages tells so, and shows no values of it")
  func damagedStore() throws {
    let store = try TemporaryStore()
    let context = try store.context(CompanyModel.make(), options: [NSSQLitePragmasOption: ["journal_mode": "DELETE"]])
    context.make("Task", ["title": "secret"])
    try context.save()
    try store.close()
    let sql = "SELECT rootpage FROM sqlite_master WHERE name = 'ZPROJECT'"
    let reader = try StoreReader(url: store.url)
    let root = try #require(try reader.connection.scalar(sql)?.integer)
    let size = try #require(try reader.connection.pragma("page_size")?.integer)
    var bytes = try Data(contentsOf: store.url)
    let start = Int((root - 1) * size)
    bytes.replaceSubrange(start..<start + 200, with: Data(repeating: 0xff, count: 200))
    try bytes.write(to: store.url)
    let page = try StorePage(StoreReader(url: store.url), version: nil, sampleCount: 3, browsing: "browse").html
    #expect(page.contains("<td class=\"bad\">pages</td>") && !page.contains("secret"))
    #expect(page.contains("unknown"))
  }
}
