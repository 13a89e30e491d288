// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataSQLite
import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreDataAnalysis

@Suite("Verification of stores")
struct StoreVerifierTests {
  @Test("A sound store has no defects, and every row and file is counted")
  func sound() throws {
    let verdict = try CompanyStore().verdict()
    #expect(verdict.defects.map { "\($0.kind) \($0.place) \($0.examples)" } == [])
    #expect(verdict.rows.values.reduce(0, +) == 16)
    #expect(verdict.rows["Manager"] == 2 && verdict.rows["Employee"] == 2)
    #expect(verdict.fileCount == 2)
    #expect(verdict.gaps.isEmpty)
  }

  @Test("Values in columns of other entities of the hierarchy, as a migration of Apple's may leave, are no defects")
  func columnsOfOthers() throws {
    let company = try CompanyStore()
    try company.damage(
      "UPDATE ZEMPLOYEE SET ZBONUS = 0 WHERE Z_ENT = (SELECT Z_ENT FROM Z_PRIMARYKEY WHERE Z_NAME = 'Employee')")
    #expect(try company.verdict().defects.map { "\($0.kind) \($0.place)" } == [])
  }

  struct Damage: Sendable, CustomTestStringConvertible {
    let sql: String
    let kind: StoreDefect.Kind
    let place: String
    var count = 1
    var isRepairable = false

    var testDescription: String { "\(kind.rawValue): \(sql)" }
  }

  static let damages: [Damage] = [
    Damage(
      sql: "UPDATE ZTASK SET ZPROJECT = 99 WHERE Z_PK = 1", kind: .danglingKey, place: "Task.project",
      isRepairable: true),
    Damage(
      sql: "UPDATE ZEMPLOYEE SET ZMANAGER = (SELECT Z_PK FROM ZEMPLOYEE WHERE ZNAME = 'e2') WHERE ZNAME = 'e1'",
      kind: .wrongEntity,
      place: "Employee.manager"),
    Damage(
      sql: "DELETE FROM ZEMPLOYEE WHERE ZNAME = 'e1'", kind: .danglingKey, place: "Contract.employee"),
    Damage(
      sql: "INSERT INTO {Employee.projects} VALUES (77, 1)", kind: .joinRow, place: "", isRepairable: true),
    Damage(
      sql: "UPDATE ZCONTRACT SET ZEMPLOYEE = (SELECT Z_PK FROM ZEMPLOYEE WHERE ZNAME = 'm1') WHERE Z_PK = 1",
      kind: .inverse, place: "Contract.employee"),
    Damage(sql: "UPDATE ZEMPLOYEE SET ZCONTRACT = NULL", kind: .oneSidedInverse, place: "Contract.employee"),
    Damage(
      sql: "UPDATE ZTASK SET Z_FOK_PROJECT = 5000 WHERE ZPROJECT = 1", kind: .orderKey, place: "Project.tasks",
      isRepairable: true),
    Damage(
      sql: "UPDATE ZTASK SET Z_FOK_PROJECT = NULL", kind: .orderKey, place: "Project.tasks", count: 2,
      isRepairable: true),
    Damage(
      sql: "UPDATE Z_PRIMARYKEY SET Z_MAX = 1 WHERE Z_NAME = 'Task'", kind: .greatestKey, place: "Task",
      isRepairable: true),
    Damage(sql: "UPDATE ZTASK SET Z_ENT = 50", kind: .entityNumber, place: "Task", count: 6, isRepairable: true),
    Damage(sql: "UPDATE ZEMPLOYEE SET Z_ENT = 50 WHERE ZNAME = 'e1'", kind: .entityNumber, place: "Employee"),
    Damage(
      sql: "UPDATE ZEMPLOYEE SET ZNAME = NULL WHERE ZNAME = 'm1'", kind: .requiredValue, place: "Manager.name"),
    Damage(
      sql: "UPDATE ZCONTRACT SET ZEMPLOYEE = NULL WHERE Z_PK = 1", kind: .requiredValue, place: "Contract.employee"),
    Damage(sql: "UPDATE ZEMPLOYEE SET ZAGE = 3 WHERE ZNAME = 'e1'", kind: .validation, place: "Employee.age"),
    Damage(sql: "UPDATE ZEMPLOYEE SET ZBADGE = 4000000000", kind: .validation, place: "Employee.badge", count: 2),
    Damage(sql: "UPDATE ZEMPLOYEE SET ZTOKEN = x'00' WHERE ZNAME = 'e1'", kind: .type, place: "Employee.token"),
    Damage(sql: "UPDATE ZEMPLOYEE SET ZHIRED = 'x' WHERE ZNAME = 'e1'", kind: .type, place: "Employee.hired"),
    Damage(sql: "UPDATE ZEMPLOYEE SET ZSALARY = 'a lot' WHERE ZNAME = 'e1'", kind: .type, place: "Employee.salary"),
    Damage(sql: "UPDATE ZEMPLOYEE SET ZSALARY = '1.2.3' WHERE ZNAME = 'e1'", kind: .type, place: "Employee.salary"),
    Damage(sql: "UPDATE ZEMPLOYEE SET ZSALARY = 9e999 WHERE ZNAME = 'e1'", kind: .type, place: "Employee.salary"),
    Damage(sql: "UPDATE ZEMPLOYEE SET ZSALARY = 1e200", kind: .type, place: "Employee.salary", count: 2),
    Damage(sql: "UPDATE ZEMPLOYEE SET ZSITE = 'no uri :::' WHERE ZNAME = 'e1'", kind: .type, place: "Employee.site"),
    Damage(
      sql: "UPDATE ZEMPLOYEE SET ZNAME = CAST(x'f5fe41' AS TEXT) WHERE ZNAME = 'm2'", kind: .type, place: "Manager.name"
    ),
    Damage(sql: "UPDATE ZTASK SET Z_OPT = 'x' WHERE Z_PK = 1", kind: .type, place: "Task.Z_OPT"),
    Damage(sql: "UPDATE ZEMPLOYEE SET ZNAME = x'00' WHERE ZNAME = 'm2'", kind: .type, place: "Manager.name"),
    Damage(
      sql: "UPDATE ZEMPLOYEE SET ZDEPARTMENT = 1 WHERE ZNAME LIKE '%2'", kind: .count, place: "Department.employees"),
    Damage(
      sql: "DROP INDEX Z_Department_UNIQUE_name; UPDATE ZDEPARTMENT SET ZNAME = 'd'", kind: .uniqueness,
      place: "Department.name", count: 2),
    Damage(
      sql: "DROP INDEX ZTASK_ZPROJECT_INDEX", kind: .missingIndex, place: "", isRepairable: true),
    Damage(sql: "CREATE TABLE ZGHOST (Z_PK INTEGER PRIMARY KEY)", kind: .unknownContent, place: ""),
    Damage(sql: "ALTER TABLE ZTASK ADD COLUMN ZGHOST INTEGER", kind: .unknownContent, place: "Task"),
    Damage(sql: "UPDATE Z_METADATA SET Z_PLIST = x''", kind: .metadata, place: "", isRepairable: true),
    Damage(sql: "UPDATE Z_MODELCACHE SET Z_CONTENT = x'00'", kind: .metadata, place: ""),
    Damage(
      sql: "DROP INDEX Z_Department_UNIQUE_name", kind: .missingIndex, place: "Department", isRepairable: true),
    Damage(
      sql: "UPDATE Z_METADATA SET Z_PLIST = x''; DROP INDEX ZTASK_ZPROJECT_INDEX; "
        + "ALTER TABLE ZTASK DROP COLUMN ZPROJECT", kind: .metadata, place: ""),
    Damage(
      sql: "ALTER TABLE ZTASK DROP COLUMN ZTITLE; ALTER TABLE ZTASK ADD COLUMN ZTITLE INTEGER", kind: .layout,
      place: "Task"),
    Damage(sql: "UPDATE Z_METADATA SET Z_UUID = 'mine'", kind: .metadata, place: ""),
    Damage(
      sql: "INSERT INTO Z_METADATA SELECT Z_VERSION + 1, Z_UUID, Z_PLIST FROM Z_METADATA", kind: .metadata, place: ""),
  ]

  @Test("Each kind of damage is found where it is, and what is repaired is gone", arguments: damages)
  func damage(_ damage: Damage) throws {
    let company = try CompanyStore()
    try company.damage(damage.sql)
    let before = try Data(contentsOf: company.url)
    let files = try company.store.files()
    let verdict = try company.verdict()
    let found = verdict.defects.filter { $0.kind == damage.kind && (damage.place.isEmpty || $0.place == damage.place) }
    let defect = try #require(found.first, "\(verdict.defects.map { "\($0.kind) \($0.place)" })")
    #expect(found.count == 1)
    #expect(defect.count == damage.count && defect.isRepairable == damage.isRepairable)
    #expect(!defect.cure.isEmpty && defect.examples.count == min(damage.count, defect.examples.count))
    let problems = verdict.defects.filter { !$0.kind.isRemark }
    #expect(verdict.isSound == problems.isEmpty)
    #expect(try Data(contentsOf: company.url) == before)
    #expect(try company.store.files() == files)

    let repair = try StoreRepair(of: company.url, model: nil)
    #expect(repair.repaired.contains { $0.kind == damage.kind } == damage.isRepairable)
    #expect(repair.after.defects.filter(\.isRepairable).map(\.kind) == [])
    let after = try company.verdict()
    #expect(after.defects.contains { $0.kind == defect.kind && $0.place == defect.place } == !damage.isRepairable)
    #expect(after.defects.count <= verdict.defects.count)
    if let backup = repair.backup {
      #expect(try StoreVerifier(StoreReader(url: backup)).run().defects.map(\.kind) == verdict.defects.map(\.kind))
    } else {
      #expect(verdict.defects.filter(\.isRepairable).isEmpty)
      #expect(try Data(contentsOf: company.url) == before)
    }
  }

  @Test("A repair changes nothing but what it repairs, and the order of members stays as it was read")
  func repairedRows() throws {
    let company = try CompanyStore()
    try company.damage(
      """
      UPDATE ZTASK SET Z_FOK_PROJECT = 5000 WHERE ZPROJECT = 1 AND ZTITLE <> 't1';
      UPDATE ZTASK SET Z_FOK_PROJECT = 6000 WHERE ZPROJECT = 1 AND ZTITLE = 't1';
      UPDATE ZTASK SET ZPROJECT = 99 WHERE ZPROJECT = 2 AND ZTITLE = 't2';
      UPDATE {Employee.favourites} SET {favourites.order} = 7 WHERE {favourites.owner} > 0;
      INSERT INTO {Employee.projects} VALUES (77, 1)
      """)
    let before = try company.rows()
    let repair = try StoreRepair(of: company.url, model: nil)
    #expect(repair.after.defects.isEmpty)
    let after = try company.rows()
    #expect(before.keys == after.keys)
    for (id, object) in before {
      let pairs = zip(object.values, after[id]?.values ?? [])
      let changed = pairs.filter { $0.0.value != $0.1.value }.map(\.0.name)
      let project: ExportedValue? = object.values.first { $0.name == "project" }?.value
      var isDangling = false
      if case .reference(let target)? = project { isDangling = target.hasSuffix("/Project/p99") }
      #expect(changed == (isDangling ? ["project"] : []), "\(id)")
    }
    // Core Data reads the store as before, and writes to it.
    let context = try company.store.context(CompanyStore.model())
    for project in try context.all("Project", by: "title") {
      let tasks = try #require(project.value(forKey: "tasks") as? NSOrderedSet).array as? [NSManagedObject] ?? []
      #expect(tasks.count == (project.value(forKey: "title") as? String == "p1" ? 3 : 2))
      project.mutableOrderedSetValue(forKey: "tasks").insert(context.make("Task", ["title": "new"]), at: 1)
    }
    try context.save()
    try company.store.close()
    #expect(try company.verdict().isSound)
  }

  @Test("A model in the store that cannot be read is replaced by the one that is named")
  func carriedModel() throws {
    let company = try CompanyStore()
    try company.damage("UPDATE Z_MODELCACHE SET Z_CONTENT = x'00'; DROP INDEX Z_Department_UNIQUE_name")
    #expect(try company.verdict().gaps.count == 1)
    let repair = try StoreRepair(of: company.url, model: CompanyStore.model().document)
    #expect(repair.repaired.map(\.kind) == [.metadata, .missingIndex] && repair.after.defects.isEmpty)
    #expect(try company.verdict().defects.isEmpty)
  }

  @Test("A row whose entity number is damaged keeps everything that leads to it")
  func damagedNumber() throws {
    let company = try CompanyStore()
    try company.damage("UPDATE ZEMPLOYEE SET Z_ENT = 50 WHERE ZNAME IN ('e1', 'm1'); UPDATE Z_PRIMARYKEY SET Z_MAX = 0")
    let kinds = Set(try company.verdict().defects.map(\.kind))
    #expect(kinds.isSuperset(of: [.entityNumber, .wrongEntity, .greatestKey]))
    #expect(kinds.isDisjoint(with: [.danglingKey, .joinRow]))
    let repair = try StoreRepair(of: company.url, model: nil)
    #expect(Set(repair.repaired.map(\.kind)) == [.greatestKey])
    // With its number, all that led to the row is as it was.
    let numbers = try #require(try StoreReader(url: company.url).schema)
    try company.damage(
      """
      UPDATE ZEMPLOYEE SET Z_ENT = \(numbers["Employee"]?.number ?? 0) WHERE ZNAME = 'e1';
      UPDATE ZEMPLOYEE SET Z_ENT = \(numbers["Manager"]?.number ?? 0) WHERE ZNAME = 'm1'
      """)
    #expect(try company.verdict().defects.isEmpty)
  }

  @Test("The number of an entity beside a key is repaired from the row that the key leads to")
  func entityKeys() throws {
    let company = try CompanyStore()
    let schema = try #require(try StoreReader(url: company.url).schema)
    guard case .foreignKey(let key)? = schema["Contract"]?.relationships["employee"]?.storage,
      let column = key.entityColumn
    else {
      Issue.record("Employee has a sub-entity")
      return
    }
    let manager = try #require(schema["Manager"]?.number)
    // Which of two possible numbers is damaged, that of the row or that of the key, cannot be told.
    try company.damage("UPDATE ZCONTRACT SET \(column) = \(manager) WHERE Z_PK = 1")
    let doubtful = try company.verdict().defects
    #expect(doubtful.map(\.kind) == [.entityKey])
    #expect(doubtful.first?.place == "Contract.employee" && doubtful.first?.isRepairable == false)
    #expect(try StoreRepair(of: company.url, model: nil).repaired.isEmpty)
    try company.damage("UPDATE ZCONTRACT SET \(column) = 99 WHERE Z_PK = 1")
    #expect(try company.verdict().defects.map(\.isRepairable) == [true])
    #expect(try StoreRepair(of: company.url, model: nil).after.defects.isEmpty)
  }

  @Test("Rows keep the number of a sub-entity that Z_PRIMARYKEY no longer lists, with a model in the store or without")
  func lostSubentity() throws {
    for statement in ["SELECT 1", "DELETE FROM Z_MODELCACHE"] {
      let company = try CompanyStore()
      try company.damage("DELETE FROM Z_PRIMARYKEY WHERE Z_NAME = 'Manager'; \(statement)")
      let before = try company.numbers()
      let verdict = try company.verdict()
      #expect(!verdict.isSound && !verdict.defects.contains { $0.kind == .entityNumber && $0.isRepairable })
      _ = try StoreRepair(of: company.url, model: nil)
      #expect(try company.numbers() == before)
      // The model that wrote the store is right. Nothing shows whether the tables are damaged, or unknown.
      let model = try StoreReader(url: company.url, model: CompanyStore.model().document)
      let named = try StoreVerifier(model).run().defects.filter { $0.kind == .layout }
      #expect(named.count == 1 && named.first?.cure.contains("Another program has changed its tables") == true)
    }
  }

  @Test("A missing table is a problem, also in a store without a model")
  func missingTable() throws {
    let company = try CompanyStore()
    try company.damage("DELETE FROM Z_MODELCACHE; DROP TABLE ZTASK")
    let defects = try company.verdict().defects.filter { $0.kind == .layout }
    #expect(defects.map { $0.examples.first?.text } == ["The table ZTASK is missing."])
  }

  @Test("A repair leaves the version of a row a whole number")
  func rowVersion() throws {
    let company = try CompanyStore()
    try company.damage("UPDATE ZTASK SET ZPROJECT = 99, Z_OPT = \(Int64.max) WHERE Z_PK = 1")
    let repair = try StoreRepair(of: company.url, model: nil)
    #expect(repair.repaired.map(\.kind) == [.danglingKey] && repair.after.defects.isEmpty)
    let connection = try SQLiteConnection(url: company.url, mode: .readOnly)
    #expect(try connection.scalar("SELECT Z_OPT FROM ZTASK WHERE Z_PK = 1") == .integer(1))
    try connection.close()
  }

  @Test("Missing files are told with their rows, files of nobody as a note")
  func files() throws {
    let company = try CompanyStore()
    let folder = company.store.folder.appendingPathComponent(".Store_SUPPORT/_EXTERNAL_DATA")
    let names = try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
    try FileManager.default.removeItem(at: folder.appendingPathComponent(names[0]))
    try Data([1]).write(to: folder.appendingPathComponent(UUID().uuidString))
    let verdict = try company.verdict()
    #expect(verdict.defects.map(\.kind) == [.missingFile, .orphanedFile])
    #expect(verdict.defects[0].place == "Employee.scan" && verdict.defects[0].count == 1)
    #expect(verdict.defects[0].examples.first?.text.contains(names[0]) == true)
    #expect(!verdict.isSound)
    // A link is never followed, so its value is missing.
    try FileManager.default.createSymbolicLink(
      at: folder.appendingPathComponent(names[0]), withDestinationURL: URL(fileURLWithPath: "/etc/passwd"))
    #expect(try company.verdict().defects.map(\.kind) == [.missingFile, .orphanedFile])
  }

  @Test("No more rows than the limit are listed, and all are counted")
  func limit() throws {
    let company = try CompanyStore()
    try company.damage("UPDATE ZTASK SET ZPROJECT = 99")
    let defect = try #require(try company.verdict(limit: 2).defects.first)
    #expect(defect.count == 6 && defect.examples.map(\.key) == [1, 2])
  }

  @Test("A stale index is built anew, and damaged pages are left alone")
  func pages() throws {
    let company = try CompanyStore()
    // An index page without entries: no cells, and their area begins at its end.
    try company.overwrite("ZTASK_ZPROJECT_INDEX") { page in
      page.replaceSubrange(3..<7, with: [0, 0, UInt8(page.count >> 8 & 0xff), UInt8(page.count & 0xff)])
    }
    let verdict = try company.verdict()
    #expect(verdict.defects.contains { $0.kind == .index && $0.isRepairable })
    #expect(try StoreRepair(of: company.url, model: nil).after.defects.contains { $0.kind == .index } == false)

    let broken = try CompanyStore()
    try broken.damage("UPDATE Z_METADATA SET Z_PLIST = x''")
    try broken.overwrite("ZTASK") { $0.replaceSubrange(0..<200, with: Data(repeating: 0xff, count: 200)) }
    let bytes = try Data(contentsOf: broken.url)
    let found = try broken.verdict()
    #expect(found.defects.first?.kind == .pages && !found.isSound && found.gaps.count == 1)
    // The metadata could be written again, but nothing is written to a damaged file.
    #expect(found.defects.contains { $0.isRepairable })
    let repair = try StoreRepair(of: broken.url, model: nil)
    #expect(repair.repaired.isEmpty && repair.backup == nil)
    #expect(try Data(contentsOf: broken.url) == bytes)
  }

  @Test("A repair that fails, or that is stopped, leaves the store as it was and no backup")
  func failure() throws {
    struct Stop: Error {}
    let company = try CompanyStore()
    try company.damage("UPDATE ZTASK SET ZPROJECT = 99")
    let before = try company.rows()
    let files = try company.store.files()
    for steps in [1, 6, 7, 8, 13] {
      var left = steps
      #expect(throws: Stop.self) {
        _ = try StoreRepair(of: company.url, model: nil) {
          left -= 1
          if left == 0 { throw Stop() }
        }
      }
      #expect(try company.rows() == before)
      #expect(try company.store.files() == files)
    }
    let writer = try SQLiteConnection(url: company.url, mode: .readWrite)
    try writer.begin(.immediate)
    let problem = #expect(throws: StoreProblem.self) { _ = try StoreRepair(of: company.url, model: nil) }
    #expect(problem?.kind == .locked)
    try writer.rollback()
    try writer.close()
    #expect(try company.rows() == before)
  }

  @Test(
    "Stores made by Apple's framework have no problems but those that are known",
    .enabled(if: Fixtures.isPresent, "The fixtures are not beside the repository"))
  func fixtures() throws {
    var found: [String: Int] = [:]
    for url in Fixtures.stores + Fixtures.swiftDataStores {
      let verdict = try StoreVerifier(StoreReader(url: url)).run()
      for defect in verdict.defects { found["\(defect.kind.rawValue) \(defect.place)", default: 0] += 1 }
      #expect(verdict.gaps.filter { !$0.hasPrefix("Without a model") } == [], "\(url.path)")
    }
    // Tests of an app of theirs wrote these with SQL: the numbers of a table's only entity, and greatest keys.
    // Five stores were published with their -shm, and without their -wal.
    #expect(
      found == [
        "greatest-key Artwork": 2, "greatest-key Artist": 1, "greatest-key Partner": 1, "entity-number Artwork": 2,
        "uncertain-log ": 5,
      ])
  }
}
