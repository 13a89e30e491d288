// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataSQLite
import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreData

/// Keys, values and predicates that come from outside the program.
@Suite("Access that throws where the usual one stops the program")
struct CheckedAccessTests {
  private func error(_ code: Int, _ parts: [String], _ body: () throws -> Void) throws {
    let error = try #require(throws: NSError.self) { try body() }
    #expect(error.domain == NSCocoaErrorDomain && error.code == code, "\(error)")
    for part in parts { #expect(error.localizedFailureReason?.contains(part) == true, "\(error)") }
    #expect(error.localizedRecoverySuggestion?.isEmpty == false)
  }

  @Test("Values of the wrong type and unknown keys are errors that name entity and property, and change nothing")
  func setting() throws {
    let context = try TemporaryStore().context(CompanyModel.make())
    let other = try TemporaryStore().context(CompanyModel.make())
    let ada = context.make("Employee", ["name": "Ada", "age": 36])
    let wrong: [(String, Any)] = [
      ("age", "x"), ("age", [1]), ("hired", 5), ("photo", "text"), ("token", "no UUID"), ("site", 7), ("name", 1),
      ("isActive", "YES"), ("salary", Date()), ("department", "Research"), ("department", ada),
      ("projects", "Apollo"), ("projects", ["Apollo"]), ("projects", NSSet(array: [ada])),
      ("favourites", 1), ("department", other.make("Department")),
    ]
    for (key, value) in wrong {
      try error(NSManagedObjectValidationError, ["'\(key)' of 'Employee'"]) {
        try ada.setCheckedValue(value, forKeyPath: key)
      }
    }
    try error(NSCoreDataError, ["'Employee'", "'ages'", "age, "]) { try ada.setCheckedValue(1, forKeyPath: "ages") }
    try error(NSCoreDataError, ["'ages'"]) { try ada.setCheckedValues(["age": 1, "ages": 2]) }
    try error(NSManagedObjectValidationError, ["'badge'"]) { try ada.setCheckedValues(["age": 1, "badge": "b"]) }
    try error(NSCoreDataError, ["name"]) { try ada.setCheckedValue(1, forKeyPath: "name.length") }
    try error(NSCoreDataError, ["'nobody'"]) { try ada.setCheckedValue(1, forKeyPath: "nobody.name") }
    #expect(ada["age"] as? Int == 36 && ada["department"] == nil && (ada["projects"] as? NSSet)?.count == 0)
    ada["department"] = context.make("Department")
    try ada.setCheckedValues(["age": 37, "name": "Ada L.", "badge": NSNull()])
    try ada.setCheckedValue("R", forKeyPath: "department.name")
    #expect(ada["age"] as? Int == 37 && ada.value(forKeyPath: "department.name") as? String == "R")
    try error(NSManagedObjectValidationError, ["'name' of 'Department'"]) {
      try ada.setCheckedValue(1, forKeyPath: "department.name")
    }
  }

  @Test("Reading an unknown key, or through a plain value, is an error")
  func reading() throws {
    let context = try TemporaryStore().context(CompanyModel.make())
    let ada = context.make("Employee", ["name": "Ada", "department": context.make("Department", ["name": "R"])])
    #expect(try ada.checkedValue(forKeyPath: "department.name") as? String == "R")
    #expect(try ada.checkedValue(forKeyPath: "department.employees.@count") as? Int == 1)
    for path in ["nobody", "department.nobody", "name.first", "department.employees.@nothing", "name.@count"] {
      try error(NSCoreDataError, ["'\(path)' of 'Employee'"]) { _ = try ada.checkedValue(forKeyPath: path) }
    }
  }

  @Test("An object whose row is gone, or cannot be read, is an error of the checked access")
  func rows() throws {
    let store = try TemporaryStore()
    let context = try store.context(CompanyModel.make())
    for name in ["a", "b", "c"] { context.make("Employee", ["name": name, "hired": Date()]) }
    try context.save()
    let tasks = try context.all("Employee")
    for task in tasks { context.refresh(task, mergeChanges: false) }
    let connection = try SQLiteConnection(url: store.url, mode: .readWrite)
    try connection.run("DELETE FROM ZEMPLOYEE WHERE ZNAME = 'a'")
    try connection.run("UPDATE ZEMPLOYEE SET ZHIRED = 'never' WHERE ZNAME = 'b'")
    try connection.close()
    try error(NSManagedObjectReferentialIntegrityError, [tasks[0].objectID.uriRepresentation().absoluteString]) {
      _ = try tasks[0].checkedValue(forKeyPath: "name")
    }
    let failure = try #require(throws: NSError.self) { try tasks[1].checkedValue(forKeyPath: "name") }
    #expect(
      failure.domain == NSCocoaErrorDomain && failure.localizedFailureReason?.contains("hired") == true, "\(failure)")
    #expect(try tasks[2].checkedValue(forKeyPath: "name") as? String == "c")
    // It was thrown, and is not thrown again.
    try context.save()
  }

  @Test("A row that cannot be read is an error of the fetch that needs it, also where it is sorted out in memory")
  func fetching() throws {
    let store = try TemporaryStore()
    let context = try store.context(CompanyModel.make())
    let department = context.make("Department", ["name": "D"])
    for name in ["a", "b"] { context.make("Employee", ["name": name, "department": department, "hired": Date()]) }
    try context.save()
    try store.close()
    let connection = try SQLiteConnection(url: store.url, mode: .readWrite)
    try connection.run("UPDATE ZEMPLOYEE SET ZHIRED = 'never' WHERE ZNAME = 'b'")
    try connection.close()
    let second = try store.context(CompanyModel.make())
    #expect(throws: NSError.self) { try second.all("Employee") }
    // The block reads the employees' rows one by one.
    let block = NSPredicate(block: { object, _ in
      let employees = (object as? NSManagedObject)?["employees"] as? NSSet
      return employees?.contains { ($0 as? NSManagedObject)?["name"] as? String == "b" } ?? false
    })
    #expect(throws: NSError.self) { try second.all("Department", where: block) }
    try second.save()
  }

  @Test("A fetched property whose request fails has no objects, and the next save tells why")
  func fetchedProperty() throws {
    let property = NSFetchedPropertyDescription()
    property.name = "found"
    var builder = ModelBuilder()
    let author = builder.entity("Author", [.make("name", .stringAttributeType)])
    let model = builder.model()
    let request = NSFetchRequest<any NSFetchRequestResult>(entityName: "Author")
    request.entity = author
    request.predicate = NSPredicate(format: "name == $NOBODY")
    property.fetchRequest = request
    author.properties.append(property)
    let context = try TemporaryStore().context(model)
    let ada = context.make("Author", ["name": "Ada"])
    try context.save()
    try error(NSCoreDataError, ["NOBODY"]) { _ = try ada.checkedValue(forKeyPath: "found") }
    #expect((ada.value(forKey: "found") as? [Any])?.isEmpty == true)
    try error(NSCoreDataError, ["NOBODY"]) { try context.save() }
    try context.save()
  }

  @Test("A fetched property that needs itself, or a chain of many, is an error")
  func endlessFetchedProperty() throws {
    for format in ["SELF IN $FETCH_SOURCE.found", "$FETCH_SOURCE.next.found.@count > 0"] {
      let property = NSFetchedPropertyDescription()
      property.name = "found"
      var builder = ModelBuilder()
      let author = builder.entity("Author", [.make("name", .stringAttributeType)])
      builder.relate(.init("Author", "next"), .init("Author", "previous"))
      let model = builder.model()
      let request = NSFetchRequest<any NSFetchRequestResult>(entityName: "Author")
      request.entity = author
      request.predicate = NSPredicate(format: format)
      property.fetchRequest = request
      author.properties.append(property)
      let context = try TemporaryStore().context(model)
      let authors = (0..<100).map { _ in context.make("Author") }
      for (one, next) in zip(authors, authors.dropFirst()) { one["next"] = next }
      try context.save()
      try error(NSCoreDataError, ["'found' of 'Author'"]) { _ = try authors[0].checkedValue(forKeyPath: "found") }
      #expect((authors[0].value(forKey: "found") as? [Any])?.isEmpty == true)
      try error(NSCoreDataError, ["'found' of 'Author'"]) { try context.save() }
      try context.save()
    }
  }

  @Test("A format that cannot be read says where, and what was expected")
  func formats() throws {
    for format in ["name ==", "name == 'a", "(((", "", "name = %@", "1 + 2", "a == 1 AND", "NOT", "%K == 1"] {
      try error(NSCoreDataError, ["at character"]) { _ = try NSPredicate.checked(format: format) }
    }
    let nested = String(repeating: "(", count: 5_000) + "a == 1" + String(repeating: ")", count: 5_000)
    try error(NSCoreDataError, ["nesting"]) { _ = try NSPredicate.checked(format: nested) }
    try error(NSCoreDataError, ["at character"]) { _ = try NSExpression.checked(format: "a +") }
    let block = NSPredicate(block: { _, _ in true })
    try error(NSCoreDataError, ["block"]) {
      _ = try NSPredicate.checked(format: "a == 1 AND %@", argumentArray: [block])
    }
    let predicate = try NSPredicate.checked(format: "%K == %@", argumentArray: ["a", 1])
    #expect(try predicate.checkedEvaluate(with: ["a": 1]))
    #expect(
      try NSExpression.checked(format: "a + %d", argumentArray: [2]).checkedExpressionValue(with: ["a": 1]) as? Int == 3
    )
  }

  @Test("A predicate, an expression or a sort descriptor that does not fit its object is an error")
  func evaluating() throws {
    let context = try TemporaryStore().context(CompanyModel.make())
    let (a, b) = (context.make("Task", ["title": "a"]), context.make("Task", ["title": "b"]))
    for format in ["nobody == 1", "title == $VALUE", "title < 5", "title MATCHES '('", "title.@sum == 1"] {
      try error(NSCoreDataError, [format.split(separator: " ").first.map(String.init) ?? ""]) {
        _ = try NSPredicate.checked(format: format).checkedEvaluate(with: a)
      }
    }
    #expect(try NSPredicate(format: "title == $V").checkedEvaluate(with: a, substitutionVariables: ["V": "a"]))
    for format in ["nobody", "FUNCTION(title, 'nothing')", "sqrt(title)"] {
      try error(NSCoreDataError, []) { _ = try NSExpression.checked(format: format).checkedExpressionValue(with: a) }
    }
    try error(NSCoreDataError, ["nobody"]) {
      _ = try NSSortDescriptor(key: "nobody", ascending: true).checkedCompare(a, to: b)
    }
    #expect(try NSSortDescriptor(key: "title", ascending: false).checkedCompare(a, to: b) == .orderedDescending)
    for predicate in [NSPredicate(format: "title == $VALUE"), NSPredicate(format: "FUNCTION(title, 'nothing') == 1")] {
      try error(NSCoreDataError, []) { _ = try context.all("Task", by: "title", where: predicate) }
    }
    try error(NSCoreDataError, ["'nobody'"]) { _ = try context.all("Task", by: "nobody") }
    try error(NSCoreDataError, ["'nobody'"]) {
      _ = try context.all("Task", by: "title", where: NSPredicate(format: "nobody == 1"))
    }
  }

  @Test("A whole number that its type cannot hold is not saved: 1610 and 1620")
  func ranges() throws {
    final class Own: NSManagedObject {}
    for isOwn in [false, true] {
      let model = CompanyModel.make()
      if isOwn { model.entitiesByName["Employee"]?.managedObjectClassName = "Own" }
      let context = try TemporaryStore().context(model)
      let ada = isOwn ? Own(context: context) : context.make("Employee")
      ada.setValuesForKeys(["name": "Ada", "age": 100_000])
      try error(NSValidationNumberTooLargeError, ["'age' of 'Employee'", "100000"]) { try context.save() }
      ada["age"] = -32_769
      try error(NSValidationNumberTooSmallError, ["'age' of 'Employee'"]) { try context.save() }
      ada.setValuesForKeys(["age": 32_767, "badge": Int(Int32.max) + 1])
      try error(NSValidationNumberTooLargeError, ["'badge'"]) { try context.save() }
      ada.setValuesForKeys(["age": -32_768, "badge": Int(Int32.min), "steps": Int.max])
      try context.save()
    }
  }

  @Test("Composite values have elements that the attribute has, of their types")
  func composites() throws {
    let place = NSCompositeAttributeDescription()
    place.name = "place"
    place.isOptional = true
    place.elements = [.make("lat", .doubleAttributeType), .make("name", .stringAttributeType)]
    var builder = ModelBuilder()
    builder.entity("Spot", [place])
    let context = try TemporaryStore().context(builder.model())
    let spot = context.make("Spot", ["place": ["lat": 1.5, "name": "home"]])
    for wrong in [["nosuch": 1], ["lat": "north"], ["name": 7]] as [[String: Any]] {
      try error(NSManagedObjectValidationError, ["'place' of 'Spot'"]) {
        try spot.setCheckedValue(wrong, forKeyPath: "place")
      }
    }
    try error(NSManagedObjectValidationError, ["'place' of 'Spot'"]) {
      try spot.setCheckedValue("x", forKeyPath: "place.lat")
    }
    try context.save()
    context.refresh(spot, mergeChanges: false)
    #expect(spot.value(forKeyPath: "place.lat") as? Double == 1.5)
  }

  @Test("Numbers that no integer attribute holds are refused, and any but zero is true")
  func numbers() throws {
    let context = try TemporaryStore().context(CompanyModel.make())
    let ada = context.make("Employee", ["name": "Ada", "steps": 5])
    let tooLarge: [Any] = [NSNumber(value: UInt64.max), NSNumber(value: 1e30), UInt64.max, 1e19]
    for number in tooLarge {
      try error(NSManagedObjectValidationError, ["'steps'"]) { try ada.setCheckedValue(number, forKeyPath: "steps") }
    }
    #expect(ada["steps"] as? Int == 5)
    for (number, wanted) in [(0.1, true), (-0.1, true), (1e20, true), (0, false)] as [(Double, Bool)] {
      ada["isActive"] = NSNumber(value: number)
      #expect(ada["isActive"] as? Bool == wanted, "\(number)")
    }
    ada["isActive"] = NSDecimalNumber(string: "-0.1")
    #expect(ada["isActive"] as? Bool == true)
  }

  @Test("A value set through a to-many relationship goes to each member")
  func throughMembers() throws {
    let context = try TemporaryStore().context(CompanyModel.make())
    let department = context.make("Department", ["name": "D"])
    let people = ["a", "b"].map { context.make("Employee", ["name": $0, "department": department]) }
    department.setValue(7, forKeyPath: "employees.age")
    #expect(people.map { $0["age"] as? Int } == [7, 7])
    try error(NSManagedObjectValidationError, ["'age' of 'Employee'"]) {
      try department.setCheckedValue("x", forKeyPath: "employees.age")
    }
  }

  @Test("An object of an abstract entity is not saved")
  func abstract() throws {
    var builder = ModelBuilder()
    builder.entity("Shape", isAbstract: true, [.make("name", .stringAttributeType)])
    builder.entity("Circle", parent: "Shape")
    let context = try TemporaryStore().context(builder.model())
    let shape = context.make("Shape", ["name": "a"])
    context.make("Circle", ["name": "b"])
    try error(NSManagedObjectValidationError, ["'Shape' is abstract"]) { try context.save() }
    context.delete(shape)
    try context.save()
    #expect(try context.all("Shape", by: "name").map { $0["name"] as? String } == ["b"])
  }

  @Test("An object that is changed by willSave() of another, or its own, is told again")
  func toldAgain() throws {
    final class Counting: NSManagedObject {
      override func willSave() {
        if entity.name == "Task", let project = value(forKey: "project") as? NSManagedObject {
          let count = (project.value(forKey: "tasks") as? NSOrderedSet)?.count ?? 0
          if project.value(forKey: "title") as? String != "\(count)" { project.setValue("\(count)", forKey: "title") }
        } else if entity.name == "Project", value(forKey: "title") as? String == "2" {
          setValue("two", forKey: "title")
        }
      }
    }
    let model = CompanyModel.make()
    for name in ["Task", "Project"] { model.entitiesByName[name]?.managedObjectClassName = "Counting" }
    let context = try TemporaryStore().context(model)
    for name in ["Task", "Project"] {
      ManagedObjectClasses.offer(Counting.self, for: try #require(model.entitiesByName[name]))
    }
    let project = context.make("Project", ["title": "new"])
    for title in ["a", "b"] { context.make("Task", ["title": title, "project": project]) }
    try context.save()
    #expect(project["title"] as? String == "two")
  }

  @Test("willSave() that goes on changing objects is an error of the save")
  func endless() throws {
    final class Restless: NSManagedObject {
      override func willSave() { _ = managedObjectContext?.make("Task") }
    }
    let model = CompanyModel.make()
    model.entitiesByName["Task"]?.managedObjectClassName = "Restless"
    let context = try TemporaryStore().context(model)
    _ = Restless(context: context)
    try error(NSCoreDataError, ["willSave()", "Task"]) { try context.save() }
  }

  @Test(
    "A save that is called during a save is an error of its own, and the first one writes everything", .serialized,
    arguments: ["willSave", "validation", "willSave notification", "change notification"])
  func recursiveSave(place: String) throws {
    final class Recursive: NSManagedObject {
      nonisolated(unsafe) static var codes: [Int] = []
      nonisolated(unsafe) static var place = ""

      static func save(_ context: NSManagedObjectContext?) { codes.append(context?.saveCode() ?? -1) }

      override func willSave() { if Self.place == "willSave" { Self.save(managedObjectContext) } }

      override func validateForUpdate() throws {
        if Self.place == "validation" { Self.save(managedObjectContext) }
        try super.validateForUpdate()
      }
    }
    let model = CompanyModel.make()
    model.entitiesByName["Task"]?.managedObjectClassName = "Recursive"
    ManagedObjectClasses.offer(Recursive.self, for: try #require(model.entitiesByName["Task"]))
    let store = try TemporaryStore()
    let context = try store.context(model)
    nonisolated(unsafe) let task = context.make("Task", ["title": "a"])
    try context.save()
    (Recursive.codes, Recursive.place) = ([], place)
    let names = [
      "willSave notification": NSManagedObjectContext.willSaveObjectsNotification,
      "change notification": NSManagedObjectContext.didChangeObjectsNotification,
    ]
    let observer = names[place].map {
      NotificationCenter.default.addObserver(forName: $0, object: context, queue: nil) {
        Recursive.save($0.object as? NSManagedObjectContext)
      }
    }
    defer { if let observer { NotificationCenter.default.removeObserver(observer) } }
    task["title"] = "b"
    try context.save()
    #expect(Recursive.codes == [132_001] && !context.hasChanges)
    #expect(try store.context(CompanyModel.make()).all("Task", by: "title").map { $0["title"] as? String } == ["b"])
    // A save after the first one has ended is not part of it.
    if let observer { NotificationCenter.default.removeObserver(observer) }
    let saving = NotificationCenter.default.addObserver(
      forName: NSManagedObjectContext.didSaveObjectsNotification, object: context, queue: nil
    ) { _ in
      guard task["title"] as? String == "c" else { return }
      task["title"] = "d"
      Recursive.place = ""
      Recursive.save(task.managedObjectContext)
    }
    defer { NotificationCenter.default.removeObserver(saving) }
    (Recursive.codes, Recursive.place) = ([], "")
    task["title"] = "c"
    try context.save()
    #expect(Recursive.codes == [0] && task["title"] as? String == "d" && !context.hasChanges)
  }
}
