// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// One execution of an asynchronous fetch request.
///
/// A context of its own finds the objects and reads their rows in parts, so that progress can be reported. The rows
/// then become objects on the queue of the context that fetches.
final class AsynchronousFetch {
  /// The number of rows in a part.
  private static let partSize = 500

  /// The result of reading.
  private enum Reading {
    /// The identifiers in order, and the rows that have been read.
    case objects([NSManagedObjectID], [ObjectKey: RowSnapshot])
    /// Results that are not objects.
    case values([Any])
  }

  let context: NSManagedObjectContext
  let progress: Progress
  private let specification: FetchSpecification
  private let interruption = ReadInterruption()
  private let lock = NSLock()
  /// Guarded by `lock`.
  private var outcome: Result<[Any], any Error>?

  init(_ specification: FetchSpecification, estimate: Int, in context: NSManagedObjectContext) {
    self.specification = specification
    self.context = context
    progress = Progress(parent: Progress.current(), userInfo: nil)
    progress.totalUnitCount = estimate > 0 ? Int64(estimate) : -1
    progress.isCancellable = true
    progress.cancellationHandler = { [interruption] in interruption.interrupt() }
  }

  var results: [Any]? {
    guard case .success(let results) = lock.withLock({ outcome }) else { return nil }
    return results
  }

  var error: (any Error)? {
    guard case .failure(let error) = lock.withLock({ outcome }) else { return nil }
    return error
  }

  /// Begins to read.
  ///
  /// - Parameters:
  ///   - typing: checks the types of the results, on the context's queue.
  ///   - completion: called on the context's queue when the fetch has ended.
  /// - Throws: as `setQueryGenerationFrom(_:)`.
  func begin(typing: @escaping ([Any]) throws -> [Any], completion: @escaping () -> Void) throws {
    let reader = NSManagedObjectContext(.privateQueue)
    // Its statements are reported as those of the context.
    (reader.name, reader.transactionAuthor) = (context.name, context.transactionAuthor)
    if let parent = context.parent {
      reader.parent = parent
    } else {
      reader.persistentStoreCoordinator = context.persistentStoreCoordinator
      let generation = context.queryGenerationToken
      try reader.performAndWait { try reader.setQueryGenerationFrom(generation) }
    }
    reader.perform { [self] in
      let reading = Result {
        try ReadInterruption.$current.withValue(interruption) {
          try reader.tracing(.fetch) { try read(in: reader) }
        }
      }
      context.perform { [self] in
        let outcome = Result { try typing(finish(reading.get())) }
        if case .success(let results) = outcome {
          progress.totalUnitCount = Int64(results.count)
          progress.completedUnitCount = progress.totalUnitCount
        }
        lock.withLock { self.outcome = outcome }
        completion()
      }
    }
  }

  private func checkCancellation() throws {
    // The caller's progress may already have been cancelled.
    if progress.isCancelled { interruption.interrupt() }
    try interruption.check()
  }

  /// Reads the stores, on the queue of the reading context.
  private func read(in reader: NSManagedObjectContext) throws -> Reading {
    try checkCancellation()
    var specification = specification
    specification.includesPendingChanges = false
    guard specification.resultType == .managedObjectResultType else {
      return .values(try reader.results(of: specification, affectedStores: specification.affectedStores))
    }
    specification.resultType = .managedObjectIDResultType
    let ids = try reader.results(of: specification, affectedStores: specification.affectedStores)
      .compactMap { $0 as? NSManagedObjectID }
    progress.totalUnitCount = Int64(ids.count)
    guard specification.includesPropertyValues, specification.fetchBatchSize == 0 else { return .objects(ids, [:]) }
    var rows: [ObjectKey: RowSnapshot] = [:]
    rows.reserveCapacity(ids.count)
    for start in stride(from: 0, to: ids.count, by: Self.partSize) {
      try checkCancellation()
      let faults = ids[start..<min(start + Self.partSize, ids.count)].map(reader.object(for:))
      for object in faults {
        if let row = object.snapshot { rows[row.key] = row }
      }
      try Prefetching(context: reader).readRows(of: faults.filter { $0.snapshot == nil }) { rows[$0.key] = $0 }
      progress.completedUnitCount = Int64(start + faults.count)
    }
    return .objects(ids, rows)
  }

  /// Makes the results from what has been read, on the context's queue.
  private func finish(_ reading: Reading) throws -> [Any] {
    try checkCancellation()
    if specification.includesPendingChanges, context.hasChanges {
      return try context.results(of: specification, affectedStores: specification.affectedStores)
    }
    guard case .objects(let ids, let rows) = reading else {
      guard case .values(let values) = reading else { return [] }
      return values
    }
    let objects: [NSManagedObject]
    if rows.isEmpty {
      objects = context.faults(ids, batchSize: specification.fetchBatchSize)
    } else {
      // A missing row was deleted while others were read.
      objects = context.objects(
        for: ids.compactMap { rows[$0.key] }, refreshing: specification.shouldRefreshRefetchedObjects)
    }
    if specification.shouldRefreshRefetchedObjects || !specification.returnsObjectsAsFaults {
      for object in objects { object.fireFault() }
    }
    let keyPaths = specification.relationshipKeyPathsForPrefetching ?? []
    if !keyPaths.isEmpty { context.prefetchedRows.removeAll() }
    try Prefetching(context: context).prefetch(keyPaths, of: objects, areHeld: true)
    return objects
  }
}
