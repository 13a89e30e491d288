// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// A fetch of a context.
public struct DataStoreFetchRequest<T: PersistentModel> {
  /// The models to return, their order and their number.
  ///
  /// A context with unsaved changes asks without limit and offset, because the changes may add and remove models.
  public let descriptor: FetchDescriptor<T>
  /// The context.
  public let editingState: EditingState

  /// Creates a request.
  public init(descriptor: FetchDescriptor<T>, editingState: EditingState) {
    (self.descriptor, self.editingState) = (descriptor, editingState)
  }
}

/// The results of a fetch.
public struct DataStoreFetchResult<ModelType: PersistentModel, SnapshotType: DataStoreSnapshot> {
  /// The descriptor of the request.
  public let descriptor: FetchDescriptor<ModelType>
  /// The models found, in their order. Those of other entities than the request's are left out.
  public let fetchedSnapshots: [SnapshotType]
  /// Further models to which the found ones refer. The context keeps them, so that it need not fetch them.
  public let relatedSnapshots: [PersistentIdentifier: SnapshotType]

  /// Creates the results of a fetch.
  public init(
    descriptor: FetchDescriptor<ModelType>, fetchedSnapshots: [SnapshotType],
    relatedSnapshots: [PersistentIdentifier: SnapshotType] = [:]
  ) {
    self.descriptor = descriptor
    self.fetchedSnapshots = fetchedSnapshots
    self.relatedSnapshots = relatedSnapshots
  }
}

/// The changes of a context.
public struct DataStoreSaveChangesRequest<SnapshotType: DataStoreSnapshot> {
  /// The new models, which have temporary identifiers.
  public let inserted: [SnapshotType]
  /// The changed models, with all of their values. A model is changed too if its relationship changes as the inverse of
  /// another one.
  public let updated: [SnapshotType]
  /// The deleted models.
  public let deleted: [SnapshotType]
  /// The context.
  public let editingState: EditingState

  /// Creates a request.
  public init(
    inserted: [SnapshotType], updated: [SnapshotType], deleted: [SnapshotType], editingState: EditingState
  ) {
    (self.inserted, self.updated, self.deleted) = (inserted, updated, deleted)
    self.editingState = editingState
  }
}

/// What a store has saved.
public final class DataStoreSaveChangesResult<SnapshotType: DataStoreSnapshot> {
  /// The identifier of the store.
  public let storeIdentifier: String
  /// The permanent identifiers of the inserted models, by the temporary ones.
  public let remappedIdentifiers: [PersistentIdentifier: PersistentIdentifier]
  /// The models whose values the store has changed while saving, such as a number that it has assigned. The context
  /// reads them again.
  public let snapshotsToReregister: [PersistentIdentifier: SnapshotType]
  /// The position in history after the save; nil if the store has no history.
  public let historyToken: (any HistoryToken)?

  /// Creates the result of a save.
  public init(
    for storeIdentifier: String, remappedIdentifiers: [PersistentIdentifier: PersistentIdentifier] = [:],
    snapshotsToReregister: [PersistentIdentifier: SnapshotType] = [:]
  ) {
    self.storeIdentifier = storeIdentifier
    self.remappedIdentifiers = remappedIdentifiers
    self.snapshotsToReregister = snapshotsToReregister
    historyToken = nil
  }

  /// Creates the result of a save that history has recorded.
  public init(
    for storeIdentifier: String, remappedIdentifiers: [PersistentIdentifier: PersistentIdentifier] = [:],
    snapshotsToReregister: [PersistentIdentifier: SnapshotType] = [:], historyToken: (any HistoryToken)?
  ) {
    self.storeIdentifier = storeIdentifier
    self.remappedIdentifiers = remappedIdentifiers
    self.snapshotsToReregister = snapshotsToReregister
    self.historyToken = historyToken
  }
}

/// A deletion by a condition.
public struct DataStoreBatchDeleteRequest<T: PersistentModel> {
  /// The condition; nil for all models.
  public let predicate: Predicate<T>?
  /// The context.
  public let editingState: EditingState
  /// Whether models of subclasses are deleted too.
  public let includeSubclasses: Bool

  /// Creates a request.
  public init(predicate: Predicate<T>?, editingState: EditingState, includeSubclasses: Bool = true) {
    (self.predicate, self.editingState, self.includeSubclasses) = (predicate, editingState, includeSubclasses)
  }
}
