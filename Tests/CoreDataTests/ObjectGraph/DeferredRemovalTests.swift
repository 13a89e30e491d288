// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataSQLite
import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreData

@Suite("Members that leave relationships that have not been read")
struct DeferredRemovalTests {
  private final class Statements: @unchecked Sendable {
    var texts: [String] = []
  }

  private static func model(minimum: Int = 0) -> NSManagedObjectModel {
    var builder = ModelBuilder()
    builder.entity(
      "Team", [.make("name", .stringAttributeType, optional: false), .make("size", .integer16AttributeType)])
    builder.entity("Player", [.make("name", .stringAttributeType, optional: false)])
    builder.relate(.init("Team", "players", toMany: true), .init("Player", "team"))
    let model = builder.model()
    model.entitiesByName["Team"]?.relationshipsByName["players"]?.minCount = minimum
    return model
  }

  /// A store with three teams of four players each.
  private func filled(minimum: Int = 0) throws -> TemporaryStore {
    let store = try TemporaryStore()
    let context = try store.context(Self.model(minimum: minimum))
    for team in 0..<3 {
      let team = context.make("Team", ["name": "t\(team)", "size": 4])
      for player in 0..<4 {
        context.make("Player", ["name": "\(team["name"] as? String ?? "")p\(player)", "team": team])
      }
    }
    try context.save()
    try store.close()
    return store
  }

  private func names(_ team: NSManagedObject) -> [String] {
    (team.value(forKey: "players") as? Set<NSManagedObject> ?? [])
      .compactMap { $0.value(forKey: "name") as? String }.sorted()
  }

  /// Deletes the first two players of the first team, and the first of the second team.
  private func deletePlayers(_ context: NSManagedObjectContext) throws {
    for player in try context.all("Player") where ["t0p0", "t0p1", "t1p0"].contains(player["name"] as? String) {
      context.delete(player)
    }
  }

  private func versions(_ context: NSManagedObjectContext) throws -> [Int64] {
    let sqlite = try #require(context.persistentStoreCoordinator?.persistentStores.first as? SQLiteStore)
    return try sqlite.state().connection.rows("SELECT Z_OPT FROM ZTEAM ORDER BY ZNAME").map { $0[0].integer ?? 0 }
  }

  @Test("A member that has left stays away when an observer refreshes the owner")
  func refreshing() throws {
    let store = try filled()
    let context = try store.context(Self.model())
    nonisolated(unsafe) let team = try #require(try context.all("Team").first { $0["name"] as? String == "t0" })
    let observer = NotificationCenter.default.addObserver(
      forName: NSManagedObjectContext.didChangeObjectsNotification, object: context, queue: nil
    ) { [context] note in
      guard (note.userInfo?[NSUpdatedObjectsKey] as? Set<NSManagedObject>)?.contains(team) == true else { return }
      context.refresh(team, mergeChanges: true)
    }
    defer { NotificationCenter.default.removeObserver(observer) }
    try deletePlayers(context)
    try context.save()
    #expect(names(team) == ["t0p2", "t0p3"] && !context.hasChanges)
  }

  @Test("A save reads no members only to remove some, and the versions of their owners grow")
  func saving() throws {
    let store = try filled()
    let context = try store.context(Self.model())
    let sqlite = try #require(context.persistentStoreCoordinator?.persistentStores.first as? SQLiteStore)
    #expect(try versions(context) == [1, 1, 1])
    try deletePlayers(context)
    let statements = Statements()
    sqlite.connections.pause()
    try sqlite.state().connection.setTrace { statements.texts.append($0) }
    try context.save()
    try sqlite.state().connection.setTrace(nil)
    sqlite.connections.resume()
    #expect(!statements.texts.isEmpty)
    let readers = statements.texts.filter { $0.hasPrefix("SELECT") && $0.contains("ZPLAYER") && $0.contains("ZTEAM") }
    #expect(readers.isEmpty, "\(readers)")
    #expect(try versions(context) == [2, 2, 1])
    let teams = try context.all("Team")
    #expect(teams[0].hasFault(forRelationshipNamed: "players"))
    #expect(teams.map(names) == [["t0p2", "t0p3"], ["t1p1", "t1p2", "t1p3"], ["t2p0", "t2p1", "t2p2", "t2p3"]])
    // The objects know the versions that the save has written.
    for team in teams { team["size"] = 3 }
    try context.save()
    #expect(try versions(context) == [3, 3, 2])
  }

  @Test("Whoever looks at the values during the save sees the members without those that left")
  func observing() throws {
    let store = try filled()
    let context = try store.context(Self.model())
    // The notification is posted on this thread.
    nonisolated(unsafe) let team = try context.all("Team")[0]
    try deletePlayers(context)
    nonisolated(unsafe) var seen: [[String]] = []
    nonisolated(unsafe) var changed: [[String]] = []
    let token = NotificationCenter.default.addObserver(
      forName: NSManagedObjectContext.didChangeObjectsNotification, object: context, queue: nil
    ) { _ in
      changed.append(team.changedValues().keys.sorted() + team.changedValuesForCurrentEvent().keys.sorted())
      seen.append(names(team))
    }
    defer { NotificationCenter.default.removeObserver(token) }
    try context.save()
    #expect(seen == [["t0p2", "t0p3"]])
    #expect(changed == [["players"]])
    #expect(try versions(context) == [2, 2, 1])
    #expect(names(team) == ["t0p2", "t0p3"] && !team.hasChanges)
  }

  @Test("After a save that fails, the owners have the members without those that left")
  func failing() throws {
    let store = try filled()
    let context = try store.context(Self.model())
    let teams = try context.all("Team")
    try deletePlayers(context)
    let invalid = context.make("Player")
    #expect(throws: NSError.self) { try context.save() }
    #expect(teams[0].isUpdated && Array(teams[0].changedValues().keys) == ["players"])
    #expect(names(teams[0]) == ["t0p2", "t0p3"])
    #expect((teams[0].committedValues(forKeys: ["players"])["players"] as? NSSet)?.count == 4)
    #expect(!teams[2].hasChanges)
    invalid["name"] = "new"
    invalid["team"] = teams[1]
    try context.save()
    #expect(try versions(context) == [2, 2, 1])
    try store.close()
    let after = try store.context(Self.model())
    #expect(try after.all("Team").map(names).map(\.count) == [2, 4, 4])
  }

  @Test("A rollback after a save that failed brings the members back")
  func rollingBack() throws {
    let store = try filled()
    let context = try store.context(Self.model())
    let teams = try context.all("Team")
    try deletePlayers(context)
    context.make("Player")
    #expect(throws: NSError.self) { try context.save() }
    context.rollback()
    #expect(!context.hasChanges && teams.map(names).map(\.count) == [4, 4, 4])
  }

  @Test("An owner that others have changed is a conflict, which the merge policy resolves", arguments: [true, false])
  func conflicting(mergesChanges: Bool) throws {
    let store = try filled()
    let context = try store.context(Self.model())
    let teams = try context.all("Team")
    _ = teams[0]["size"]
    let other = NSManagedObjectContext(.privateQueue)
    other.persistentStoreCoordinator = context.persistentStoreCoordinator
    try other.performAndWait {
      try other.all("Team")[0]["size"] = 9
      try other.save()
    }
    try deletePlayers(context)
    if mergesChanges { context.mergePolicy = NSMergePolicy.mergeByPropertyObjectTrump }
    if !mergesChanges {
      let failure = #expect(throws: NSError.self) { try context.save() }
      #expect(failure?.code == NSManagedObjectMergeError)
      let conflicts = failure?.userInfo["conflictList"] as? [NSMergeConflict] ?? []
      #expect(conflicts.map(\.sourceObject) == [teams[0]])
      #expect(names(teams[0]) == ["t0p2", "t0p3"])
      #expect(try versions(context) == [2, 1, 1])
      context.mergePolicy = NSMergePolicy.overwrite
    }
    try context.save()
    #expect(names(teams[0]) == ["t0p2", "t0p3"] && names(teams[1]) == ["t1p1", "t1p2", "t1p3"])
    #expect(teams[0]["size"] as? Int == (mergesChanges ? 9 : 4))
    #expect(try versions(context) == [3, 2, 1])
  }

  @Test("A relationship that needs a number of members is read and validated")
  func validating() throws {
    let store = try filled(minimum: 3)
    let context = try store.context(Self.model(minimum: 3))
    try deletePlayers(context)
    let failure = #expect(throws: NSError.self) { try context.save() }
    #expect(failure?.code == NSValidationRelationshipLacksMinimumCountError)
    #expect(failure?.userInfo[NSValidationKeyErrorKey] as? String == "players")
  }

  @Test("The page cache of many deletions is as small as before afterwards")
  func pageCache() throws {
    let store = try TemporaryStore()
    let context = try store.context(Self.model())
    let sqlite = try #require(context.persistentStoreCoordinator?.persistentStores.first as? SQLiteStore)
    let before = try sqlite.state().connection.pragma("cache_size")
    let team = context.make("Team", ["name": "t"])
    for player in 0..<3_000 { context.make("Player", ["name": "\(player)", "team": team]) }
    try context.save()
    for player in try context.all("Player") { context.delete(player) }
    let statements = Statements()
    try sqlite.state().connection.setTrace { statements.texts.append($0) }
    try context.save()
    try sqlite.state().connection.setTrace(nil)
    #expect(statements.texts.contains { $0.hasPrefix("PRAGMA cache_size = ") })
    #expect(try sqlite.state().connection.pragma("cache_size") == before)
  }

  @Test(
    "An owner that another program has changed or deleted is a conflict, and nothing is written",
    arguments: ["UPDATE ZTEAM SET Z_OPT = 7 WHERE ZNAME = 't0'", "DELETE FROM ZTEAM WHERE ZNAME = 't0'"])
  func otherProgram(statement: String) throws {
    let store = try filled()
    let context = try store.context(Self.model())
    let teams = try context.all("Team")
    #expect(teams.compactMap { $0["size"] as? Int } == [4, 4, 4])
    try deletePlayers(context)
    let other = try SQLiteConnection(url: store.url, mode: .readWrite)
    try other.run(statement)
    let failure = #expect(throws: NSError.self) { try context.save() }
    #expect(failure?.code == NSManagedObjectMergeError)
    #expect((failure?.userInfo["conflictList"] as? [NSMergeConflict])?.map(\.sourceObject) == [teams[0]])
    #expect(try other.scalar("SELECT COUNT(*) FROM ZPLAYER")?.integer == 12)
    #expect(try other.scalar("SELECT Z_OPT FROM ZTEAM WHERE ZNAME = 't1'")?.integer == 1)
    context.rollback()
    #expect(!context.hasChanges && names(teams[1]).count == 4)
  }
}
