// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

/// Rows that another context or process has changed or deleted since they were read; nothing was written.
struct RowConflicts: Error {
  struct Conflict {
    let id: NSManagedObjectID
    let expectedVersion: Int64
    /// The row as it is in the store now; nil when it has been deleted.
    let stored: RowSnapshot?
  }

  let conflicts: [Conflict]
}
