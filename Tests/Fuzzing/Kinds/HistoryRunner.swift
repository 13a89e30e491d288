// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataAnalysis
import CoreDataModelFiles
import Foundation

/// Runs stores with damaged persistent history: requests for it touch no object, and what is saved is in the history.
struct HistoryRunner: FuzzRunner {
  private let maker: StoreMaker
  private let documents: [[ModelDocument]]

  init(_ lab: FuzzLab) throws {
    maker = try StoreMaker(lab, .history, fixtures: ".store")
    documents = try maker.documents()
  }

  func input(_ random: inout FuzzRandom) throws -> FuzzInput {
    var input = maker.base(&random)
    try maker.alter(&input, &random, HistoryMutation.damage)
    return input
  }

  func run(_ input: FuzzInput, _ random: inout FuzzRandom) throws -> String {
    let rows = try maker.rowCount(input)
    let folder = try maker.lab.fresh()
    try FuzzInput(files: input.files.filter { $0.key.hasPrefix(Sample.store) }).write(to: folder)
    let store = folder.appendingPathComponent(Sample.store)
    let known = documents[input.sample]
    var reading = StoreReading(folder)
    try reading.run(rows: rows.flatMap { $0.isWhole ? $0.rows : nil }, input.isOurs ? Array(known.prefix(1)) : [])
    guard let document = input.isOurs ? known.first : try StoreRunner.ownModel(folder) else { return reading.summary }
    let model = try NSManagedObjectModel(document: document)
    var results = [reading.summary]
    results += try requests(store, model, rows, &random)
    if input.isOurs, random.oneIn(4) {
      results.append(
        try ErrorText.publicResult("migrate") {
          let stack = try FuzzStack(
            store, .sqlite, try NSManagedObjectModel(document: known[1]),
            options: [
              NSMigratePersistentStoresAutomaticallyOption: true, NSInferMappingModelAutomaticallyOption: true,
              NSPersistentHistoryTrackingKey: true,
            ])
          try read(stack.context, after: nil)
          try stack.close()
          return "done"
        })
      if let rows, rows.isWhole, let left = RowCount(store), left.rows < rows.rows {
        throw Broken("A migration with history left \(left.rows) of \(rows.rows) rows.")
      }
    }
    return results.joined(separator: "; ")
  }

  /// Reads and deletes history, and saves an object.
  private func requests(
    _ url: URL, _ model: NSManagedObjectModel, _ rows: RowCount?, _ random: inout FuzzRandom
  ) throws -> [String] {
    let deletes = random.oneIn(3)
    var results: [String] = []
    var saved = 0
    let opening =
      try ErrorText.publicResult("open") {
        let stack = try FuzzStack(url, .sqlite, model, options: [NSPersistentHistoryTrackingKey: true])
        let context = stack.context
        results.append(try ErrorText.publicResult("history") { "\(min(try read(context, after: nil), 1))" })
        let token = stack.coordinator.currentPersistentHistoryToken(fromStores: nil)
        if deletes {
          results.append(
            try ErrorText.publicResult("delete") {
              _ = try context.execute(NSPersistentHistoryChangeRequest.deleteHistory(before: token))
              return "done"
            })
        }
        let entity = model.entities.first { !$0.isAbstract }?.name ?? ""
        let object = NSEntityDescription.insertNewObject(forEntityName: entity, into: context)
        context.transactionAuthor = "fuzzing"
        results.append(
          try ErrorText.publicResult("save") {
            try context.save()
            saved = 1
            return "done"
          })
        if saved == 1, let token {
          results.append(
            try ErrorText.publicResult("history after") {
              let found = try transactions(context, after: token)
              let changed = found.flatMap { $0.changes ?? [] }
              guard changed.contains(where: { $0.changedObjectID == object.objectID && $0.changeType == .insert })
              else {
                throw Broken("An insertion was saved, and the history after the last token does not have it.")
              }
              return "\(found.count)"
            })
        }
        try stack.close()
        return "done"
      }
    if let rows, rows.isWhole, let left = RowCount(url), left.rows != rows.rows + saved {
      throw Broken("\(rows.rows) rows and \(saved) saved became \(left.rows).")
    }
    return [opening] + results
  }

  private func transactions(
    _ context: NSManagedObjectContext, after token: NSPersistentHistoryToken?
  ) throws -> [NSPersistentHistoryTransaction] {
    let result = try context.execute(NSPersistentHistoryChangeRequest.fetchHistory(after: token))
    return (result as? NSPersistentHistoryResult)?.result as? [NSPersistentHistoryTransaction] ?? []
  }

  /// Reads every fact of every change.
  @discardableResult
  private func read(_ context: NSManagedObjectContext, after token: NSPersistentHistoryToken?) throws -> Int {
    let found = try transactions(context, after: token)
    for transaction in found {
      _ = (transaction.author, transaction.timestamp, transaction.bundleID, transaction.objectIDNotification())
      for change in transaction.changes ?? [] {
        _ = (change.changedObjectID.uriRepresentation(), change.changeType, change.changeID)
        _ = (change.tombstone, change.updatedProperties?.map(\.name))
      }
    }
    guard let wanted = NSPersistentHistoryTransaction.fetchRequest else { return found.count }
    wanted.predicate = NSPredicate(format: "author == 'writer' OR contextName == nil")
    _ = try context.execute(NSPersistentHistoryChangeRequest.fetchHistory(withFetch: wanted))
    return found.count
  }
}
