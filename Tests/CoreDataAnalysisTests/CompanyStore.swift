// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataSQLite
import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreDataAnalysis

/// A sound store with every kind of relationship and rule, and what tests do to it.
struct CompanyStore {
  let store: TemporaryStore
  var url: URL { store.url }

  static func model() throws -> NSManagedObjectModel {
    let model = CompanyModel.make()
    let (department, employee) = try (
      #require(model.entitiesByName["Department"]), #require(model.entitiesByName["Employee"])
    )
    department.uniquenessConstraints = [["name"]]
    let age = try #require(employee.attributesByName["age"])
    age.setValidationPredicates([NSPredicate(format: "SELF >= 16")], withValidationWarnings: ["Too young"])
    let employees = try #require(department.relationshipsByName["employees"])
    (employees.minCount, employees.maxCount, employees.isOptional) = (1, 4, false)
    return model
  }

  /// Two departments with two employees each, of whom one is a manager; two projects with three tasks each.
  init() throws {
    store = try TemporaryStore()
    let context = try store.context(Self.model(), options: [NSSQLitePragmasOption: ["journal_mode": "DELETE"]])
    for number in 1...2 {
      let department = context.make("Department", ["name": "d\(number)"])
      let manager = context.make(
        "Manager", ["name": "m\(number)", "department": department, "age": 40, "bonus": 1.5])
      let employee = context.make(
        "Employee",
        [
          "name": "e\(number)", "department": department, "manager": manager, "age": 30, "badge": number,
          "salary": NSDecimalNumber(string: "1234.5"), "hired": Date(timeIntervalSinceReferenceDate: 1),
          "token": UUID(), "scan": Data(repeating: UInt8(number), count: 200_000), "photo": Data([1]),
        ])
      context.make("Contract", ["number": number, "employee": employee])
      let tasks = (1...3).map { context.make("Task", ["title": "t\($0)"]) }
      context.make(
        "Project", ["title": "p\(number)", "tasks": NSOrderedSet(array: tasks), "members": NSSet(array: [employee])])
      employee.setValue(NSOrderedSet(array: tasks), forKey: "favourites")
      manager.setValue(NSSet(array: [employee]), forKey: "friends")
    }
    try context.save()
    try store.close()
  }

  /// The entity numbers of employees, by their keys.
  func numbers() throws -> [SQLiteRow] {
    let connection = try SQLiteConnection(url: url, mode: .readOnly)
    let rows = try connection.rows("SELECT Z_PK, Z_ENT FROM ZEMPLOYEE ORDER BY Z_PK")
    try connection.close()
    return rows
  }

  /// Runs statements on the file. Each `{Entity.relationship}` stands for the relationship's join table.
  func damage(_ sql: String) throws {
    let connection = try SQLiteConnection(url: url, mode: .readWrite)
    let schema = try #require(try StoreReader(url: url).schema)
    var sql = sql
    for join in schema.joinTables {
      sql = sql.replacingOccurrences(of: "{\(join.ownerEntity).\(join.relationship)}", with: join.name)
      sql = sql.replacingOccurrences(of: "{\(join.inverseEntity).\(join.inverse)}", with: join.name)
      sql = sql.replacingOccurrences(of: "{\(join.relationship).order}", with: join.orderColumn ?? "")
      sql = sql.replacingOccurrences(of: "{\(join.relationship).owner}", with: join.ownerColumn)
    }
    try connection.execute(sql)
    try connection.close()
  }

  /// Changes the root page of a table or an index.
  func overwrite(_ name: String, _ change: (inout Data) -> Void) throws {
    let reader = try StoreReader(url: url)
    let sql = "SELECT rootpage FROM sqlite_master WHERE name = '\(name)'"
    let root = try #require(try reader.connection.scalar(sql)?.integer)
    let size = try Int(#require(try reader.connection.pragma("page_size")?.integer))
    var bytes = try Data(contentsOf: url)
    let place = (Int(root) - 1) * size..<Int(root) * size
    var page = Data(bytes[place])
    change(&page)
    bytes.replaceSubrange(place, with: page)
    try bytes.write(to: url)
  }

  func verdict(limit: Int = 100) throws -> StoreVerdict { try StoreVerifier(StoreReader(url: url), limit: limit).run() }

  /// All rows, by identifier.
  func rows() throws -> [String: ExportedObject] {
    var rows: [String: ExportedObject] = [:]
    try StoreReader(url: url).forEachObject { rows[$0.id] = $0 }
    return rows
  }
}
