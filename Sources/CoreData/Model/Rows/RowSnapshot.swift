// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataMistakes

/// The numbers of a row: its entity's number in the store, and its primary key.
package struct RowKey: Hashable, Comparable, Sendable {
  package let entity: Int32
  package let number: Int64

  package static func < (left: RowKey, right: RowKey) -> Bool {
    (left.entity, left.number) < (right.entity, right.number)
  }
}

/// The rows of one entity in a range of keys.
package struct RowSpan: Hashable, Sendable {
  package let entity: Int32
  package let keys: ClosedRange<Int64>
}

/// A row as last read or saved. Contexts compare their changes with it.
///
/// A single reference, because a context has one for each object. It is sendable because errors contain rows
/// (`RowConflicts`): the slots hold values and immutable objects, and only its context uses the `origin`.
package struct RowSnapshot: @unchecked Sendable {
  /// A row that has been decoded. Changed only by a single owner.
  private class Decoded {
    /// The identity of a row.
    enum Identity {
      case known(NSManagedObjectID)
      /// No identifier has been requested yet.
      case row(RowLayout, Int64)
    }

    final let identity: Identity
    final fileprivate(set) var version: Int64
    @exclusivity(unchecked) final var slots: [Slot]

    init(_ identity: Identity, _ version: Int64, _ slots: [Slot]) {
      self.identity = identity
      self.version = version
      self.slots = slots
    }
  }

  /// A row that a child context has from its parent.
  private final class DecodedOfParent: Decoded {
    let origin: AnyObject

    init(_ identity: Identity, _ version: Int64, _ slots: [Slot], origin: AnyObject) {
      self.origin = origin
      super.init(identity, version, slots)
    }
  }

  private enum Content {
    case packed(PackedRow)
    case decoded(Decoded)
    /// Used only while the row is being changed.
    case taken
  }

  private var content: Content

  package init(id: NSManagedObjectID, version: Int64, slots: [Slot], origin: AnyObject? = nil) {
    content = .decoded(RowSnapshot.decoded(.known(id), version, slots, origin))
  }

  package init(_ row: PackedRow) {
    content = .packed(row)
  }

  /// The row as bytes; nil if it has been decoded.
  package var packed: PackedRow? {
    if case .packed(let row) = content { return row }
    return nil
  }

  package var id: NSManagedObjectID {
    switch identity {
    case .known(let id): id
    case .row(let layout, let primaryKey): layout.identifier(primaryKey)
    }
  }

  /// The key of the identifier, without creating one.
  package var key: ObjectKey {
    if case .packed(let row) = content { return row.key }
    switch identity {
    case .known(let id): return id.key
    case .row(let layout, let primaryKey): return layout.key(primaryKey)
    }
  }

  package var entity: NSEntityDescription {
    switch identity {
    case .known(let id): id.entityDescription
    case .row(let layout, _): layout.entity
    }
  }

  private var identity: Decoded.Identity {
    switch content {
    case .packed(let row): .row(row.layout, row.primaryKey)
    case .decoded(let row): row.identity
    case .taken: RowSnapshot.trapOnReentry()
    }
  }

  /// The row's version (`Z_OPT`), which grows with every save.
  package var version: Int64 {
    get {
      switch content {
      case .packed(let row): row.version
      case .decoded(let row): row.version
      case .taken: RowSnapshot.trapOnReentry()
      }
    }
    set {
      if case .packed(let row) = content {
        content = .packed(row.copy(version: newValue))
      } else {
        content = .decoded(RowSnapshot.decoded(identity, newValue, slots, origin))
      }
    }
  }

  /// The slots, one for each property, in the order of the entity's `SlotTable`. To-many relationships are `unread`
  /// until accessed. Each access decodes a packed row.
  package var slots: [Slot] {
    get {
      switch content {
      case .packed(let row): row.slots
      case .decoded(let row): row.slots
      case .taken: RowSnapshot.trapOnReentry()
      }
    }
    set { content = .decoded(RowSnapshot.decoded(identity, version, newValue, origin)) }
    _modify {
      let row = takeDecoded()
      defer { content = .decoded(row) }
      yield &row.slots
    }
  }

  /// Returns one slot.
  package func slot(at position: Int) -> Slot {
    if case .packed(let row) = content { return row.slot(at: position) }
    return slots[position]
  }

  /// The parent's object, for a row that a child context has from its parent. Retaining it keeps the parent's snapshot,
  /// and thus the version on which the child's changes are based.
  package var origin: AnyObject? {
    get {
      if case .decoded(let row as DecodedOfParent) = content { return row.origin }
      return nil
    }
    set { content = .decoded(RowSnapshot.decoded(identity, version, slots, newValue)) }
  }

  /// Changes the row to another version in place, without allocating.
  ///
  /// - Returns: false if that is impossible because the row has not been decoded, is also referenced elsewhere, is a
  ///   parent's, or has another identifier.
  package mutating func renew(id: NSManagedObjectID, version: Int64, slots: [Slot]) -> Bool {
    guard case .decoded(var row) = content else { return false }
    content = .taken
    defer { content = .decoded(row) }
    guard isKnownUniquelyReferenced(&row), type(of: row) == Decoded.self else { return false }
    if case .known(let known) = row.identity, known !== id { return false }
    (row.version, row.slots) = (version, slots)
    return true
  }

  private static func decoded(
    _ identity: Decoded.Identity, _ version: Int64, _ slots: [Slot], _ origin: AnyObject?
  ) -> Decoded {
    if let origin { return DecodedOfParent(identity, version, slots, origin: origin) }
    return Decoded(identity, version, slots)
  }

  /// Takes the decoded row out of the content, as its single owner.
  private mutating func takeDecoded() -> Decoded {
    if case .decoded(var row) = content {
      content = .taken
      if isKnownUniquelyReferenced(&row) { return row }
      return RowSnapshot.decoded(row.identity, row.version, row.slots, (row as? DecodedOfParent)?.origin)
    }
    let row = Decoded(identity, version, slots)
    content = .taken
    return row
  }

  private static func trapOnReentry() -> Never {
    trap("A row was read while it was being changed.")
  }
}

/// The versions of rows (`Z_OPT`).
package enum RowVersion {
  /// Returns the next version of a row. After the greatest integer, which a file may contain, versions start again at
  /// 1.
  package static func next(after version: Int64) -> Int64 { version == .max ? 1 : version + 1 }

  /// SQL for the version of a row, as reading the column as an integer returns it.
  package static let stored = "CAST(COALESCE(Z_OPT, 0) AS BIGINT)"

  /// SQL for the next version of a row.
  package static let following = "CASE \(stored) WHEN \(Int64.max) THEN 1 ELSE \(stored) + 1 END"
}

/// An error for a write of rows that another context or process has changed or deleted since they were read.
package struct RowConflicts: Error {
  package struct Conflict {
    package let id: NSManagedObjectID
    package let expectedVersion: Int64
    /// The current row in the store; nil if it has been deleted.
    package let stored: RowSnapshot?

    package init(id: NSManagedObjectID, expectedVersion: Int64, stored: RowSnapshot?) {
      (self.id, self.expectedVersion, self.stored) = (id, expectedVersion, stored)
    }
  }

  package let conflicts: [Conflict]

  package init(conflicts: [Conflict]) {
    self.conflicts = conflicts
  }
}
