// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import Foundation

/// A store that is open with one version of a plan, for the code of a stage.
///
/// What the code saves is kept in a context above its own, and written when the code has returned, together with the
/// mark of the stage. So after a kill or an error, the store has all changes and the mark, or none of them.
final class StageContext {
  private let coordinator: NSPersistentStoreCoordinator
  private let store: NSPersistentStore
  private let root = NSManagedObjectContext(concurrencyType: .privateQueueConcurrencyType)
  private let version: PlannedVersion

  init(_ version: PlannedVersion, at url: URL, configuration: String?, label: String) throws {
    self.version = version
    coordinator = NSPersistentStoreCoordinator(managedObjectModel: version.model)
    store = try coordinator.addPersistentStore(
      type: .sqlite, configuration: configuration, at: url, options: [NSPersistentHistoryTrackingKey: true])
    root.persistentStoreCoordinator = coordinator
    root.mergePolicy = NSMergePolicy.mergeByPropertyObjectTrump
    root.undoManager = nil
    // History names the stage as the origin of the changes.
    root.name = label
  }

  func close() throws { try coordinator.remove(store) }

  /// Runs code, and writes what it saved.
  ///
  /// - Parameters:
  ///   - code: the code of a stage; nil to write only the mark.
  ///   - mark: returns the mark that is written with the changes; nil to remove it.
  func run(_ code: ((ModelContext) throws -> Void)?, mark: (StageContext, [String: Any]) -> StageMark?) throws {
    if let code {
      let container = ModelContainer(version.schema, over: coordinator)
      container.stageRoot = root
      let context = ModelContext(container)
      try code(context)
      try context.save()
      root.performAndWait { root.transactionAuthor = context.author }
    }
    let metadata: [String: Any] = store.metadata ?? [:]
    coordinator.setMetadata(StageMark.metadata(metadata, with: mark(self, metadata)), for: store)
    // Without changes, saving writes only the metadata.
    try root.performAndWait { try root.save() }
  }

  /// The mark of a stage, for the changes that are about to be written.
  func mark(_ stage: PlannedStages.Stage, _ metadata: [String: Any]) -> StageMark {
    let hasChanges = root.performAndWait { root.hasChanges }
    return StageMark(
      stage, metadata, token: coordinator.currentPersistentHistoryToken(fromStores: [store]),
      transactions: hasChanges ? 1 : 0)
  }

  func isCovered(by mark: StageMark) throws -> Bool {
    try root.performAndWait { try mark.coversWillMigrate(root) }
  }
}

extension ContextCore {
  /// Throws if the container's schema lacks a class, such as one of another version in the code of a stage.
  func checkContains(_ type: any PersistentModel.Type) throws {
    guard container.entity(of: type) == nil else { return }
    let other = container.schema.entities.first { $0.name == String(describing: type) }
    let stage =
      container.isOfStage
      ? " In a migration stage, willMigrate and the source of didMigrate have the classes of the old version, and the "
        + "context that didMigrate changes has those of the new one."
      : ""
    let advice =
      other.map { "Use \($0.typeName), the class of the same name in version \(container.schema.version)." }
      ?? "Add the class to the types of the container."
    throw SwiftDataError(
      .unknownSchema, "The schema of the context does not contain \(String(reflecting: type)).\(stage) \(advice)",
      entity: String(describing: type))
  }
}
