// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

// The code of the guide's articles about moved code and differences from Apple's framework, between `guide:` and `end`.

import CoreData
import CoreDataTestSupport
import Foundation
import Testing

// guide: moving-class
/// A note, with accessors as the plug-in writes them for `@NSManaged`.
final class GuideNote: NSManagedObject {
  var title: String? {
    get { Self.titleProperty[self] }
    set { Self.titleProperty[self] = newValue }
  }
  private static let titleProperty = ManagedProperty<String?>("title")

  var onChange: ((String) -> Void)?

  override func didChangeValue(forKey key: String) {
    super.didChangeValue(forKey: key)
    onChange?(key)
  }

  override func value(forUndefinedKey key: String) -> Any? {
    key == "initial" ? title?.first.map(String.init) : super.value(forUndefinedKey: key)
  }
}
// end

@Suite("The code of the guide: moved code")
struct MovingGuideTests {
  private let store: TemporaryStore

  init() throws {
    store = try TemporaryStore("Data.sqlite")
  }

  private func notes() -> NSManagedObjectModel {
    // guide: moving-model
    let note = NSEntityDescription()
    note.name = "Note"
    note.managedObjectClassName = NSStringFromClass(GuideNote.self)
    // end
    note.properties = ["title", "text"].map { NSAttributeDescription.make($0, .stringAttributeType) }
    let model = NSManagedObjectModel()
    model.entities = [note]
    return model
  }

  @Test("Accessors, keys and changes of a class without Objective-C")
  func classes() throws {
    let context = try store.context(notes())
    var changed: [String] = []
    // guide: moving-use
    let note = GuideNote(context: context)
    note.onChange = { changed.append($0) }
    note.title = "Milk"
    let initial = note.value(forKey: "initial") as? String
    // end
    #expect(changed == ["title"] && initial == "M")
    try context.save()

    // guide: moving-request
    let request: NSFetchRequest<GuideNote> = GuideNote.fetchRequest()
    let found = try context.fetch(request)
    // end
    #expect(found == [note])

    nonisolated(unsafe) var lines: [String] = []
    // guide: moving-notification
    let observer = NotificationCenter.default.addObserver(
      forName: NSManagedObjectContext.didChangeObjectsNotification, object: context, queue: nil
    ) { post in
      for object in post.userInfo?[NSUpdatedObjectsKey] as? Set<NSManagedObject> ?? [] {
        lines.append("\(object.entity.name ?? ""): \(object.changedValues().keys.sorted())")
      }
    }
    // end
    defer { NotificationCenter.default.removeObserver(observer) }
    note.title = "Two bottles"
    context.processPendingChanges()
    #expect(lines == ["Note: [\"title\"]"])
  }

  @Test("Errors are told apart by domain and code")
  func errors() throws {
    let context = try store.context(notes())
    let note = context.make("Note", ["title": "Milk"])
    var known = false
    // guide: differences-errors
    do {
      try note.setCheckedValue("red", forKeyPath: "colour")
    } catch let error as NSError where error.domain == NSCocoaErrorDomain && error.code == NSCoreDataError {
      known = true
    }
    // end
    #expect(known)
  }

  @Test("Texts from outside are checked, and mean the same in memory and in SQL")
  func predicates() throws {
    let context = try store.context(notes())
    for title in ["Milk", "Bread", nil] { context.make("Note").setValue(title, forKey: "title") }
    try context.save()
    let text = "title != 'Milk'"
    // guide: differences-checked
    let request = NSFetchRequest<NSManagedObject>(entityName: "Note")
    request.predicate = try NSPredicate.checked(format: text)
    let titles = try context.fetch(request).map { $0.value(forKey: "title") as? String ?? "none" }
    // end
    #expect(titles.sorted() == ["Bread", "none"])
    request.predicate = nil
    let all = try context.fetch(request)
    #expect(all.filter { NSPredicate(format: "title != 'Milk'").evaluate(with: $0) }.count == 2)
    let error = #expect(throws: NSError.self) { try NSPredicate.checked(format: "name ==") }
    #expect(error?.code == NSCoreDataError)
    #expect(
      error?.localizedFailureReason
        == "Unable to parse the format string \"name ==\": at character 8 there is the end, but a value or a key path "
        + "was expected.")
  }

  @Test("The members of a relationship are a Swift set")
  func sets() throws {
    let context = try store.context(CompanyModel.make())
    let department = context.make("Department", ["name": "Research"])
    let ada = context.make("Employee", ["name": "Ada", "department": department])
    // guide: differences-sets
    let members = department.value(forKey: "employees") as? Set<NSManagedObject> ?? []
    let others = department.mutableSetValue(forKey: "employees")
    // end
    #expect(members == [ada] && others.allObjects as? [NSManagedObject] == [ada])
    // The cast that does not do what it does on Apple's systems.
    #expect((others as? Set<NSManagedObject>)?.isEmpty == true)
  }

  @Test("A value is validated in place")
  func validation() throws {
    let context = try store.context(CompanyModel.make())
    let ada = context.make("Employee", ["name": "Ada"])
    var code = 0
    // guide: differences-validation
    var value: Any?
    do {
      try ada.validateValue(&value, forKey: "name")
    } catch {
      code = (error as NSError).code
    }
    // end
    #expect(code == NSValidationMissingMandatoryPropertyError)
  }

  @Test("An older program does not migrate a newer store back")
  func downgrade() throws {
    let new = try DailyUseStore()
    // A version that no example has: a build beside this test may hold the versions of the example.
    let newest = try NSManagedObjectModel.load(contentsOf: DailyUseStore.modelURL)
    newest.entitiesByName["TSPItem"]?.properties.append(
      NSAttributeDescription.make("color", .stringAttributeType))
    _ = try new.container(model: newest)
    // As in a program that has only the first version.
    var builder = ModelBuilder()
    builder.entity(
      "TSPItem",
      [
        .make("createdAt", .dateAttributeType), .make("done", .booleanAttributeType, optional: false, default: false),
        .make("name", .stringAttributeType),
      ])
    let oldest = builder.model()
    let error = #expect(throws: NSError.self) { _ = try new.container(model: oldest) }
    #expect(error?.code == NSMigrationMissingSourceModelError)
    // guide: differences-downgrade
    let description = NSPersistentStoreDescription(url: new.storeURL)
    description.allowsDowngrade = true
    // end
    let container = NSPersistentContainer(name: "Done", managedObjectModel: oldest)
    container.persistentStoreDescriptions = [description]
    var failure: (any Error)?
    container.loadPersistentStores { failure = $1 }
    #expect(failure == nil)
  }
}
