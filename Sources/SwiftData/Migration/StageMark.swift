// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataStoreFiles
import Foundation

/// The record, in a store's metadata, of a stage with code that has begun and is not finished.
///
/// It is written before `willMigrate` runs, again in the transaction that saves what `willMigrate` has changed, and
/// removed in the one that saves what `didMigrate` has changed. So after a kill, the store's version and the mark say which
/// of the two has run.
///
/// Programs that have had the store open since before it was written can neither read nor save until it is removed: a
/// row that they saved after `willMigrate` would go through the step without it.
struct StageMark {
  private static let key = StoreMetadata.Key.stage

  /// The name of the stage.
  let label: String
  /// The checksums of the stage's versions.
  let from: String
  let to: String
  /// The checksum of the store's entities before the step.
  private let store: String
  /// The history of the store before `willMigrate` was saved; nil for a store without any, and until it is saved.
  private let token: Data?
  /// The number of transactions that saving it added to the history.
  private let transactions: Int
  /// Differs each time that the mark is written, so that programs which have the store open notice it.
  private var run: String

  init(
    _ stage: PlannedStages.Stage, _ metadata: [String: Any], token: NSPersistentHistoryToken? = nil,
    transactions: Int = 0
  ) {
    label = stage.label
    from = stage.source.model.versionChecksum
    to = stage.destination.model.versionChecksum
    store = StoreVersion(metadata: metadata).checksum
    run = UUID().uuidString
    // Without a token, `willMigrate` runs again after a kill.
    self.token = token.flatMap { try? NSKeyedArchiver.archivedData(withRootObject: $0, requiringSecureCoding: true) }
    self.transactions = transactions
  }

  /// Reads the mark of a store; nil if no stage is unfinished.
  init?(_ metadata: [String: Any]) {
    guard let mark = metadata[Self.key] as? [String: Any], let label = mark[StoreMetadata.StageKey.name] as? String,
      let from = mark["from"] as? String, let to = mark["to"] as? String, let store = mark["store"] as? String
    else { return nil }
    (self.label, self.from, self.to, self.store) = (label, from, to, store)
    token = mark["history"] as? Data
    transactions = (mark["transactions"] as? NSNumber)?.intValue ?? 0
    run = mark[StoreMetadata.StageKey.run] as? String ?? ""
  }

  /// The mark for a process that begins or continues the stage.
  var renewed: StageMark {
    var mark = self
    mark.run = UUID().uuidString
    return mark
  }

  /// Returns metadata with a mark, or without one.
  static func metadata(_ metadata: [String: Any], with mark: StageMark?) -> [String: Any] {
    var metadata = metadata
    guard let mark else {
      metadata[key] = nil
      return metadata
    }
    var values: [String: Any] = ["from": mark.from, "to": mark.to, "store": mark.store]
    values[StoreMetadata.StageKey.name] = mark.label
    values[StoreMetadata.StageKey.run] = mark.run
    values["transactions"] = NSNumber(value: mark.transactions)
    values["history"] = mark.token
    metadata[key] = values
    return metadata
  }

  /// Writes the mark of a closed store, or removes it.
  static func set(_ mark: StageMark?, at url: URL) throws {
    let metadata = try NSPersistentStoreCoordinator.metadataForPersistentStore(type: .sqlite, at: url)
    guard mark != nil || metadata[key] != nil else { return }
    try NSPersistentStoreCoordinator.setMetadata(Self.metadata(metadata, with: mark), type: .sqlite, at: url)
  }

  /// Returns whether the step of the stage has run.
  func isAfterStep(_ metadata: [String: Any]) -> Bool { StoreVersion(metadata: metadata).checksum != store }

  func isOf(_ stage: PlannedStages.Stage) -> Bool {
    from == stage.source.model.versionChecksum && to == stage.destination.model.versionChecksum
  }

  /// Returns whether `willMigrate` has been saved and nothing has been written to the store since, as an older version
  /// of the app may have done.
  func coversWillMigrate(_ context: NSManagedObjectContext) throws -> Bool {
    guard let token else { return false }
    let before = try NSKeyedUnarchiver.unarchivedObject(ofClass: NSPersistentHistoryToken.self, from: token)
    let request = NSPersistentHistoryChangeRequest.fetchHistory(after: before)
    request.resultType = .transactionsOnly
    let result = try context.execute(request) as? NSPersistentHistoryResult
    let found = result?.result as? [NSPersistentHistoryTransaction] ?? []
    return found.count == transactions && found.allSatisfy { $0.contextName == label }
  }
}
