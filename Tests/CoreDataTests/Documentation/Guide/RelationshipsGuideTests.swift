// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

// The code of the article "Changing relationships".

import CoreData
import CoreDataTestSupport
import Foundation
import Testing

// guide: first-author-policy
/// Keeps the author of a book who comes first by name.
final class FirstAuthorPolicy: NSEntityMigrationPolicy {
  override func createRelationships(
    forDestination book: NSManagedObject, in mapping: NSEntityMapping, manager: NSMigrationManager
  ) throws {
    try super.createRelationships(forDestination: book, in: mapping, manager: manager)
    let source = manager.sourceInstances(forEntityMappingName: mapping.name, destinationInstances: [book]).first
    let authors = (source?.value(forKey: "authors") as? Set<NSManagedObject> ?? []).sorted {
      ($0.value(forKey: "name") as? String ?? "") < ($1.value(forKey: "name") as? String ?? "")
    }
    guard let first = authors.first else { return }
    let made = manager.destinationInstances(forEntityMappingName: "AuthorToAuthor", sourceInstances: [first])
    book.setValue(made.first, forKey: "author")
  }
}
// end

// guide: enrollment-policy
/// Creates an enrollment for each course of a student.
final class EnrollmentPolicy: NSEntityMigrationPolicy {
  override func createRelationships(
    forDestination student: NSManagedObject, in mapping: NSEntityMapping, manager: NSMigrationManager
  ) throws {
    try super.createRelationships(forDestination: student, in: mapping, manager: manager)
    let source = manager.sourceInstances(forEntityMappingName: mapping.name, destinationInstances: [student]).first
    let courses = source?.value(forKey: "courses") as? Set<NSManagedObject> ?? []
    let made = manager.destinationInstances(forEntityMappingName: "CourseToCourse", sourceInstances: Array(courses))
    for course in made {
      let enrollment = NSEntityDescription.insertNewObject(
        forEntityName: "Enrollment", into: manager.destinationContext)
      enrollment.setValue(student, forKey: "student")
      enrollment.setValue(course, forKey: "course")
    }
  }
}
// end

@Suite("The guide on changing relationships")
struct RelationshipsGuideTests {
  private static let toOneError = """
    The relationship 'author' of entity 'Book' is to-many in the source and to-one in the destination; there is no
    telling which object to keep.
    """

  private static let severalError = """
    The destination can keep one object of 'Author' for each of 'Book' through the relationship 'author' of
    'Book', but 1 has several: Book/p2 has Author/p1, Author/p2.
    """

  private static let manyForOneError = """
    The expression for the property 'author' in the entity mapping 'BookToBook' returns 2 objects, but one object
    for the to-one relationship 'author' is needed. The expression is: FUNCTION($manager,
    "destinationInstancesForSourceRelationshipNamed:sourceInstances:", "authors", $source.authors).
    """

  private static let requiredError = """
    The relationship 'author' of entity 'Book' is new and required, but existing objects have no value for it.
    """

  private static let manyAuthors = """
    <entity name="Book">
      <attribute name="title" optional="YES" attributeType="String"/>
      <relationship name="authors" optional="YES" toMany="YES" destinationEntity="Author" inverseName="books"/>
    </entity>
    <entity name="Author">
      <attribute name="name" optional="YES" attributeType="String"/>
      <relationship name="books" optional="YES" toMany="YES" destinationEntity="Book" inverseName="authors"/>
    </entity>
    """
  private static let oneAuthor = """
    <entity name="Book">
      <attribute name="title" optional="YES" attributeType="String"/>
      <relationship name="author" optional="YES" maxCount="1" destinationEntity="Author" inverseName="books"/>
    </entity>
    <entity name="Author">
      <attribute name="name" optional="YES" attributeType="String"/>
      <relationship name="books" optional="YES" toMany="YES" destinationEntity="Book" inverseName="author"/>
    </entity>
    """
  /// The same with the old relationship's name as renaming identifier.
  private static let oneOfAuthors = oneAuthor.replacingOccurrences(
    of: "inverseName=\"books\"/>", with: "inverseName=\"books\" elementID=\"authors\"/>")

  private func library(_ versions: [String], together: Bool) throws -> GuideVersions {
    let library = try GuideVersions("Library", versions)
    try library.fill { context in
      let (knuth, graham) = (context.make("Author", ["name": "Knuth"]), context.make("Author", ["name": "Graham"]))
      context.make("Book", ["title": "The TeXbook"]).setValue(NSSet(object: knuth), forKey: "authors")
      let other = context.make("Book", ["title": "Concrete Mathematics"])
      other.setValue(together ? NSSet(array: [knuth, graham]) : NSSet(object: graham), forKey: "authors")
    }
    return library
  }

  @Test("To-one to to-many keeps the object, in place")
  func toMany() throws {
    let back = Self.manyAuthors.replacingOccurrences(
      of: """
        <relationship name="authors" optional="YES" toMany="YES" destinationEntity="Author" inverseName="books"/>
        """,
      with: """
        <relationship name="authors" optional="YES" toMany="YES" destinationEntity="Author" inverseName="books" elementID="author"/>
        """)
    let library = try GuideVersions("Library", [Self.oneAuthor, back])
    try library.fill { context in
      let knuth = context.make("Author", ["name": "Knuth"])
      context.make("Book", ["title": "The TeXbook"]).setValue(knuth, forKey: "author")
    }
    let migration = try StoreMigration(storeAt: library.storeURL, modelsAt: library.modelURL)
    #expect(migration.steps.map(\.isInPlace) == [true])
    _ = try migration.run()
    #expect(try library.rows("Book", "title", "authors.name", version: 2) == ["The TeXbook, {Knuth}"])
  }

  @Test("To-many to to-one cannot be inferred: 134190")
  func toOneRefused() throws {
    let library = try library([Self.manyAuthors, Self.oneOfAuthors], together: true)
    try library.expectFailure(NSInferredMappingModelError, Self.toOneError)
  }

  @Test("Where no object has several, the kept inverse fills the new relationship")
  func byInverse() throws {
    let library = try library([Self.manyAuthors, Self.oneAuthor], together: false)
    _ = try StoreMigration(storeAt: library.storeURL, modelsAt: library.modelURL).run()
    #expect(
      try library.rows("Book", "title", "author.name", version: 2) == [
        "Concrete Mathematics, Graham", "The TeXbook, Knuth",
      ])
    let other = try self.library([Self.manyAuthors, Self.oneAuthor], together: true)
    try other.expectFailure(NSMigrationError, Self.severalError)
  }

  private static let chosen = """
    versions "Library" -> "Library 2"

    AuthorToAuthor   transform   Author -> Author
      name  attribute  $source.name

    BookToBook   custom   Book -> Book
      policy  FirstAuthorPolicy
      drops   authors
      title   attribute  $source.title
    """

  @Test("A policy chooses one")
  func chosen() throws {
    MigrationPolicyClasses.register(FirstAuthorPolicy.self)
    let library = try library([Self.manyAuthors, Self.oneAuthor], together: true)
    let mappingURL = try library.write(Self.chosen, to: "Library.mapping")
    let (modelURL, storeURL) = (library.modelURL, library.storeURL)
    let report = try StoreMigration(storeAt: storeURL, modelsAt: modelURL, mappings: [mappingURL]).run()
    #expect(report.mappings.map(\.rows) == [.sql, .objects])
    #expect(
      try library.rows("Book", "title", "author.name", version: 2) == [
        "Concrete Mathematics, Graham", "The TeXbook, Knuth",
      ])
  }

  @Test("An expression with several objects for one is an error: 134110")
  func several() throws {
    let library = try library([Self.manyAuthors, Self.oneAuthor], together: true)
    let mappingURL = try library.write(
      """
      versions "Library" -> "Library 2"

      AuthorToAuthor   transform   Author -> Author
        name  attribute  $source.name

      BookToBook   transform   Book -> Book
        title   attribute     $source.title
        author  relationship  FUNCTION($manager, "destinationInstancesForSourceRelationshipNamed:sourceInstances:", "authors", $source.authors)
      """, to: "Library.mapping")
    try library.expectFailure(NSMigrationError, Self.manyForOneError, mappings: [mappingURL])
  }

  private static let courses = """
    <entity name="Student">
      <attribute name="name" optional="YES" attributeType="String"/>
      <relationship name="courses" optional="YES" toMany="YES" destinationEntity="Course" inverseName="students"/>
    </entity>
    <entity name="Course">
      <attribute name="title" optional="YES" attributeType="String"/>
      <relationship name="students" optional="YES" toMany="YES" destinationEntity="Student" inverseName="courses"/>
    </entity>
    """
  private static let enrollments = """
    <entity name="Student">
      <attribute name="name" optional="YES" attributeType="String"/>
      <relationship name="enrollments" optional="YES" toMany="YES" destinationEntity="Enrollment" inverseName="student"/>
    </entity>
    <entity name="Course">
      <attribute name="title" optional="YES" attributeType="String"/>
      <relationship name="enrollments" optional="YES" toMany="YES" destinationEntity="Enrollment" inverseName="course"/>
    </entity>
    <entity name="Enrollment">
      <attribute name="grade" optional="YES" attributeType="Integer 16"/>
      <relationship name="student" maxCount="1" destinationEntity="Student" inverseName="enrollments"/>
      <relationship name="course" maxCount="1" destinationEntity="Course" inverseName="enrollments"/>
    </entity>
    """

  private static let schoolMapping = """
    versions "School" -> "School 2"

    CourseToCourse   transform   Course -> Course
      title  attribute  $source.title

    StudentToStudent   custom   Student -> Student
      policy  EnrollmentPolicy
      drops   courses
      name    attribute  $source.name
    """

  private func school() throws -> GuideVersions {
    let school = try GuideVersions("School", [Self.courses, Self.enrollments])
    try school.fill { context in
      let (logic, art) = (context.make("Course", ["title": "Logic"]), context.make("Course", ["title": "Art"]))
      context.make("Student", ["name": "Ada"]).setValue(NSSet(array: [logic, art]), forKey: "courses")
      context.make("Student", ["name": "Alan"]).setValue(NSSet(object: logic), forKey: "courses")
    }
    return school
  }

  @Test("Each link of a many-to-many relationship becomes an object")
  func enrollments() throws {
    MigrationPolicyClasses.register(EnrollmentPolicy.self)
    let school = try school()
    let mappingURL = try school.write(Self.schoolMapping, to: "School.mapping")
    let report = try StoreMigration(storeAt: school.storeURL, modelsAt: school.modelURL, mappings: [mappingURL]).run()
    #expect(report.rows["Enrollment"]?.after == 3)
    #expect(
      try school.rows("Enrollment", "student.name", "course.title", "grade", version: 2) == [
        "Ada, Art, nil", "Ada, Logic, nil", "Alan, Logic, nil",
      ])
  }

  @Test("Without it, inference drops the links")
  func enrollmentsInferred() throws {
    let school = try school()
    _ = try StoreMigration(storeAt: school.storeURL, modelsAt: school.modelURL).run()
    #expect(try school.rows("Enrollment", "grade", version: 2) == [])
  }

  @Test("A mapping model that does not read the links is refused: 134110")
  func linksUnread() throws {
    let school = try school()
    let mappingURL = try school.write(
      """
      versions "School" -> "School 2"

      CourseToCourse   transform   Course -> Course
        title  attribute  $source.title

      StudentToStudent   transform   Student -> Student
        name    attribute  $source.name
      """, to: "School.mapping")
    let error = try #require(throws: NSError.self) {
      _ = try StoreMigration(storeAt: school.storeURL, modelsAt: school.modelURL, mappings: [mappingURL]).run()
    }
    #expect(error.code == NSMigrationError)
    for part in ["3 links of 'Student.courses'", "3 links of 'Course.students'"] {
      #expect(error.localizedFailureReason?.contains(part) == true)
    }
    #expect(try school.version() == 1)
  }

  @Test("A new required to-one relationship cannot be inferred: 134190")
  func required() throws {
    let required = Self.oneAuthor.replacingOccurrences(
      of: "name=\"author\" optional=\"YES\"", with: "name=\"author\"")
    let library = try library([Self.manyAuthors, required], together: false)
    try library.expectFailure(NSInferredMappingModelError, Self.requiredError)
  }

  @Test("Optional to required: accepted in place, an error of the next save of such an object, 1570")
  func becomesRequired() throws {
    let required = Self.oneAuthor.replacingOccurrences(
      of: "name=\"author\" optional=\"YES\"", with: "name=\"author\"")
    let library = try GuideVersions("Library", [Self.oneAuthor, required])
    try library.fill { $0.make("Book", ["title": "Beowulf"]) }
    _ = try StoreMigration(storeAt: library.storeURL, modelsAt: library.modelURL).run()
    try library.open(2) { context throws -> Void in
      try context.all("Book", by: "title").first?.setValue("Beowulf!", forKey: "title")
      #expect(context.saveCode() == NSValidationMissingMandatoryPropertyError)
    }
  }

  @Test("A migration by a mapping model validates a relationship that becomes required, and refuses it: 1570")
  func becomesRequiredByMapping() throws {
    let required = Self.oneAuthor.replacingOccurrences(
      of: "name=\"author\" optional=\"YES\"", with: "name=\"author\"")
    let library = try GuideVersions("Library", [Self.oneAuthor, required])
    try library.fill { $0.make("Book", ["title": "Beowulf"]) }
    let mapping = try NSMappingModel.inferredMappingModel(
      forSourceModel: library.model(1), destinationModel: library.model(2))
    let manager = NSMigrationManager(sourceModel: try library.model(1), destinationModel: try library.model(2))
    let error = try #require(throws: NSError.self) {
      try manager.migrateStore(
        from: library.storeURL, type: .sqlite, mapping: mapping,
        to: library.folder.appendingPathComponent("New.sqlite"),
        type: .sqlite)
    }
    #expect(error.code == NSValidationMissingMandatoryPropertyError)
  }

  @Test("Another destination entity: the links are dropped")
  func redirected() throws {
    let other =
      Self.oneAuthor.replacingOccurrences(
        of: "destinationEntity=\"Author\" inverseName=\"books\"", with: "destinationEntity=\"Editor\""
      )
      .replacingOccurrences(
        of:
          "  <relationship name=\"books\" optional=\"YES\" toMany=\"YES\" destinationEntity=\"Book\" inverseName=\"author\"/>\n",
        with: "") + "\n<entity name=\"Editor\"/>"
    let library = try GuideVersions("Library", [Self.oneAuthor, other])
    try library.fill { context in
      context.make("Book", ["title": "The TeXbook"]).setValue(
        context.make("Author", ["name": "Knuth"]), forKey: "author")
    }
    _ = try StoreMigration(storeAt: library.storeURL, modelsAt: library.modelURL).run()
    #expect(try library.rows("Book", "title", "author", version: 2) == ["The TeXbook, nil"])
  }

  @Test("Unordered to ordered and back keeps the objects, and going through unordered loses the order")
  func order() throws {
    let ordered = Self.manyAuthors.replacingOccurrences(
      of: "name=\"authors\" optional=\"YES\" toMany=\"YES\"",
      with: "name=\"authors\" optional=\"YES\" toMany=\"YES\" ordered=\"YES\"")
    let library = try library([Self.manyAuthors, ordered], together: true)
    _ = try StoreMigration(storeAt: library.storeURL, modelsAt: library.modelURL).run()
    try library.open(2) { context throws -> Void in
      let book = try #require(try context.all("Book", by: "title").first)
      #expect((book.value(forKey: "authors") as? NSOrderedSet)?.count == 2)
    }
  }
}
