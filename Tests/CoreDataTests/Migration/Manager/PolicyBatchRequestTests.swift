// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import CoreData

@Suite("Batch requests of migration policies")
struct PolicyBatchRequestTests {
  @Test("A policy's batch requests see what was written before them, and rows that they delete are not visited")
  func batchRequests() throws {
    let sample = try ManagerSample(folders: 2, notes: 40)
    sample["FolderToBox"].relationshipMappings = []
    sample["TagToTag"].relationshipMappings = []
    sample["NoteToNote"].relationshipMappings = ManagerSample.properties([
      "box": ManagerSample.of("FolderToBox", "folder")
    ])
    sample["NoteToNote"].entityMigrationPolicyClassName = "CoreDataTests.BatchDeletingPolicy"
    let log = CallLog()
    sample.manager.userInfo = ["log": log]
    try sample.migrate(batchSize: 2)
    #expect(log.calls == ["N1", "N2 in F2"] + (5...20).map { "N\($0)" })
    try sample.result { context in
      let notes = try context.all("Note", by: "rank")
      #expect(notes.map { $0.text("title") } == ([1, 2] + Array(5...20)).map { "N\($0)" })
      #expect(notes.allSatisfy { ($0["box"] as? NSManagedObject) != nil })
    }
  }
}

/// Deletes rows of later objects by requests, once two have been visited.
final class BatchDeletingPolicy: NSEntityMigrationPolicy {
  override func createRelationships(
    forDestination dInstance: NSManagedObject, in mapping: NSEntityMapping, manager: NSMigrationManager
  ) throws {
    try super.createRelationships(forDestination: dInstance, in: mapping, manager: manager)
    let context = manager.destinationContext
    guard manager.log?.calls.count == 1 else {
      manager.log?.calls.append(dInstance.text("title") ?? "-")
      return
    }
    let wanted = NSFetchRequest<any NSFetchRequestResult>(entityName: "Note")
    wanted.predicate = NSPredicate(format: "rank > 20 OR rank IN {3, 4}")
    let box = (dInstance["box"] as? NSManagedObject)?.text("label") ?? "none"
    try context.execute(NSBatchDeleteRequest(fetchRequest: wanted))
    manager.log?.calls.append("\(dInstance.text("title") ?? "-") in \(box)")
  }
}
