// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreData

/// Mapping models whose entities do not determine the versions: they are used once, or it is said that they are not.
@Suite("Mapping models that fit several versions")
struct MappingPlaceTests {
  private let store: TemporaryStore

  init() throws { store = try TemporaryStore() }

  /// Writes versions of a model; each is a list of entities, a name in capitals for another version of the entity.
  private func bundle(_ versions: [(String, [String])]) throws -> URL {
    let url = store.folder.appendingPathComponent("M.momd")
    let models = versions.map { name, entities in
      var builder = ModelBuilder()
      for entity in entities {
        let isOther = entity == entity.uppercased() && entity.count > 1
        builder.entity(
          entity.prefix(1) + "",
          [.make("a", .stringAttributeType)] + (isOther ? [.make("b", .stringAttributeType)] : []))
      }
      return (name, builder.model().document)
    }
    try ModelBundle.writeCompiled(models, current: versions.last?.0 ?? "", to: url)
    return url
  }

  /// A mapping model for `X` between two versions that adds a mark to `a` each time it runs.
  private func mapping(_ source: NSManagedObjectModel, _ destination: NSManagedObjectModel) -> NSMappingModel {
    let entity = NSEntityMapping()
    (entity.name, entity.mappingType) = ("XToX", .copyEntityMappingType)
    (entity.sourceEntityName, entity.destinationEntityName) = ("X", "X")
    entity.sourceEntityVersionHash = source.entityVersionHashesByName["X"]
    entity.destinationEntityVersionHash = destination.entityVersionHashesByName["X"]
    let property = NSPropertyMapping()
    property.name = "a"
    property.valueExpression = CoreData.NSExpression(format: "FUNCTION($source.a, 'stringByAppendingString:', '!')")
    entity.attributeMappings = [property]
    let mapping = NSMappingModel()
    mapping.entityMappings = [entity]
    return mapping
  }

  /// The value of `a` after a migration, and the steps as `A>B` or, by the mapping model, `A!B`.
  private func migrate(
    _ url: URL, from source: String, to destination: String, mapping ends: (String, String), progressive: Bool = true
  ) throws -> (value: String?, steps: [String], explanation: String) {
    let file = store.folder.appendingPathComponent("\(UUID().uuidString).sqlite")
    let context = try store.context(.load(contentsOf: url, version: source), at: file)
    context.make("X", ["a": "v"])
    try context.save()
    try store.close()
    let mapping = try mapping(.load(contentsOf: url, version: ends.0), .load(contentsOf: url, version: ends.1))
    let known = try ModelVersions(contentsOf: url)
    var places = MappingLocations.none
    places.models = [mapping]
    let path = try MigrationPath(
      known: known, from: known.version(named: source), to: known.version(named: destination),
      rules: .init(mappings: places, isProgressive: progressive))
    let options: [String: Any] = [
      NSMigratePersistentStoresAutomaticallyOption: true, NSInferMappingModelAutomaticallyOption: true,
      MigrationOption.mappings: [mapping], MigrationOption.models: [URL](), MigrationOption.isProgressive: progressive,
    ]
    let migrated = try store.context(.load(contentsOf: url, version: destination), options: options, at: file)
    let value = try migrated.all("X", by: "a").first?.value(forKey: "a") as? String
    try store.close()
    let steps = path.steps.map { "\($0.source)\($0.kind == .mapping ? "!" : ">")\($0.destination)" }
    return (value, steps, path.explanation.joined(separator: " "))
  }

  @Test("It is used where its entity is unchanged and another is removed, in whichever order the versions are")
  func removed() throws {
    for names in [("A", "B"), ("B", "A"), ("M", "M 2"), ("M 2", "M")] {
      let url = try bundle([(names.0, ["X", "Y"]), (names.1, ["X"])].sorted { $0.0 < $1.0 })
      for progressive in [true, false] {
        let found = try migrate(url, from: names.0, to: names.1, mapping: names, progressive: progressive)
        #expect(found.value == "v!" && found.steps == ["\(names.0)!\(names.1)"], "\(names) \(found)")
      }
      // Back again, it fits too.
      let back = try migrate(url, from: names.1, to: names.0, mapping: names)
      #expect(back.value == "v!" && back.steps == ["\(names.1)!\(names.0)"], "\(names) \(back)")
      try FileManager.default.removeItem(at: url)
    }
  }

  @Test("It is used once on a path of several steps that it all fits")
  func once() throws {
    let url = try bundle([("M", ["X", "Y"]), ("M 2", ["X"]), ("M 3", ["X", "W"]), ("M 4", ["X", "WW"])])
    for (source, destination) in [
      ("M", "M 2"), ("M", "M 3"), ("M 2", "M 4"), ("M", "M 4"), ("M 3", "M 4"), ("M 4", "M"),
    ] {
      let found = try migrate(url, from: source, to: destination, mapping: ("M", "M 4"))
      #expect(found.value == "v!", "\(source) to \(destination): \(found)")
      #expect(found.steps.count { $0.contains("!") } == 1, "\(source) to \(destination): \(found)")
    }
  }

  @Test("Where its entity changes, it is for the step in which it does")
  func changed() throws {
    let url = try bundle([("M", ["X", "Y"]), ("M 2", ["X", "YY"]), ("M 3", ["XX", "YY"]), ("M 4", ["XX", "Y"])])
    let found = try migrate(url, from: "M", to: "M 4", mapping: ("M", "M 4"))
    #expect(found.steps == ["M>M 2", "M 2!M 3", "M 3>M 4"] && found.value == "v!", "\(found)")
    // Not on a path that does not change it, and it says so.
    let idle = try migrate(url, from: "M", to: "M 2", mapping: ("M", "M 4"))
    #expect(idle.steps == ["M>M 2"] && idle.value == "v")
    #expect(
      idle.explanation.contains("The mapping model made in code is not used: it leads from 'M 2' to 'M 3'."), "\(idle)")
  }

  @Test("One for unchanged entities joins that for the changed ones")
  func joined() throws {
    let url = try bundle([("M", ["X", "Y", "W"]), ("M 2", ["X", "YY", "W"]), ("M 3", ["X", "YY", "WW"])])
    let known = try ModelVersions(contentsOf: url)
    let (source, destination) = (try known.version(named: "M"), try known.version(named: "M 3"))
    let own = try mapping(source.model(), destination.model())
    let changed = NSMappingModel()
    changed.entityMappings = try NSMappingModel.inferredMappingModel(
      forSourceModel: source.model(), destinationModel: known.version(named: "M 2").model()
    ).entityMappings.filter { $0.sourceEntityName == "Y" }
    for models in [[own, changed], [changed, own]] {
      let path = try MigrationPath(
        known: known, from: source, to: destination, rules: .init(mappings: MappingLocations(models: models)))
      #expect(path.steps.map(\.kind) == [.mapping, .inferred], "\(path.explanation)")
      #expect(path.steps[0].mappingModel.entityMappings.count == 2)
    }
  }

  @Test("One that maps two versions completely is for these")
  func complete() throws {
    let url = try bundle([("M", ["X", "Y"]), ("M 2", ["X", "YY"]), ("M 3", ["X"]), ("M 4", ["XX"])])
    let found = try migrate(url, from: "M", to: "M 4", mapping: ("M 3", "M 4"))
    #expect(found.steps == ["M>M 2", "M 2>M 3", "M 3!M 4"] && found.value == "v!", "\(found)")
  }
}
