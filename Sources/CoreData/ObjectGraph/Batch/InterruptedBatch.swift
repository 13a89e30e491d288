// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

/// What a batch request has changed in one store.
struct BatchOutcome {
  var count = 0
  var ids: [NSManagedObjectID] = []
}

/// A failed batch request whose changes may be in the stores: a server did not answer the commit, or one of several
/// stores has committed its part before another one failed.
///
/// The request keeps it until it is changed. Executing the request again first asks which stores have committed their
/// part, and changes only the others.
struct InterruptedBatch {
  /// The predicate, limit and offset of a deletion, whose fetch request can be changed.
  struct Selection: Equatable {
    private let predicate: ObjectIdentifier?
    private let entity: String?
    private let limit, offset: Int

    init(_ specification: FetchSpecification) {
      predicate = specification.predicate.map(ObjectIdentifier.init)
      entity = specification.entity?.name ?? specification.entityName
      (limit, offset) = (specification.fetchLimit, specification.fetchOffset)
    }
  }

  let commits: [UInt32: InterruptedCommit]
  let outcomes: [UInt32: BatchOutcome]
  let selection: Selection?

  /// Returns what stores have committed, by their numbers.
  ///
  /// - Throws: 134030 if a server cannot be asked, or cannot tell.
  fileprivate func committed() throws -> [UInt32: BatchOutcome] {
    var committed: [UInt32: BatchOutcome] = [:]
    for (store, commit) in commits where try commit.isCommitted() { committed[store] = outcomes[store] }
    return committed
  }
}

/// A request that changes rows without objects.
protocol BatchRequest: NSPersistentStoreRequest {
  /// The last execution of the unchanged request, if it has failed and some of its changes may be in the stores.
  var interrupted: Guarded<InterruptedBatch?> { get }
}

extension BatchRequest {
  /// Returns what stores have committed of an earlier execution, which must not be repeated, by their numbers.
  ///
  /// - Throws: 134030 if that cannot be learnt.
  func committedOutcomes(_ selection: InterruptedBatch.Selection? = nil) throws -> [UInt32: BatchOutcome] {
    guard let earlier = interrupted.value else { return [:] }
    let committed = earlier.selection == selection ? try earlier.committed() : [:]
    interrupted.value = nil
    return committed
  }

  /// Returns the error to throw for a failed execution, and records what the stores may have committed of it.
  func cause(
    of error: any Error, _ outcomes: [UInt32: BatchOutcome], _ selection: InterruptedBatch.Selection? = nil
  ) -> any Error {
    guard let failure = error as? InterruptedWrite else { return error }
    interrupted.value = InterruptedBatch(commits: failure.commits, outcomes: outcomes, selection: selection)
    return failure.cause
  }
}
