// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataAnalysis
import CoreDataMigration
import CoreDataModelFiles
import CoreDataTestSupport
import Foundation
import Testing

@Suite("Pictures of models")
struct ModelGraphTests {
  private static func model(_ name: String = "Order") -> ModelDocument {
    var thing = EntityDocument(name: "Thing")
    thing.isAbstract = true
    var order = EntityDocument(name: name, parentName: "Thing")
    order.attributes = [AttributeDocument(name: "total", kind: .double, isOptional: false)]
    order.relationships = [
      RelationshipDocument(name: "lines", destinationEntityName: "Line", inverseName: "order", isToMany: true)
    ]
    var line = EntityDocument(name: "Line")
    line.relationships = [RelationshipDocument(name: "order", destinationEntityName: name, inverseName: "lines")]
    return ModelDocument(entities: [thing, order, line])
  }

  @Test("Entities have their attributes, and a pair of relationships is one line")
  func entities() {
    let graph = ModelGraph(entitiesOf: Self.model())
    #expect(graph.nodes.map(\.title) == ["Line", "Order", "Thing"])
    #expect(
      graph.mermaid == """
        classDiagram
          class e0["Line"]
          class e1["Order"]
          e1 : total: Double, required
          class e2["Thing"]
          <<abstract>> e2
          e0 "0..*" --> "0..1" e1 : order / lines
          e2 <|-- e1

        """)
    #expect(
      graph.dot.contains("n0 -> n1 [label=\"order / lines\", arrowhead=none, taillabel=\"0..*\", headlabel=\"0..1\"];"))
    #expect(graph.dot.contains("n1 [label=\"{Order|total: Double, required\\l}\"];"))
  }

  @Test("Versions have the steps between neighbors")
  func versions() throws {
    var second = Self.model()
    second.entities[1].attributes.append(AttributeDocument(name: "note", kind: .string))
    var third = second
    third.entities[1].attributes[0].kind = .date
    let known = ModelVersions(
      [Self.model(), second, third].enumerated().map { position, document in
        ModelVersion(name: "M \(position + 1)", document: document, versionHashes: VersionHashes(document))
      })
    let graph = try ModelGraph(versions: known, mappings: [])
    #expect(graph.edges.map(\.kind) == [.inferred, .custom])
    #expect(graph.mermaid.contains("  v0 -->|\"inferred: 1 change\"| v1\n"))
    #expect(graph.dot.contains("n1 -> n2 [label=\"1 change\", style=dashed];"))
  }

  @Test("Names that were made to harm end no label")
  func hostile() {
    let name = "A\"]; click e0 \"javascript:x\" <script>\n|{}\\"
    let graph = ModelGraph(entitiesOf: Self.model(name))
    for line in graph.mermaid.split(separator: "\n") {
      #expect(!line.contains("<script") && !line.contains("]; click"))
      #expect(line.filter { $0 == "\"" }.count % 2 == 0)
    }
    #expect(graph.dot.contains("A\\\"]; click e0 \\\"javascript:x\\\" \\<script\\> \\|\\{\\}"))
    #expect(graph.dot.split(separator: "\n").allSatisfy { $0.hasSuffix(";") || $0.hasSuffix("{") || $0 == "}" })
  }

  @Test("Every model among the fixtures can be drawn", .enabled(if: Fixtures.isPresent, "the fixtures are not here"))
  func fixtures() throws {
    var count = 0
    for bundle in Fixtures.modelBundles {
      // Models that cannot be read are counted by the tests of model files.
      guard let known = try? ModelVersions(contentsOf: bundle) else { continue }
      let graph = try ModelGraph(versions: known, mappings: [])
      #expect(graph.nodes.count == known.versions.count)
      for version in known.versions {
        #expect(ModelGraph(entitiesOf: version.document).nodes.count == version.document.entities.count)
      }
      count += 1
    }
    #expect(count > 100)
  }
}
