// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import CoreDataSQLite
import Testing

@testable import CoreData
@testable import CoreDataStoreFiles

@Suite("Layout of a model in a store")
struct StoreSchemaTests {
  private func attribute(_ name: String, _ kind: AttributeKind = .string) -> AttributeDocument {
    AttributeDocument(name: name, kind: kind)
  }

  private func entity(
    _ name: String, parent: String? = nil, _ attributes: [AttributeDocument] = [],
    _ relationships: [RelationshipDocument] = []
  ) -> EntityDocument {
    var entity = EntityDocument(name: name, parentName: parent)
    entity.attributes = attributes
    entity.relationships = relationships
    return entity
  }

  /// The names and types of a new store's columns, housekeeping aside.
  private func columns(_ schema: StoreSchema, _ table: String) -> [String] {
    (schema.table(named: table)?.columns ?? []).dropFirst(3).map { "\($0.name) \($0.type.rawValue)" }
  }

  /// What a database with the statements of a schema says of itself.
  private func catalog(_ statements: [String]) throws -> DatabaseCatalog {
    let connection = try SQLiteConnection.inMemory()
    for statement in statements { try connection.execute(statement) }
    return try connection.catalog()
  }

  private func rows(_ names: [(String, Int)]) -> [PrimaryKeyRow] {
    names.enumerated().map { PrimaryKeyRow(number: $0 + 1, name: $1.0, parentNumber: $1.1) }
  }

  @Test("Entities are numbered depth first, siblings without regard to case")
  func numbers() throws {
    let schema = try StoreSchema(
      document: ModelDocument(entities: [
        entity("b"), entity("C"), entity("A"), entity("Z", parent: "b"), entity("y", parent: "b"),
        entity("x", parent: "Z"),
      ]))
    #expect(schema.entities.map(\.name) == ["A", "b", "y", "Z", "x", "C"])
    #expect(schema["b"]?.numbers == [2, 3, 4, 5])
    #expect(schema["Z"]?.numbers == [4, 5])
    #expect(schema["x"]?.parentNumber == 4 && schema["x"]?.rootName == "b" && schema["x"]?.table == "ZB")
  }

  @Test(
    "Of several join tables with a column of one name, the one whose owner's name comes first has it, whatever the numbers"
  )
  func joinColumns() throws {
    func relationship(_ name: String, _ destination: String, _ inverse: String) -> RelationshipDocument {
      RelationshipDocument(name: name, destinationEntityName: destination, inverseName: inverse, isToMany: true)
    }
    // As in stores of an app where SystemMessage is a sub-entity of Message, and so numbered before Reaction.
    let schema = try StoreSchema(
      document: ModelDocument(entities: [
        entity("Message"),
        entity("SystemMessage", parent: "Message", [], [relationship("users", "User", "systemMessages")]),
        entity("Reaction", [], [relationship("users", "User", "reactions")]),
        entity(
          "User", [],
          [relationship("reactions", "Reaction", "users"), relationship("systemMessages", "SystemMessage", "users")]),
      ]))
    #expect(
      schema.joinTables.map { "\($0.name)(\($0.ownerColumn), \($0.destinationColumn))" } == [
        "Z_2USERS(Z_2SYSTEMMESSAGES, Z_4USERS1)", "Z_3USERS(Z_3REACTIONS, Z_4USERS)",
      ])
  }

  @Test("Properties of one name in several sub-entities are numbered, in the order of entities and not of types")
  func clashes() throws {
    let schema = try StoreSchema(
      document: ModelDocument(entities: [
        entity("Base", [attribute("url"), attribute("URL", .integer16)]),
        entity("D", parent: "Base", [attribute("value", .double)]),
        entity("I", parent: "Base", [attribute("value", .integer64)]),
      ]))
    #expect(columns(schema, "ZBASE") == ["ZURL INTEGER", "ZVALUE1 INTEGER", "ZVALUE FLOAT", "ZURL1 VARCHAR"])
    #expect(schema["I"]?.attributes["value"]?.column == "ZVALUE1")
    #expect(schema["D"]?.attributes["url"]?.column == "ZURL1")
  }

  @Test("Elements of composite attributes have columns of their own, among those of their types")
  func composites() throws {
    var inner = attribute("geo", .composite)
    inner.elements = [attribute("lat", .double)]
    var place = attribute("place", .composite)
    place.elements = [attribute("label"), inner]
    let schema = try StoreSchema(document: ModelDocument(entities: [entity("E", [place, attribute("a")])]))
    #expect(columns(schema, "ZE") == ["ZLAT FLOAT", "ZA VARCHAR", "ZLABEL VARCHAR"])
    #expect(schema["E"]?.attributes["place"]?.columns == ["ZLAT", "ZLABEL"])
  }

  @Test("Elements are numbered in the order of the attributes' names, and stand in declared order")
  func elementNames() throws {
    func composite(_ name: String, _ elements: [AttributeDocument]) -> AttributeDocument {
      var attribute = attribute(name, .composite)
      attribute.elements = elements
      return attribute
    }
    func nested(_ order: ([AttributeDocument]) -> [AttributeDocument]) -> AttributeDocument {
      composite("z", order([composite("a", [attribute("x")]), composite("b", [attribute("x")])]))
    }
    let town = RelationshipDocument(name: "town", destinationEntityName: "Town")
    let place = composite("home", [attribute("town"), attribute("area"), attribute("id")])
    func schema(_ order: ([AttributeDocument]) -> [AttributeDocument]) throws -> StoreSchema {
      try StoreSchema(
        document: ModelDocument(entities: [
          entity("E", [attribute("id"), place, attribute("b"), nested(order)], [town]),
          entity("Sub", parent: "E", [composite("desk", [attribute("id")])]), entity("Town"),
        ]))
    }
    let declared = try schema { $0 }
    #expect(
      columns(declared, "ZE") == [
        "ZTOWN1 INTEGER", "ZB VARCHAR", "ZTOWN VARCHAR", "ZAREA VARCHAR", "ZID VARCHAR", "ZID1 VARCHAR", "ZX VARCHAR",
        "ZX1 VARCHAR", "ZID2 VARCHAR",
      ])
    #expect(declared.indexes.map(\.name) == ["ZE_ZTOWN1_INDEX", "ZE_Z_ENT_INDEX"])
    // Models with another order have the same hash.
    let reversed = try schema { $0.reversed() }
    #expect(reversed["E"]?.attributes["z"] == declared["E"]?.attributes["z"])
    #expect(Set(columns(reversed, "ZE")) == Set(columns(declared, "ZE")))
  }

  @Test("Places of ordered relationships come after all other integers")
  func orderColumns() throws {
    var children = RelationshipDocument(
      name: "children", destinationEntityName: "Node", inverseName: "parent", isToMany: true)
    children.isOrdered = true
    var loose = RelationshipDocument(name: "loose", destinationEntityName: "Node", isToMany: true)
    loose.isOrdered = true
    let parent = RelationshipDocument(name: "parent", destinationEntityName: "Node", inverseName: "children")
    let schema = try StoreSchema(
      document: ModelDocument(entities: [
        entity("Node", [attribute("a", .integer16)], [children, loose, parent]),
        entity("Sub", parent: "Node", [attribute("n", .integer16)]),
      ]))
    #expect(
      columns(schema, "ZNODE") == [
        "ZA INTEGER", "ZPARENT INTEGER", "Z1_PARENT INTEGER", "Z1LOOSE INTEGER", "ZN INTEGER", "Z_FOK_PARENT INTEGER",
        "Z_FOK_1LOOSE INTEGER",
      ])
    #expect(
      schema["Sub"]?.relationships["children"]?.storage
        == .inverseForeignKey(
          table: "ZNODE",
          key: ForeignKeyLayout(column: "ZPARENT", entityColumn: "Z1_PARENT", orderColumn: "Z_FOK_PARENT")))
    #expect(
      schema.indexes.map(\.name)
        == ["ZNODE_ZPARENT_INDEX", "ZNODE_Z1LOOSE_INDEX", "ZNODE_Z_ENT_INDEX"])
  }

  @Test("A configuration has numbers of its own, and leaves out relationships that lead out of it")
  func configurations() throws {
    let away = RelationshipDocument(name: "away", destinationEntityName: "A")
    var document = ModelDocument(entities: [
      entity("A"), entity("B", [attribute("b")], [away]), entity("C", parent: "B"),
    ])
    document.configurations = [ConfigurationDocument(name: "Cloud", entityNames: ["C"])]
    let schema = try StoreSchema(document: document, configuration: "Cloud")
    #expect(schema.entities.map(\.name) == ["B", "C"] && schema.entities.map(\.number) == [1, 2])
    #expect(columns(schema, "ZB") == ["ZB VARCHAR"])
    #expect(throws: SchemaProblem.unknownConfiguration("Other", known: ["Cloud"])) {
      try StoreSchema(document: document, configuration: "Other")
    }
  }

  @Test("Models that cannot be laid out are refused by name")
  func refusals() {
    #expect(throws: SchemaProblem.missingParent(entity: "A", parent: "B")) {
      try StoreSchema(document: ModelDocument(entities: [entity("A", parent: "B")]))
    }
    #expect(throws: SchemaProblem.inheritanceCycle(entity: "A")) {
      try StoreSchema(document: ModelDocument(entities: [entity("A", parent: "B"), entity("B", parent: "A")]))
    }
    #expect(throws: SchemaProblem.missingDestination(entity: "A", relationship: "r", destination: "X")) {
      try StoreSchema(
        document: ModelDocument(entities: [entity("A", [], [.init(name: "r", destinationEntityName: "X")])]))
    }
  }

  @Test(
    "Relationships that claim the inverse of another are refused by name",
    arguments: [["A", "B", "C"], ["C", "A", "B"]])
  func claimedInverses(names: [String]) {
    func many(_ name: String, _ destination: String, _ inverse: String) -> RelationshipDocument {
      RelationshipDocument(name: name, destinationEntityName: destination, inverseName: inverse, isToMany: true)
    }
    let (own, other, claiming) = (names[0], names[1], names[2])
    let document = ModelDocument(entities: [
      entity(own, [], [many("links", other, "peers")]), entity(other, [], [many("peers", own, "links")]),
      entity(claiming, [], [many("links", other, "peers")]),
    ])
    let problem = #expect(throws: SchemaProblem.self) { try StoreSchema(document: document) }
    #expect(problem?.description.contains("which is the inverse of another relationship") == true)
  }

  @Test("A store with other entity numbers is read by its own: keys, join tables and their columns")
  func otherNumbers() throws {
    let others = RelationshipDocument(name: "others", destinationEntityName: "B", inverseName: "mine", isToMany: true)
    let mine = RelationshipDocument(name: "mine", destinationEntityName: "A", inverseName: "others", isToMany: true)
    let document = ModelDocument(entities: [entity("A", [], [others]), entity("B", [attribute("b")], [mine])])
    let catalog = try catalog([
      "CREATE TABLE ZA (Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER)",
      "CREATE TABLE ZB (Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZB VARCHAR)",
      // From the time when A was number 4, and B had another name.
      "CREATE TABLE \"Z_4OTHERS\" (Z_4MINE INTEGER, \"Z_7OTHERS1\" INTEGER, PRIMARY KEY (Z_4MINE, \"Z_7OTHERS1\"))",
    ])
    let schema = try StoreSchema(
      document: document, catalog: catalog,
      primaryKeys: [
        PrimaryKeyRow(number: 2, name: "A", parentNumber: 0), PrimaryKeyRow(number: 9, name: "Old", parentNumber: 0),
        PrimaryKeyRow(number: 16001, name: "CHANGE", parentNumber: 0),
      ])
    #expect(schema["A"]?.number == 2 && schema["B"]?.number == 9)
    guard case .joinTable(let end)? = schema["B"]?.relationships["mine"]?.storage else {
      Issue.record("The relationship has no join table.")
      return
    }
    #expect(end.table == "Z_4OTHERS" && end.sourceColumn == "Z_7OTHERS1" && end.destinationColumn == "Z_4MINE")
  }

  @Test("A join table within one entity is found under either name")
  func otherJoinName() throws {
    let document = ModelDocument(entities: [
      entity(
        "N", [],
        [
          .init(name: "ups", destinationEntityName: "N", inverseName: "downs", isToMany: true),
          .init(name: "downs", destinationEntityName: "N", inverseName: "ups", isToMany: true),
        ])
    ])
    #expect(try StoreSchema(document: document).joinTables.map(\.name) == ["Z_1UPS"])
    let catalog = try catalog([
      "CREATE TABLE ZN (Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER)",
      "CREATE TABLE Z_1DOWNS (Z_1UPS INTEGER, Z_1DOWNS INTEGER, PRIMARY KEY (Z_1UPS, Z_1DOWNS))",
    ])
    let schema = try StoreSchema(document: document, catalog: catalog, primaryKeys: rows([("N", 0)]))
    #expect(
      schema["N"]?.relationships["ups"]?.storage
        == .joinTable(JoinEnd(table: "Z_1DOWNS", sourceColumn: "Z_1DOWNS", destinationColumn: "Z_1UPS")))
  }

  @Test("An index of a join table within one entity is found under either name, with its columns in their order")
  func otherJoinIndex() throws {
    let document = ModelDocument(entities: [
      entity(
        "N", [],
        [
          .init(name: "ups", destinationEntityName: "N", inverseName: "downs", isToMany: true),
          .init(name: "downs", destinationEntityName: "N", inverseName: "ups", isToMany: true),
        ])
    ])
    let index = "CREATE INDEX Z_1DOWNS_Z_1DOWNS_INDEX ON Z_1DOWNS (Z_1DOWNS, Z_1UPS)"
    let catalog = try catalog([
      "CREATE TABLE ZN (Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER)",
      "CREATE TABLE Z_1DOWNS (Z_1UPS INTEGER, Z_1DOWNS INTEGER, PRIMARY KEY (Z_1UPS, Z_1DOWNS))", index,
    ])
    let schema = try StoreSchema(document: document, catalog: catalog, primaryKeys: rows([("N", 0)]))
    #expect(schema.indexes.map(\.statement.sql) == [index])
  }

  @Test(
    "A join table within one entity has the name that known schemas give it",
    arguments: [
      // Names of public schemas, the one that names the table first.
      ("domainBlocking", "domainBlockingBy"), ("endorsed", "endorsedBy"), ("blocking", "blockingBy"),
      ("following", "followingBy"), ("previous", "next"), ("favorites", "favoriteFolders"), ("blocking", "blockedBy"),
      ("ignoredClients", "ignoredByClients"), ("mutingBy", "muting"), ("showingReblogsBy", "showingReblogs"),
    ])
  func joinNameWithinEntity(names: (String, String)) throws {
    let (name, inverse) = names
    let schema = try StoreSchema(
      document: ModelDocument(entities: [
        entity(
          "N", [],
          [
            .init(name: name, destinationEntityName: "N", inverseName: inverse, isToMany: true),
            .init(name: inverse, destinationEntityName: "N", inverseName: name, isToMany: true),
          ])
      ]))
    let (own, other) = ("Z_1" + name.uppercased(), "Z_1" + inverse.uppercased())
    #expect(
      schema.joinTables.map(\.statement.sql) == [
        "CREATE TABLE \(own) ( \(other) INTEGER, \(own) INTEGER, PRIMARY KEY (\(other), \(own)) )"
      ])
  }

  @Test("Columns of one name are numbered in the order of the owners' names, sub-entities included")
  func joinColumnsOfHierarchies() throws {
    // As in CareKit, where the sub-entity HealthKitTask stands before Outcome and Patient.
    let owners = ["CarePlan", "Contact", "Outcome", "Patient", "TaskBase"]
    func relationship(_ name: String, _ destination: String, _ inverse: String) -> RelationshipDocument {
      RelationshipDocument(name: name, destinationEntityName: destination, inverseName: inverse, isToMany: true)
    }
    let schema = try StoreSchema(
      document: ModelDocument(
        entities: owners.map { entity($0, [], [relationship("tags", "Word", $0.lowercased())]) } + [
          entity("HealthKitTask", parent: "TaskBase"), entity("Task", parent: "TaskBase"),
          entity("Word", [], owners.map { relationship($0.lowercased(), $0, "tags") }),
        ]))
    #expect(
      Dictionary(uniqueKeysWithValues: schema.joinTables.map { ($0.ownerEntity, $0.destinationColumn) }) == [
        "CarePlan": "Z_8TAGS", "Contact": "Z_8TAGS1", "TaskBase": "Z_8TAGS2", "Outcome": "Z_8TAGS3",
        "Patient": "Z_8TAGS4",
      ])
  }

  /// A model in which each of several entities has a to-many relationship to one entity, with the inverses' names.
  private func joined(
    _ owner: String, _ pairs: [(relationship: String, destination: String, inverse: String)],
    _ more: [EntityDocument] = []
  ) -> ModelDocument {
    func relationship(_ name: String, _ destination: String, _ inverse: String) -> RelationshipDocument {
      RelationshipDocument(name: name, destinationEntityName: destination, inverseName: inverse, isToMany: true)
    }
    let owned = entity(owner, [], pairs.map { relationship($0.relationship, $0.destination, $0.inverse) })
    let destinations = pairs.map { pair in
      entity(pair.destination, [], [relationship(pair.inverse, owner, pair.relationship)])
    }
    return ModelDocument(entities: [owned] + more + destinations)
  }

  @Test("A hierarchy names a join table if one of its entities comes before the other side, as in CareKit")
  func joinTableOfHierarchy() throws {
    let children = [entity("HealthKitTask", parent: "TaskBase"), entity("Task", parent: "TaskBase")]
    let schema = try StoreSchema(document: joined("Tag", [("tasks", "TaskBase", "tags")], children))
    #expect(
      schema.joinTables.map(\.statement.sql) == [
        "CREATE TABLE Z_2TAGS ( Z_2TASKS INTEGER, Z_1TAGS INTEGER, PRIMARY KEY (Z_2TASKS, Z_1TAGS) )"
      ])
    let later = try StoreSchema(document: joined("Tag", [("tasks", "TaskBase", "tags")], [children[1]]))
    #expect(later.joinTables.map(\.name) == ["Z_1TASKS"])

    // A store whose table is named after the other side is read, and so is its index.
    let index = "CREATE INDEX Z_1TASKS_Z_2TASKS_INDEX ON Z_1TASKS (Z_2TASKS, Z_1TAGS)"
    let catalog = try catalog([
      "CREATE TABLE ZTAG (Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER)",
      "CREATE TABLE ZTASKBASE (Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER)",
      "CREATE TABLE Z_1TASKS ( Z_1TAGS INTEGER, Z_2TASKS INTEGER, PRIMARY KEY (Z_1TAGS, Z_2TASKS) )", index,
    ])
    let found = try StoreSchema(
      document: joined("Tag", [("tasks", "TaskBase", "tags")], children), catalog: catalog,
      primaryKeys: rows([("Tag", 0), ("TaskBase", 0), ("HealthKitTask", 2), ("Task", 2)]))
    #expect(found.joinTables.map(\.name) == ["Z_1TASKS"] && found.indexes.map(\.statement.sql).contains(index))
  }

  @Test("Columns of one owner with one name are numbered as in known stores")
  func joinColumnsOfOneOwner() throws {
    // As in a public schema of Mastodon's app, and in a store of Artsy's.
    let votes = try StoreSchema(
      document: joined("User", [("votePollOptions", "ZOption", "votedBy"), ("votePolls", "ZPoll", "votedBy")]))
    #expect(
      Dictionary(uniqueKeysWithValues: votes.joinTables.map { ($0.relationship, $0.ownerColumn) }) == [
        "votePollOptions": "Z_1VOTEDBY1", "votePolls": "Z_1VOTEDBY",
      ])
    let shows = try StoreSchema(
      document: joined("Artwork", [("locations", "Location", "artworks"), ("shows", "Show", "artworks")]))
    #expect(
      Dictionary(uniqueKeysWithValues: shows.joinTables.map { ($0.relationship, $0.ownerColumn) }) == [
        "locations": "Z_1ARTWORKS1", "shows": "Z_1ARTWORKS",
      ])
  }

  @Test("An index of a to-one relationship alone is that of its foreign key; an attribute has one index per reason")
  func indexes() throws {
    func index(_ name: String, _ properties: String...) -> FetchIndexDocument {
      FetchIndexDocument(name: name, elements: properties.map { FetchIndexElementDocument(propertyName: $0) })
    }
    var chat = entity("Chat", [attribute("title"), attribute("code"), attribute("plain"), attribute("both")])
    chat.relationships = [.init(name: "owner", destinationEntityName: "Chat", inverseName: nil, isToMany: false)]
    chat.attributes[1].isIndexed = true
    chat.attributes[3].isIndexed = true
    chat.indexes = [
      index("byOwner", "owner"), index("byOwnerTitle", "owner", "title"), index("byPlain", "plain"),
      index("byBoth", "both"),
    ]
    let schema = try StoreSchema(document: ModelDocument(entities: [chat]))
    #expect(
      schema.indexes.map(\.name) == [
        "ZCHAT_ZOWNER_INDEX", "Z_Chat_code", "Z_Chat_plain", "Z_Chat_byOwnerTitle", "Z_Chat_byPlain", "Z_Chat_byBoth",
      ])
  }

  @Test("Clashing columns that a migration has added the other way round are told apart by their types")
  func grownClash() throws {
    let document = ModelDocument(entities: [
      entity("Base"), entity("D", parent: "Base", [attribute("value", .double)]),
      entity("S", parent: "Base", [attribute("value")]),
    ])
    let catalog = try catalog([
      "CREATE TABLE ZBASE (Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZVALUE VARCHAR, ZVALUE1 FLOAT)"
    ])
    let schema = try StoreSchema(
      document: document, catalog: catalog, primaryKeys: rows([("Base", 0), ("D", 1), ("S", 1)]))
    #expect(schema["D"]?.attributes["value"]?.column == "ZVALUE1")
    #expect(schema["S"]?.attributes["value"]?.column == "ZVALUE")
  }

  @Test("What the model needs and the file has not is named: entity, property, table and column")
  func missing() throws {
    let document = ModelDocument(entities: [entity("A", [attribute("a")])])
    let bare = try catalog(["CREATE TABLE ZA (Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER)"])
    #expect(throws: SchemaProblem.columnNotInStore(entity: "A", property: "a", table: "ZA", column: "ZA")) {
      try StoreSchema(document: document, catalog: bare, primaryKeys: rows([("A", 0)]))
    }
    #expect(throws: SchemaProblem.tableNotInStore(entity: "A", table: "ZA")) {
      try StoreSchema(document: document, catalog: catalog([]), primaryKeys: rows([("A", 0)]))
    }
    #expect(throws: SchemaProblem.entityNotInStore(entity: "A")) {
      try StoreSchema(document: document, catalog: bare, primaryKeys: [])
    }
    let texts = [
      SchemaProblem.columnNotInStore(entity: "A", property: "a", table: "ZA", column: "ZA").description,
      SchemaProblem.tableNotInStore(entity: "A", table: "ZA").description,
    ]
    #expect(texts.allSatisfy { $0.contains("ZA") && $0.contains("“A”") })
  }

  @Test("Keys of ordered relationships grow along the list and change as little as they must")
  func orderKeys() {
    #expect(OrderKeys.arranged([nil, nil, nil]) == [2048, 3072, 4096])
    #expect(OrderKeys.arranged([2048, 3072, nil]) == [2048, 3072, 4096])
    #expect(OrderKeys.arranged([2048, nil, 3072]) == [2048, 2560, 3072])
    #expect(OrderKeys.arranged([nil, 2048]) == [1024, 2048])
    #expect(OrderKeys.arranged([3072, 2048]) == [2048, 3072])
    #expect(OrderKeys.arranged([2048, nil, 2049]) == [2048, 3072, 4096])
    #expect(OrderKeys.arranged([]) == [])
  }
}
