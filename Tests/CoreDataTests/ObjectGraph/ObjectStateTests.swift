// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreData

@Suite("States of an object")
struct ObjectStateTests {
  /// The name of an object's state.
  private static func state(_ object: NSManagedObject) -> String {
    switch object.state.values {
    case .fault(nil): "fault"
    case .fault: "fault with a row"
    case .packed: "packed"
    case .edited: "edited"
    case .removing: "removing"
    case .new: "new"
    case .decoded: "decoded"
    }
  }

  @Test("An object is new, decoded, a fault, packed and edited, and has the row that it was read from or saved to")
  func states() throws {
    let store = try TemporaryStore()
    let context = try store.context(CompanyModel.make())
    let department = NSEntityDescription.insertNewObject(forEntityName: "Department", into: context)
    #expect(department["name"] as? String == "New department")
    #expect(Self.state(department) == "new" && department.snapshot == nil)
    department["name"] = "Sales"
    #expect(Self.state(department) == "decoded" && department.snapshot == nil)
    try context.save()
    #expect(Self.state(department) == "decoded" && department.snapshot?.version == 1)
    context.refresh(department, mergeChanges: false)
    #expect(Self.state(department) == "fault" && department.snapshot == nil && department.slots.isEmpty)
    #expect(try context.all("Department") == [department])
    #expect(Self.state(department) == "fault with a row" && department.snapshot?.version == 1)
    #expect(department["name"] as? String == "Sales")
    #expect(Self.state(department) == "packed" && department.snapshot?.version == 1)
    department["name"] = "Sales"
    #expect(Self.state(department) == "packed" && department.changedValues().isEmpty)
    department["name"] = "Law"
    #expect(Self.state(department) == "edited" && department.changedValues() as NSDictionary == ["name": "Law"])
    context.processPendingChanges()
    department["name"] = "Sales"
    #expect(Self.state(department) == "edited" && department.changedValues().isEmpty)
    try context.save()
    #expect(Self.state(department) == "packed" && department.snapshot?.version == 1)
    department["name"] = "Law"
    try context.save()
    #expect(Self.state(department) == "packed" && department.snapshot?.version == 2)
    #expect(department["name"] as? String == "Law" && department.committedValues(forKeys: ["name"]).count == 1)
    department["name"] = "Trade"
    context.processPendingChanges()
    #expect(department.changedValuesForCurrentEvent().isEmpty)
    department["name"] = "Law"
    #expect(department.changedValuesForCurrentEvent() as NSDictionary == ["name": "Trade"])
    #expect(Self.state(department) == "decoded" && department.changedValues().isEmpty)
    try context.save()
    #expect(department.changedValuesForCurrentEvent().isEmpty && department.snapshot?.version == 2)
  }

  @Test("The ninth changed attribute decodes the row, and so does a changed relationship")
  func decoding() throws {
    let store = try TemporaryStore()
    let context = try store.context(CompanyModel.make())
    context.make("Employee", ["name": "Ada"])
    context.make("Employee", ["name": "Bob"])
    try context.save()
    context.reset()
    let employees = try context.all("Employee")
    var new: [(key: String, value: Any)] = [("name", "Eve"), ("hired", Date(timeIntervalSinceReferenceDate: 7))]
    for key in ["age", "badge", "steps", "isActive", "rating", "height", "salary"] { new.append((key, 0)) }
    for (key, value) in new.dropLast() { employees[0][key] = value }
    #expect(Self.state(employees[0]) == "edited")
    employees[0][new[8].key] = new[8].value
    #expect(Self.state(employees[0]) == "decoded" && employees[0].changedValues().count == 9)
    #expect(employees[0]["name"] as? String == "Eve" && employees[0]["salary"] as? Int == 0)
    #expect(employees[0]["hired"] as? Date == Date(timeIntervalSinceReferenceDate: 7))
    #expect(employees[0].committedValues(forKeys: ["name"])["name"] as? String == "Ada")
    employees[1]["age"] = 9
    #expect(Self.state(employees[1]) == "edited")
    employees[1].mutableSetValue(forKey: "friends").add(employees[0])
    #expect(Self.state(employees[1]) == "decoded" && employees[1]["age"] as? Int == 9)
    #expect(employees[1].changedValues().keys.sorted() == ["age", "friends"])
    try context.save()
    #expect(Self.state(employees[1]) == "decoded" && employees[1].snapshot?.version == 2)
  }

  @Test("An owner whose members are deleted without being read has its own state during the save")
  func removing() throws {
    let store = try TemporaryStore()
    let context = try store.context(CompanyModel.make())
    let new = context.make("Department", ["name": "Sales"])
    for name in ["Ada", "Bob"] { context.make("Employee", ["name": name, "department": new]) }
    try context.save()
    context.reset()
    // The notification is posted on this thread.
    nonisolated(unsafe) let department = try #require(try context.all("Department").first)
    nonisolated(unsafe) var seen: [String] = []
    context.delete(try context.all("Employee")[0])
    let token = NotificationCenter.default.addObserver(
      forName: NSManagedObjectContext.didChangeObjectsNotification, object: context, queue: nil
    ) { _ in seen.append("\(Self.state(department)) \(Array(department.changedStoredSlots()).count)") }
    defer { NotificationCenter.default.removeObserver(token) }
    try context.save()
    #expect(seen == ["removing 1"])
    #expect(Self.state(department) == "packed" && department.snapshot?.version == 2)
    #expect((department["employees"] as? NSSet)?.count == 1)
  }
}
