// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

/// The result of a request with a `fetchBatchSize`: its objects are faults, and the first of a batch that is asked for a value
/// has the rows of the whole batch read.
final class FetchBatch {
  private let ids: [NSManagedObjectID]
  private let size: Int
  private lazy var positions = Dictionary(ids.enumerated().map { ($1.key, $0) }) { first, _ in first }

  init(_ ids: [NSManagedObjectID], size: Int) {
    self.ids = ids
    self.size = size
  }

  /// Reads the rows of an object and of those around it, as far as somebody has them and they are faults.
  func readRows(around object: NSManagedObject, in context: NSManagedObjectContext) throws {
    guard let position = positions[object.identifier.key] else { return }
    let start = position / size * size
    let faults = ids[start..<min(start + size, ids.count)].compactMap { context.registry[$0.key] }
      .filter { $0.isFault && $0.snapshot == nil && $0.batch === self }
    for fault in faults { fault.batch = nil }
    try Prefetching(context: context).readRows(of: faults)
  }
}
