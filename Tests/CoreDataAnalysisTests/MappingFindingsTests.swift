// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataModelFiles
import CoreDataPredicates
import Testing

@testable import CoreDataAnalysis

@Suite("Findings of a step by a mapping model")
struct MappingFindingsTests {
  private static let counts = StoreCounts(
    rows: ["Dog": 2, "Cat": 3],
    values: ["Dog": ["legs": 2, "name": 2], "Cat": ["legs": 3, "name": 3]])

  /// Animals of two kinds, with legs in the older version.
  private func models(_ edit: (inout EntityDocument) -> Void) throws -> (NSManagedObjectModel, NSManagedObjectModel) {
    func model(_ edit: (inout EntityDocument) -> Void) throws -> NSManagedObjectModel {
      var animal = EntityDocument(name: "Animal", isAbstract: true)
      animal.attributes = [
        AttributeDocument(name: "name", kind: .string), AttributeDocument(name: "legs", kind: .integer32),
      ]
      edit(&animal)
      return try NSManagedObjectModel(
        document: ModelDocument(
          entities: [animal] + ["Dog", "Cat"].map { EntityDocument(name: $0, parentName: "Animal") }))
    }
    return (try model { _ in }, try model(edit))
  }

  private func mapping(
    _ entity: String, _ values: [String: String] = ["name": "name"], policy: String? = nil,
    type: NSEntityMappingType = .transformEntityMappingType
  ) -> NSEntityMapping {
    let mapping = NSEntityMapping()
    mapping.name = "\(entity)s"
    mapping.mappingType = type
    mapping.sourceEntityName = entity
    mapping.destinationEntityName = type == .removeEntityMappingType ? nil : entity
    mapping.entityMigrationPolicyClassName = policy
    mapping.attributeMappings = values.map { name, key in
      let property = NSPropertyMapping()
      property.name = name
      property.valueExpression = NSExpression(format: "FUNCTION($source, \"valueForKey:\", \"\(key)\")")
      return property
    }
    return mapping
  }

  private func findings(
    _ mappings: [NSEntityMapping], counts: StoreCounts = Self.counts, _ edit: (inout EntityDocument) -> Void
  ) throws -> [String] {
    let (old, new) = try models(edit)
    let model = NSMappingModel()
    model.entityMappings = mappings
    return MappingFindings(model, from: old, to: new, counts: counts).findings
      .map { "\($0.level.rawValue) \($0.code.rawValue) \($0.place): \($0.message)" }
  }

  @Test("A policy for one entity does not cover its siblings: only their values would be dropped")
  func sibling() throws {
    let both = try findings([mapping("Dog", policy: "P"), mapping("Cat", policy: "Q")]) { $0.attributes.removeLast() }
    #expect(both == ["info DS102 Animal.legs: 5 values would be dropped; the policies P and Q decide"])
    let one = try findings([mapping("Dog", policy: "P"), mapping("Cat")]) { $0.attributes.removeLast() }
    #expect(one == ["error DS102 Animal.legs: 3 values would be dropped"])
    let carried = try findings([mapping("Dog", policy: "P"), mapping("Cat", ["name": "name", "legs": "legs"])]) {
      $0.attributes.removeLast()
    }
    #expect(carried == ["info DS102 Animal.legs: 2 values would be dropped; the policy P decides"])
  }

  @Test("Missing values are the policy's business only where it makes all the objects")
  func missing() throws {
    func edit(_ animal: inout EntityDocument) {
      animal.attributes.append(AttributeDocument(name: "must", kind: .integer16, isOptional: false))
    }
    #expect(
      try findings([mapping("Dog", policy: "P"), mapping("Cat", policy: "P")], edit)
        == ["info DD201 Animal.must: required, without a default for 5 rows; the policy P decides"])
    #expect(
      try findings([mapping("Dog", policy: "P"), mapping("Cat", ["name": "name", "legs": "legs"])], edit)
        == ["warn DD201 Animal.must: required, without a default for 5 rows"])
    #expect(
      try findings([mapping("Dog", policy: "P"), mapping("Cat", ["name": "name", "must": "legs"])], edit)
        == ["info DD201 Animal.must: required, without a default for 5 rows; the policy P decides"])
  }

  @Test("Rows that an entity mapping removes are a warning; with a policy, information")
  func removed() throws {
    #expect(
      try findings([mapping("Dog", ["name": "name", "legs": "legs"]), mapping("Cat", type: .removeEntityMappingType)]) {
        _ in
      }
        == ["warn DS101 Cat: the entity mapping Cats removes it: 3 rows would be dropped"])
    #expect(
      try findings([
        mapping("Dog", ["name": "name", "legs": "legs"]), mapping("Cat", policy: "P", type: .removeEntityMappingType),
      ]) { _ in }
        == ["info DS101 Cat: the entity mapping Cats removes it: 3 rows would be dropped; the policy P decides"])
    #expect(
      try findings([mapping("Dog", ["name": "name", "legs": "legs"])]) { _ in }
        == ["error DS101 Cat: no entity mapping covers it: 3 rows would be dropped"])
  }

  @Test("A number that is given as it is arrives in the new type; one that an expression makes is its business")
  func numbers() throws {
    var counts = Self.counts
    for entity in ["Dog", "Cat"] {
      let origin = AttributeOrigin(entity: entity, property: "legs")
      counts.origins[entity] = ["legs": origin]
      counts.fits[NumberChange(origin: origin, from: .integer32, to: .integer16)] = NumberFit(
        refused: entity == "Dog" ? 1 : 0)
    }
    func edit(_ animal: inout EntityDocument) { animal.attributes[1].kind = .integer16 }
    let plain = try findings(
      [mapping("Dog", ["name": "name", "legs": "legs"]), mapping("Cat", ["name": "name", "legs": "legs"])],
      counts: counts, edit)
    #expect(
      plain == [
        "error DS105 Animal.legs: Integer 32 becomes Integer 16; 1 value is out of range and stops the migration"
      ])
    let computed = mapping("Dog")
    let property = NSPropertyMapping()
    property.name = "legs"
    property.valueExpression = NSExpression(
      format: "min:({FUNCTION($source, \"valueForKey:\", \"legs\"), 4})")
    computed.attributeMappings?.append(property)
    let other = try findings([computed, mapping("Cat", ["name": "name", "legs": "legs"])], counts: counts, edit)
    #expect(other == [])
    let policy = try findings(
      [
        mapping("Dog", ["name": "name", "legs": "legs"], policy: "P"),
        mapping("Cat", ["name": "name", "legs": "legs"]),
      ], counts: counts, edit)
    #expect(policy.allSatisfy { $0.hasPrefix("info ") }, "\(policy)")
  }

  @Test("Values that no expression reads are lost like any others, unless the mapping model says so")
  func unread() throws {
    func removing(_ animal: inout EntityDocument) { animal.attributes.removeLast() }
    let cats = mapping("Cat", ["name": "name", "legs": "legs"])
    let unedited = try findings([mapping("Dog"), cats], removing)
    #expect(unedited == ["error DS102 Animal.legs: 2 values would be dropped"])
    let empty = StoreCounts(rows: ["Dog": 2, "Cat": 3], values: ["Dog": ["legs": 0, "name": 2], "Cat": ["legs": 3]])
    #expect(try findings([mapping("Dog"), cats], counts: empty, removing).allSatisfy { $0.hasPrefix("info ") })
    let dropping = mapping("Dog")
    dropping.userInfo = ["coredata.drops": "other, legs"]
    #expect(try findings([dropping, cats], removing) == ["warn DS102 Animal.legs: 2 values would be dropped"])
    // A property that both versions have.
    let kept = try findings([mapping("Dog"), mapping("Cat", ["name": "name", "legs": "legs"])]) { _ in }
    #expect(
      kept == ["error DS102 Animal.legs: no expression of the mapping model reads it; 2 values would be dropped"])
    #expect(try findings([mapping("Dog", policy: "P"), mapping("Cat", policy: "P")]) { _ in } == [])
    let allowed = try findings([mapping("Dog"), mapping("Cat", ["name": "name", "legs": "legs"])]) {
      $0.attributes[1].userInfo = ["coredata.allow": .string("DS102 nobody counts them")]
    }
    #expect(allowed.count == 1 && allowed[0].hasPrefix("info DS102 Animal.legs"), "\(allowed)")
  }

  private func dog(_ name: String, _ expression: NSExpression?) -> NSEntityMapping {
    let dog = mapping("Dog")
    let property = NSPropertyMapping()
    (property.name, property.valueExpression) = (name, expression)
    dog.attributeMappings?.append(property)
    return dog
  }

  @Test("A value that is copied into an attribute of another type stops the migration, where there is one")
  func types() throws {
    func edit(_ animal: inout EntityDocument) { animal.attributes[1].kind = .string }
    let copying = ["Dog", "Cat"].map { mapping($0, ["name": "name", "legs": "legs"]) }
    #expect(
      try findings(copying, edit) == [
        "error CM303 Animal.legs: Integer 32 cannot be converted into String; the entity mappings Cats, Dogs pass "
          + "5 values on as they are"
      ])
    let empty = StoreCounts(rows: ["Dog": 2, "Cat": 3], values: ["Dog": ["legs": 0, "name": 2], "Cat": ["legs": 0]])
    #expect(try findings(copying, counts: empty, edit) == [])
    #expect(try findings([mapping("Dog", ["legs": "legs"], policy: "P"), mapping("Cat", policy: "P")], edit) == [])
    #expect(try findings(copying) { $0.attributes[1].kind = .double } == [])
    let constant = try findings([dog("legs", NSExpression(forConstantValue: "many")), copying[1]]) { _ in }
    #expect(
      constant == [
        "error CM303 Animal.legs: the entity mapping Dogs gives it the constant \"many\", which is not of the type "
          + "Integer 32"
      ])
  }

  @Test("A required property without a value stops the migration; a filter or a policy leaves it open")
  func required() throws {
    func adding(_ animal: inout EntityDocument) {
      animal.attributes.append(AttributeDocument(name: "must", kind: .integer16, isOptional: false))
    }
    let all = ["Dog", "Cat"].map { mapping($0, ["name": "name", "legs": "legs"]) }
    #expect(
      try findings(all, adding) == [
        "error DD201 Animal.must: is required, without a default; the entity mappings Cats, Dogs have no expression "
          + "for it (5 rows)"
      ])
    #expect(
      try findings(all, counts: StoreCounts(rows: ["Dog": 0, "Cat": 0]), adding).allSatisfy { $0.hasPrefix("info") })
    // An attribute that was required before is no change.
    func keeping(_ animal: inout EntityDocument) { animal.attributes[0].isOptional = false }
    let some = StoreCounts(
      rows: ["Dog": 2, "Cat": 3], values: ["Dog": ["legs": 2, "name": 1], "Cat": ["legs": 3, "name": 3]])
    #expect(
      try findings(all, counts: some, keeping) == [
        "error DD202 Animal.name: is required; the entity mapping Dogs copies it from 1 row without a value"
      ])
    let filtered = mapping("Dog", ["name": "name", "legs": "legs"])
    filtered.sourceExpression = NSExpression(
      format:
        "FETCH(FUNCTION($manager, \"fetchRequestForSourceEntityNamed:predicateString:\", \"Dog\", \"name != nil\"), "
        + "$manager.sourceContext, NO)")
    let open = try findings([filtered, all[1]], counts: some, keeping)
    #expect(open.count == 1 && open[0].hasPrefix("error DD202") == false, "\(open)")
    #expect(try findings([dog("legs", nil), all[1]]) { $0.attributes[1].defaultValue = .integer(4) }.count == 1)
  }

  @Test("A nil that is written down says that nothing is carried over; a missing expression does not")
  func explicitNil() throws {
    func splitting(_ animal: inout EntityDocument) {
      animal.attributes[1] = AttributeDocument(name: "first", kind: .integer32)
      animal.attributes.append(AttributeDocument(name: "last", kind: .string))
      animal.attributes.append(AttributeDocument(name: "sure", kind: .string))
      animal.attributes[3].defaultValue = .string("")
    }
    func dog(_ values: [String: NSExpression?]) -> NSEntityMapping {
      let dog = mapping("Dog")
      dog.attributeMappings? += values.map { name, expression in
        let property = NSPropertyMapping()
        (property.name, property.valueExpression) = (name, expression)
        return property
      }
      return dog
    }
    let none = NSExpression(forConstantValue: nil)
    let cats = mapping("Cat", ["name": "name", "first": "legs"])
    let unedited = try findings([dog(["first": nil, "last": nil, "sure": nil]), cats], splitting)
    #expect(
      unedited.first
        == "error DS102 Animal.legs: 2 values would be dropped; first, last and sure have no expression", "\(unedited)")
    let half = try findings([dog(["first": none, "last": nil]), cats], splitting)
    #expect(half.contains { $0.hasPrefix("error DS102") }, "\(half)")
    let edited = try findings([dog(["first": none, "last": none]), cats], splitting)
    #expect(edited.contains { $0.hasPrefix("warn DS102") } && !edited.contains { $0.hasPrefix("error") }, "\(edited)")
    // A property that is set to nil says so itself.
    #expect(try findings([dog(["legs": none]), mapping("Cat", ["name": "name", "legs": "legs"])]) { _ in } == [])
  }
}
