// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

// The code of the article "Changing types".

import CoreData
import CoreDataTestSupport
import Foundation
import Testing

// guide: date-policy
/// Reads the day of a release, which was a text.
final class ReleasePolicy: NSEntityMigrationPolicy {
  private let format = Date.ISO8601FormatStyle().year().month().day()

  override func callFunction(_ name: String, arguments: [Any?]) throws -> Any? {
    guard name == "dateFrom:" else { return try super.callFunction(name, arguments: arguments) }
    guard let text = arguments[0] as? String, !text.isEmpty else { return nil }
    do {
      return try Date(text, strategy: format)
    } catch {
      throw NSError(
        domain: "Films", code: 1, userInfo: [NSLocalizedDescriptionKey: "'\(text)' is not a day, such as 1957-04-10."])
    }
  }
}
// end

@Suite("The guide on changing types")
struct TypesGuideTests {
  private static let rangeError = """
    'length' of entity 'Film' becomes Integer 16, which cannot hold the values of 1 object; that of Film/p2 is
    70000.0.
    """

  private static let typeError = """
    Source and destination attribute types are incompatible: 'year' of entity 'Film' is String in the source,
    Integer 16 in the destination.
    """

  private static let unfitError = """
    The expression for the property 'year' in the entity mapping 'FilmToFilm' returns "1957", but a value for the
    attribute type NSNumber is needed. The expression is: $source.year.
    """

  private static let missingTitleError = """
    Cannot migrate store in-place: Validation error missing attribute values on mandatory destination attribute:
    'title' of entity 'Film' is required and has no default value in the destination, and Film/p2 is without a
    value.
    """

  private func films(_ attributes: [String], _ values: [[String: Any]]) throws -> GuideVersions {
    let films = try GuideVersions(
      "Films", attributes.map { "<entity name=\"Film\">\n  \($0)\n</entity>" })
    try films.fill { context in
      for value in values { context.make("Film", value) }
    }
    return films
  }

  private func failure(_ films: GuideVersions, mappings: [URL] = []) throws -> NSError {
    let error = try #require(throws: NSError.self) {
      _ = try StoreMigration(storeAt: films.storeURL, modelsAt: films.modelURL, mappings: mappings).run()
    }
    #expect(try films.version() == 1)
    return error
  }

  private static let small = "<attribute name=\"length\" optional=\"YES\" attributeType=\"Integer 16\"/>"
  private static let real = "<attribute name=\"length\" optional=\"YES\" attributeType=\"Double\"/>"

  @Test("A number gets another type, in place")
  func numbers() throws {
    let films = try films([Self.small, Self.real], [["length": 107]])
    let migration = try StoreMigration(storeAt: films.storeURL, modelsAt: films.modelURL)
    #expect(migration.steps.map(\.isInPlace) == [true])
    _ = try migration.run()
    try films.open(2) { context throws -> Void in
      #expect(try context.all("Film", by: "length").first?.value(forKey: "length") as? Double == 107)
    }
  }

  @Test("A fraction is cut off; a number that does not fit is an error: 134110")
  func narrower() throws {
    let cut = try films([Self.real, Self.small], [["length": 106.9], ["length": -3.5]])
    _ = try StoreMigration(storeAt: cut.storeURL, modelsAt: cut.modelURL).run()
    #expect(try cut.rows("Film", "length", version: 2) == ["-3", "106"])
    try films([Self.real, Self.small], [["length": 90], ["length": 70_000]]).expectFailure(
      NSMigrationError, Self.rangeError)
  }

  @Test("Digits that a type does not have are rounded")
  func rounded() throws {
    let whole = "<attribute name=\"length\" optional=\"YES\" attributeType=\"Integer 32\"/>"
    let float = "<attribute name=\"length\" optional=\"YES\" attributeType=\"Float\"/>"
    let films = try films([whole, float], [["length": 16_777_217]])
    _ = try StoreMigration(storeAt: films.storeURL, modelsAt: films.modelURL).run()
    try films.open(2) { context throws -> Void in
      #expect(try context.all("Film", by: "length").first?.value(forKey: "length") as? Double == 16_777_216)
    }
  }

  @Test("A number becomes a truth value: everything but zero is true")
  func boolean() throws {
    let films = try films(
      [Self.small, "<attribute name=\"length\" optional=\"YES\" attributeType=\"Boolean\"/>"],
      [["length": 0], ["length": 2], [:]])
    _ = try StoreMigration(storeAt: films.storeURL, modelsAt: films.modelURL).run()
    #expect(try films.rows("Film", "length", version: 2) == ["0", "1", "nil"])
  }

  private static let textYear = "<attribute name=\"year\" optional=\"YES\" attributeType=\"String\"/>"
  private static let numberYear = "<attribute name=\"year\" optional=\"YES\" attributeType=\"Integer 16\"/>"

  @Test("A text that becomes a number cannot be inferred: 134190")
  func textToNumber() throws {
    let error = try films([Self.textYear, Self.numberYear], [["year": "1957"]]).expectFailure(
      NSInferredMappingModelError, Self.typeError)
    #expect(error.userInfo["entity"] as? String == "Film" && error.userInfo["property"] as? String == "year")
  }

  private static let yearMapping = """
    versions "Films" -> "Films 2"

    FilmToFilm   transform   Film -> Film
      year  attribute  FUNCTION($source.year, "integerValue")
    """
  private static let yearCondition = """
      year  attribute  TERNARY($source.year MATCHES "[0-9]{4}", FUNCTION($source.year, "integerValue"), nil)
    """

  private static func mapping(_ year: String) -> String {
    """
    versions "Films" -> "Films 2"

    FilmToFilm   transform   Film -> Film
      year  attribute  \(year)
    """
  }

  @Test("An expression converts it, in SQL")
  func expression() throws {
    let films = try films([Self.textYear, Self.numberYear], [["year": "1957"], ["year": "c. 1960"], [:]])
    let mappingURL = try films.write(Self.yearMapping, to: "Films.mapping")
    let (modelURL, storeURL) = (films.modelURL, films.storeURL)
    let report = try StoreMigration(storeAt: storeURL, modelsAt: modelURL, mappings: [mappingURL]).run()
    #expect(report.mappings.map(\.rows) == [.sql])
    #expect(try films.rows("Film", "year", version: 2) == ["0", "1957", "nil"])
  }

  @Test("A condition in the expression keeps what is no number apart")
  func condition() throws {
    let films = try films([Self.textYear, Self.numberYear], [["year": "1957"], ["year": "c. 1960"], [:]])
    let header = Self.yearMapping.components(separatedBy: "\n").dropLast().joined(separator: "\n")
    let mappingURL = try films.write("\(header)\n\(Self.yearCondition)", to: "Films.mapping")
    let report = try StoreMigration(storeAt: films.storeURL, modelsAt: films.modelURL, mappings: [mappingURL]).run()
    #expect(report.mappings.map(\.rows) == [.sql])
    #expect(try films.rows("Film", "year", version: 2) == ["1957", "nil", "nil"])
  }

  @Test("A value of another type is an error: 134110")
  func unfit() throws {
    let films = try films([Self.textYear, Self.numberYear], [["year": "1957"]])
    let mappingURL = try films.write(Self.mapping("$source.year"), to: "Films.mapping")
    try films.expectFailure(NSMigrationError, Self.unfitError, mappings: [mappingURL])
  }

  private static let textDay = "<attribute name=\"released\" optional=\"YES\" attributeType=\"String\"/>"
  private static let day = "<attribute name=\"released\" optional=\"YES\" attributeType=\"Date\"/>"
  private static let dates = """
    versions "Films" -> "Films 2"

    FilmToFilm   custom   Film -> Film
      policy    ReleasePolicy
      released  attribute  FUNCTION($entityPolicy, "dateFrom:", $source.released)
    """

  @Test("A function of a policy converts what expressions cannot")
  func dates() throws {
    MigrationPolicyClasses.register(ReleasePolicy.self)
    let films = try films([Self.textDay, Self.day], [["released": "1957-04-10"], [:]])
    let mappingURL = try films.write(Self.dates, to: "Films.mapping")
    _ = try StoreMigration(storeAt: films.storeURL, modelsAt: films.modelURL, mappings: [mappingURL]).run()
    #expect(try films.rows("Film", "released", version: 2) == ["1957-04-10 00:00:00 +0000", "nil"])
    let broken = try self.films([Self.textDay, Self.day], [["released": "1957-04-10"], ["released": "next year"]])
    let brokenURL = try broken.write(Self.dates, to: "Films.mapping")
    let error = try failure(broken, mappings: [brokenURL])
    #expect(error.domain == "Films" && error.localizedDescription == "'next year' is not a day, such as 1957-04-10.")
  }

  private static let optionalTitle = "<attribute name=\"title\" optional=\"YES\" attributeType=\"String\"/>"
  private static let requiredTitle =
    "<attribute name=\"title\" attributeType=\"String\" defaultValueString=\"Untitled\"/>"
  private static let titleWithoutDefault = "<attribute name=\"title\" attributeType=\"String\"/>"

  @Test("Optional to required: rows without a value get the default value")
  func required() throws {
    let films = try films([Self.optionalTitle, Self.requiredTitle], [["title": "Twelve"], [:]])
    _ = try StoreMigration(storeAt: films.storeURL, modelsAt: films.modelURL).run()
    #expect(try films.rows("Film", "title", version: 2) == ["Twelve", "Untitled"])
  }

  @Test("Without a default value they are an error, and without such rows there is none")
  func requiredWithoutDefault() throws {
    try films([Self.optionalTitle, Self.titleWithoutDefault], [["title": "Twelve"], [:]]).expectFailure(
      NSMigrationError, Self.missingTitleError)
    let films = try films([Self.optionalTitle, Self.titleWithoutDefault], [["title": "Twelve"]])
    _ = try StoreMigration(storeAt: films.storeURL, modelsAt: films.modelURL).run()
    #expect(try films.rows("Film", "title", version: 2) == ["Twelve"])
  }

  @Test("The values that are missing are set by a stage, before the attribute is required")
  func stage() throws {
    let films = try films([Self.optionalTitle, Self.titleWithoutDefault], [["title": "Twelve"], [:]])
    let (v1, v2, storeURL) = (try films.model(1), try films.model(2), films.storeURL)
    // guide: fill-stage
    let stage = NSCustomMigrationStage(
      migratingFrom: NSManagedObjectModelReference(model: v1, versionChecksum: v1.versionChecksum),
      to: NSManagedObjectModelReference(model: v2, versionChecksum: v2.versionChecksum))
    stage.label = "Titles"
    stage.willMigrateHandler = { manager, _ in
      guard let context = manager.container?.newBackgroundContext() else { return }
      try context.performAndWait {
        let untitled = NSFetchRequest<NSManagedObject>(entityName: "Film")
        untitled.predicate = NSPredicate(format: "title == nil")
        for film in try context.fetch(untitled) {
          film.setValue("Film \(film.objectID.uriRepresentation().lastPathComponent)", forKey: "title")
        }
        try context.save()
      }
    }
    let description = NSPersistentStoreDescription(url: storeURL)
    description.setOption(
      NSStagedMigrationManager([stage]), forKey: NSPersistentStoreStagedMigrationManagerOptionKey)
    let container = NSPersistentContainer(name: "Films", managedObjectModel: v2)
    container.persistentStoreDescriptions = [description]
    // end
    var failure: (any Error)?
    container.loadPersistentStores { _, error in failure = error }
    #expect(failure == nil)
    #expect(
      try container.viewContext.all("Film", by: "title").compactMap { $0.value(forKey: "title") as? String } == [
        "Film p2", "Twelve",
      ])
  }

  @Test("A new required attribute takes its default value; another default value alone is no new version")
  func defaults() throws {
    let rating = "<attribute name=\"rating\" attributeType=\"Integer 16\" defaultValueString=\"3\"/>"
    let films = try films([Self.optionalTitle, Self.optionalTitle + "\n  " + rating], [["title": "Twelve"]])
    _ = try StoreMigration(storeAt: films.storeURL, modelsAt: films.modelURL).run()
    #expect(try films.rows("Film", "rating", version: 2) == ["3"])
    let other = try self.films([rating, rating.replacingOccurrences(of: "\"3\"", with: "\"5\"")], [[:]])
    #expect(try !StoreMigration(storeAt: other.storeURL, modelsAt: other.modelURL).isNeeded)
    #expect(try other.rows("Film", "rating", version: 2) == ["3"])
  }

  @Test("A new required attribute without a default value is an error if there are rows")
  func newRequired() throws {
    let both = Self.optionalTitle + "\n  <attribute name=\"rating\" attributeType=\"Integer 16\"/>"
    let error = try failure(try films([Self.optionalTitle, both], [["title": "Twelve"]]))
    #expect(error.code == NSMigrationError && error.userInfo["attribute"] as? String == "rating")
  }

  @Test("Values that are to be dropped: another name as renaming identifier")
  func dropped() throws {
    let other = "<attribute name=\"year\" optional=\"YES\" attributeType=\"Integer 16\" elementID=\"yearAsNumber\"/>"
    let films = try films([Self.textYear, other], [["year": "1957"]])
    _ = try StoreMigration(storeAt: films.storeURL, modelsAt: films.modelURL).run()
    #expect(try films.rows("Film", "year", version: 2) == ["nil"])
  }

  @Test("An unknown function is an error that lists all; a condition replaces missing values")
  func functions() throws {
    let films = try films([Self.textYear, Self.numberYear], [["year": "1957"]])
    let mappingURL = try films.write(Self.mapping("FUNCTION($source.year, \"dateValue\")"), to: "Films.mapping")
    let error = try failure(films, mappings: [mappingURL])
    #expect(error.code == NSMigrationError && error.localizedFailureReason?.contains("integerValue") == true)
    let titles = try self.films([Self.optionalTitle, Self.titleWithoutDefault], [["title": "Twelve"], [:]])
    let titlesURL = try titles.write(
      """
      versions "Films" -> "Films 2"

      FilmToFilm   transform   Film -> Film
        title  attribute  TERNARY($source.title == nil, "Untitled", $source.title)
      """, to: "Films.mapping")
    _ = try StoreMigration(storeAt: titles.storeURL, modelsAt: titles.modelURL, mappings: [titlesURL]).run()
    #expect(try titles.rows("Film", "title", version: 2) == ["Twelve", "Untitled"])
  }

  @Test("Data moves into files of its own, and back")
  func externalData() throws {
    let inside = "<attribute name=\"poster\" optional=\"YES\" attributeType=\"Binary\"/>"
    let outside =
      "<attribute name=\"poster\" optional=\"YES\" attributeType=\"Binary\" allowsExternalBinaryDataStorage=\"YES\"/>"
    let poster = Data(repeating: 7, count: 300_000)
    for versions in [[inside, outside], [outside, inside]] {
      let films = try films(versions, [["poster": poster]])
      let migration = try StoreMigration(storeAt: films.storeURL, modelsAt: films.modelURL)
      #expect(migration.steps.map(\.isInPlace) == [true])
      _ = try migration.run()
      try films.open(2) { context throws -> Void in
        #expect(try context.all("Film", by: "poster").first?.value(forKey: "poster") as? Data == poster)
      }
    }
  }

  @Test("Another value transformer is no new version")
  func transformer() throws {
    let attribute =
      "<attribute name=\"color\" optional=\"YES\" attributeType=\"Transformable\" valueTransformerName=\"One\"/>"
    let films = try films([attribute, attribute.replacingOccurrences(of: "One", with: "Other")], [])
    #expect(try !StoreMigration(storeAt: films.storeURL, modelsAt: films.modelURL).isNeeded)
  }

  @Test("A container reports the same codes for rows and mapping models as the plan")
  func containers() throws {
    let narrow = try films([Self.real, Self.small], [["length": 70_000]])
    let required = try films([Self.optionalTitle, Self.titleWithoutDefault], [[:]])
    let unfit = try films([Self.textYear, Self.numberYear], [["year": "1957"]])
    let mappingURL = try unfit.write(Self.mapping("$source.year"), to: "Films.mapping")
    for (films, mappings) in [(narrow, []), (required, []), (unfit, [mappingURL])] {
      let description = NSPersistentStoreDescription(url: films.storeURL)
      description.setOption([films.modelURL] as NSArray, forKey: MigrationOption.models)
      description.setOption(mappings as NSArray, forKey: MigrationOption.mappings)
      let container = NSPersistentContainer(name: "Films", managedObjectModel: try films.model(2))
      container.persistentStoreDescriptions = [description]
      var failure: (any Error)?
      container.loadPersistentStores { _, error in failure = error }
      #expect((failure as NSError?)?.code == NSMigrationError)
      #expect(try films.version() == 1)
    }
  }
}
