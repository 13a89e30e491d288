// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import Foundation
import Testing

@testable import CoreDataSourceCode

@Suite("SwiftData schemas as sources")
struct GeneratedSchemaSourceTests {
  private func attribute(
    _ name: String, _ kind: AttributeKind, isOptional: Bool = false,
    _ change: (inout AttributeDocument) -> Void = { _ in }
  ) -> AttributeDocument {
    var attribute = AttributeDocument(name: name, kind: kind, isOptional: isOptional)
    change(&attribute)
    return attribute
  }

  private func schema(_ entities: [EntityDocument], _ version: String = "2.1.0") -> GeneratedSchema {
    GeneratedSchema(ModelDocument(entities: entities, versionIdentifiers: [version]), origin: "default.store")
  }

  @Test("Attributes have their types, options and initial values, and those without values are parameters of init")
  func attributes() {
    var trip = EntityDocument(name: "Trip")
    trip.attributes = [
      attribute("name", .string) { $0.renamingIdentifier = "title" },
      attribute("default", .integer64) { $0.defaultValue = .integer(3) },
      attribute("photo", .binaryData, isOptional: true) { $0.allowsExternalBinaryDataStorage = true },
      attribute("when", .date) { $0.defaultValue = .date(Date()) },
    ]
    trip.uniquenessConstraints = [["name"], ["name", "when"]]
    let found = schema([trip])
    #expect(found.remarks == [])
    for line in [
      "enum SchemaV2: VersionedSchema {", "  static let versionIdentifier = Schema.Version(2, 1, 0)",
      "    [Trip.self]", "    #Unique<Trip>([\\.name, \\.when])",
      "    @Attribute(.unique, originalName: \"title\") var name: String", "    var `default`: Int = 3",
      "    @Attribute(.externalStorage) var photo: Data?", "    var when: Date = Date()",
      "    init(name: String) {", "      self.name = name",
    ] {
      #expect(found.text.contains("\n\(line)\n"), "\(line)\n\(found.text)")
    }
  }

  @Test("Composites become types inside the schema, and a class that hides a type of Foundation is not mistaken for it")
  func composites() {
    var date = EntityDocument(name: "Date")
    date.attributes = [
      attribute("when", .date),
      attribute("kind", .composite) { $0.elements = [attribute("kind", .integer64, isOptional: true)] },
      attribute("place", .composite) {
        $0.elements = [attribute("latitude", .double), attribute("name", .string, isOptional: true)]
      },
      attribute("folder", .composite) {
        $0.elements = [attribute("all", .string, isOptional: true), attribute("user", .string, isOptional: true)]
        $0.userInfo = ["EnumType": .boolean(true)]
      },
      attribute("type", .transformable) { $0.valueTransformerName = "ColorTransformer" },
      attribute("tags", .transformable) { $0.valueTransformerName = "NSSecureUnarchiveFromData" },
    ]
    let text = schema([date]).text
    for line in [
      "    var when: Foundation.Date", "    var kind: Kind", "    var place: Place", "    var folder: Folder",
      "    // Guessed: NSObject. Write the class of the values.",
      "    @Attribute(.transformable(by: \"ColorTransformer\")) var type: NSObject",
      "    // Guessed: an array of String. The model only says that it is an array.", "    var tags: [String]",
      "  struct Kind: RawRepresentable, Codable, Hashable {\n    var rawValue: Int\n  }",
      "  struct Place: Codable {\n    var latitude: Double\n    var name: String?\n  }",
      "  enum Folder: Codable {\n    case all\n    case user\n  }",
    ] {
      #expect(text.contains("\n\(line)\n"), "\(line)\n\(text)")
    }
  }

  @Test("One side of two inverses names the other, and one-way relationships are kept apart")
  func relationships() {
    var trip = EntityDocument(name: "Trip")
    var stop = EntityDocument(name: "Stop")
    var stops = RelationshipDocument(
      name: "stops", destinationEntityName: "Stop", inverseName: "trip", isToMany: true, isOptional: false)
    stops.deleteRule = .cascade
    trip.relationships = [
      stops, RelationshipDocument(name: "first", destinationEntityName: "Stop"),
    ]
    stop.relationships = [
      RelationshipDocument(name: "trip", destinationEntityName: "Trip", inverseName: "stops"),
      RelationshipDocument(name: "other", destinationEntityName: "Trip"),
    ]
    let text = schema([trip, stop]).text
    for line in [
      "    @Relationship(deleteRule: .cascade, inverse: \\Stop.trip) var stops: [Stop] = []", "    var trip: Trip?",
      "    var first: Stop?", "    @Relationship var other: Trip?",
    ] {
      #expect(text.contains("\n\(line)\n"), "\(line)\n\(text)")
    }
  }

  @Test("A subclass calls the initializer of its superclass, and what SwiftData cannot express is a remark")
  func inheritance() {
    var vehicle = EntityDocument(name: "Vehicle", isAbstract: true)
    vehicle.attributes = [attribute("name", .string)]
    var ship = EntityDocument(name: "Ship", parentName: "Vehicle")
    ship.attributes = [attribute("load", .integer64)]
    ship.relationships = [
      RelationshipDocument(name: "ports", destinationEntityName: "Vehicle", isToMany: true)
    ]
    ship.relationships[0].isOrdered = true
    let found = schema([ship, vehicle], "")
    for line in [
      "  class Vehicle {", "  final class Ship: Vehicle {", "    init(name: String, load: Int) {",
      "      super.init(name: name)",
    ] {
      #expect(found.text.contains("\n\(line)\n"), "\(line)\n\(found.text)")
    }
    for words in ["Vehicle: it is abstract", "Ship.ports: it is ordered", "no version", "from version 26"] {
      #expect(found.remarks.contains { $0.contains(words) }, "\(words) \(found.remarks)")
    }
  }
}
