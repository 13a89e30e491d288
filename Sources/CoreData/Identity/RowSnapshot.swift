// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

/// The numbers of a row: that of its entity in its store, and its primary key.
struct RowKey: Hashable, Comparable, Sendable {
  let entity: Int32
  let number: Int64

  static func < (left: RowKey, right: RowKey) -> Bool {
    (left.entity, left.number) < (right.entity, right.number)
  }
}

/// The rows of one entity with keys in a range.
struct RowSpan: Hashable, Sendable {
  let entity: Int32
  let keys: ClosedRange<Int64>
}

/// A row as it was last read or saved. Contexts compare their changes with it.
///
/// Errors carry rows (`RowConflicts`), hence sendable: the slots hold values and immutable objects, and nobody uses the
/// `origin` but its context.
struct RowSnapshot: @unchecked Sendable {
  private enum Content {
    case packed(PackedRow)
    case unpacked(NSManagedObjectID, [Slot])
  }

  private var content: Content
  /// The row's version (`Z_OPT`), which grows with every save.
  var version: Int64
  /// For a row that a child context has from its parent, the parent's object. Retaining it keeps the parent's snapshot,
  /// and with it the version that the child's changes are based on.
  var origin: AnyObject?

  init(id: NSManagedObjectID, version: Int64, slots: [Slot], origin: AnyObject? = nil) {
    content = .unpacked(id, slots)
    self.version = version
    self.origin = origin
  }

  init(_ row: PackedRow) {
    content = .packed(row)
    version = row.header.version
  }

  /// The row as bytes; nil if it has been decoded.
  var packed: PackedRow? {
    if case .packed(let row) = content { return row }
    return nil
  }

  var id: NSManagedObjectID {
    switch content {
    case .packed(let row): row.header.layout.identifier(row.header.primaryKey)
    case .unpacked(let id, _): id
    }
  }

  /// The key of the identifier, without making one.
  var key: ObjectKey {
    switch content {
    case .packed(let row): row.key
    case .unpacked(let id, _): id.key
    }
  }

  var entity: NSEntityDescription {
    switch content {
    case .packed(let row): row.header.layout.entity
    case .unpacked(let id, _): id.entityDescription
    }
  }

  /// One slot for each property, in the order of the entity's `SlotTable`. To-many relationships are `unread` until
  /// they are asked for. Each access decodes a packed row.
  var slots: [Slot] {
    get {
      switch content {
      case .packed(let row): row.slots
      case .unpacked(_, let slots): slots
      }
    }
    _modify {
      var slots = self.slots
      let id = id
      // The slots have a single owner while they are changed.
      content = .unpacked(id, [])
      defer { content = .unpacked(id, slots) }
      yield &slots
    }
  }
}

/// The versions of rows (`Z_OPT`).
enum RowVersion {
  /// Returns the next version of a row. After the greatest number, which a file may contain, it starts again at 1.
  static func next(after version: Int64) -> Int64 { version == .max ? 1 : version + 1 }

  /// SQL for the version of a row, as reading the column as an integer returns it.
  static let stored = "CAST(IFNULL(Z_OPT, 0) AS INTEGER)"

  /// SQL for the next version of a row.
  static let following = "CASE \(stored) WHEN \(Int64.max) THEN 1 ELSE \(stored) + 1 END"
}

/// Thrown by a write for rows that another context or process has changed or deleted since they were read.
struct RowConflicts: Error {
  struct Conflict {
    let id: NSManagedObjectID
    let expectedVersion: Int64
    /// The current row in the store; nil if it has been deleted.
    let stored: RowSnapshot?
  }

  let conflicts: [Conflict]
}
