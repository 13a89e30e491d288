// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataTestSupport
import Foundation
import Testing

@Suite("Relationships and deletion rules")
struct RelationshipTests {
  @Test("Setting one side of a to-one relationship keeps the other side in step, also when it moves")
  func inverse() throws {
    let store = try TemporaryStore()
    let context = try store.context(CompanyModel.make())
    let research = context.make("Department", ["name": "Research"])
    let sales = context.make("Department", ["name": "Sales"])
    let ada = context.make("Employee", ["name": "Ada", "department": research])
    #expect(research["employees"] as? Set<NSManagedObject> == [ada])
    ada["department"] = sales
    #expect(research["employees"] as? Set<NSManagedObject> == [])
    #expect(sales["employees"] as? Set<NSManagedObject> == [ada])
    sales["employees"] = NSSet()
    #expect(ada["department"] == nil)
  }

  @Test("Moving a saved object changes the stored sides too, without reading them first")
  func moving() throws {
    let store = try TemporaryStore()
    do {
      let context = try store.context(CompanyModel.make())
      let research = context.make("Department", ["name": "Research"])
      context.make("Department", ["name": "Sales"])
      context.make("Employee", ["name": "Ada", "department": research])
      context.make("Employee", ["name": "Grace", "department": research])
      try context.save()
    }
    do {
      let context = try store.context(CompanyModel.make())
      let ada = try #require(try context.all("Employee").first)
      ada["department"] = try context.all("Department").last
      try context.save()
    }
    let departments = try store.context(CompanyModel.make()).all("Department")
    #expect(departments.map { ($0["employees"] as? NSSet)?.count } == [1, 1])
  }

  @Test("One-to-one: taking someone's partner leaves the former partner alone")
  func oneToOne() throws {
    let store = try TemporaryStore()
    let context = try store.context(CompanyModel.make())
    let contract = context.make("Contract", ["number": 1])
    let ada = context.make("Employee", ["name": "Ada", "contract": contract])
    let grace = context.make("Employee", ["name": "Grace", "contract": contract])
    #expect(ada["contract"] == nil)
    #expect(contract["employee"] as? NSManagedObject === grace)
    try context.save()
  }

  @Test("Many-to-many relationships are stored once and read from both sides")
  func manyToMany() throws {
    let store = try TemporaryStore()
    do {
      let context = try store.context(CompanyModel.make())
      let apollo = context.make("Project", ["title": "Apollo"])
      let gemini = context.make("Project", ["title": "Gemini"])
      let ada = context.make("Employee", ["name": "Ada", "projects": NSSet(array: [apollo, gemini])])
      context.make("Manager", ["name": "Grace", "projects": NSSet(array: [apollo])])
      try context.save()
      ada.mutableSetValue(forKey: "projects").remove(gemini)
      try context.save()
    }
    let context = try store.context(CompanyModel.make())
    let projects = try context.all("Project", by: "title")
    #expect(projects.map { ($0["members"] as? NSSet)?.count } == [2, 0])
    let members = try #require(projects[0]["members"] as? Set<NSManagedObject>)
    #expect(Set(members.compactMap { $0["name"] as? String }) == ["Ada", "Grace"])
    #expect(Set(members.compactMap(\.entity.name)) == ["Employee", "Manager"])
  }

  @Test("A relationship that is its own inverse holds on both sides")
  func reflexive() throws {
    let store = try TemporaryStore()
    do {
      let context = try store.context(CompanyModel.make())
      let ada = context.make("Employee", ["name": "Ada"])
      let grace = context.make("Employee", ["name": "Grace", "friends": NSSet(array: [ada])])
      #expect(ada["friends"] as? Set<NSManagedObject> == [grace])
      try context.save()
    }
    let people = try store.context(CompanyModel.make()).all("Employee")
    #expect(
      people.map { ($0["friends"] as? Set<NSManagedObject>)?.compactMap { $0["name"] as? String } } == [
        ["Grace"], ["Ada"],
      ])
  }

  @Test("An ordered relationship keeps its order over saves and moves")
  func ordered() throws {
    let store = try TemporaryStore()
    func titles(_ project: NSManagedObject) -> [String] {
      (project["tasks"] as? NSOrderedSet)?.array.compactMap { ($0 as? NSManagedObject)?["title"] as? String } ?? []
    }
    do {
      let context = try store.context(CompanyModel.make())
      let tasks = ["c", "a", "b"].map { context.make("Task", ["title": $0]) }
      context.make("Project", ["title": "Apollo", "tasks": NSOrderedSet(array: tasks)])
      try context.save()
    }
    do {
      let context = try store.context(CompanyModel.make())
      let project = try #require(try context.all("Project", by: "title").first)
      #expect(titles(project) == ["c", "a", "b"])
      let tasks = project.mutableOrderedSetValue(forKey: "tasks")
      let last = tasks.object(at: 2)
      tasks.removeObject(at: 2)
      tasks.insert(last, at: 0)
      tasks.insert(context.make("Task", ["title": "d"]), at: 1)
      try context.save()
    }
    let project = try #require(try store.context(CompanyModel.make()).all("Project", by: "title").first)
    #expect(titles(project) == ["b", "d", "c", "a"])
  }

  @Test("An ordered many-to-many relationship keeps its order on the ordered side")
  func orderedManyToMany() throws {
    let store = try TemporaryStore()
    do {
      let context = try store.context(CompanyModel.make())
      let tasks = ["c", "a", "b"].map { context.make("Task", ["title": $0]) }
      context.make("Employee", ["name": "Ada", "favourites": NSOrderedSet(array: tasks)])
      context.make("Employee", ["name": "Grace", "favourites": NSOrderedSet(array: tasks.reversed())])
      try context.save()
    }
    let people = try store.context(CompanyModel.make()).all("Employee")
    let titles = people.map {
      ($0["favourites"] as? NSOrderedSet)?.array.compactMap { ($0 as? NSManagedObject)?["title"] as? String }
    }
    #expect(titles == [["c", "a", "b"], ["b", "a", "c"]])
  }

  @Test("A to-many relationship without inverse is stored in the destination")
  func withoutInverse() throws {
    let store = try TemporaryStore()
    do {
      let context = try store.context(CompanyModel.make())
      let tasks = ["a", "b"].map { context.make("Task", ["title": $0]) }
      context.make("Department", ["name": "Research", "archive": NSSet(array: tasks)])
      context.make("Task", ["title": "c"])
      try context.save()
    }
    let context = try store.context(CompanyModel.make())
    let department = try #require(try context.all("Department").first)
    let archived = try #require(department["archive"] as? Set<NSManagedObject>)
    #expect(Set(archived.compactMap { $0["title"] as? String }) == ["a", "b"])
    department["archive"] = NSSet(array: [try #require(archived.first { $0["title"] as? String == "b" })])
    try context.save()
    let again = try #require(try store.context(CompanyModel.make()).all("Department").first)
    #expect((again["archive"] as? Set<NSManagedObject>)?.compactMap { $0["title"] as? String } == ["b"])
  }

  @Test("Deletion nullifies, cascades, and is denied as the rules say")
  func deletion() throws {
    let store = try TemporaryStore()
    let context = try store.context(CompanyModel.make())
    let research = context.make("Department", ["name": "Research"])
    let contract = context.make("Contract", ["number": 7])
    let grace = context.make("Manager", ["name": "Grace"])
    let ada = context.make(
      "Employee", ["name": "Ada", "department": research, "contract": contract, "manager": grace])
    try context.save()

    context.delete(research)
    let error = #expect(throws: NSError.self) { try context.save() }
    #expect(error?.code == NSValidationRelationshipDeniedDeleteError)
    #expect(error?.userInfo[NSValidationKeyErrorKey] as? String == "employees")
    context.rollback()

    context.delete(ada)
    try context.save()
    #expect(ada.managedObjectContext == nil)
    #expect(try context.count(for: NSFetchRequest<NSManagedObject>(entityName: "Contract")) == 0)
    #expect((grace["reports"] as? NSSet)?.count == 0)
    #expect((research["employees"] as? NSSet)?.count == 0)
    context.delete(research)
    try context.save()
    let fresh = try store.context(CompanyModel.make())
    #expect(try fresh.all("Department").isEmpty)
    #expect(try fresh.all("Employee").count == 1)
  }

  @Test("Deleting a member takes its rows out of join tables")
  func deletionFromJoinTables() throws {
    let store = try TemporaryStore()
    let context = try store.context(CompanyModel.make())
    let apollo = context.make("Project", ["title": "Apollo"])
    let ada = context.make("Employee", ["name": "Ada", "projects": NSSet(array: [apollo])])
    try context.save()
    context.delete(ada)
    try context.save()
    let project = try #require(try store.context(CompanyModel.make()).all("Project", by: "title").first)
    #expect((project["members"] as? NSSet)?.count == 0)
  }

  @Test("Required values and minimum counts are checked before anything is written")
  func validation() throws {
    let store = try TemporaryStore()
    let context = try store.context(CompanyModel.make())
    let nameless = context.make("Employee")
    let one = #expect(throws: NSError.self) { try context.save() }
    #expect(one?.code == NSValidationMissingMandatoryPropertyError)
    #expect(one?.userInfo[NSValidationKeyErrorKey] as? String == "name")
    #expect(one?.userInfo[NSValidationObjectErrorKey] as? NSManagedObject === nameless)
    context.make("Contract", ["number": 1])
    let two = #expect(throws: NSError.self) { try context.save() }
    #expect(two?.code == NSValidationMultipleErrorsError)
    #expect((two?.userInfo[NSDetailedErrorsKey] as? [NSError])?.count == 2)
    #expect(try store.context(CompanyModel.make()).all("Employee").isEmpty)
  }
}
