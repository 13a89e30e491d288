// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataMistakes
import CoreDataStoreFiles
import Foundation

/// The result of a copy.
package struct StoreCopyResult {
  /// Whether all objects have kept the numbers in their identifiers.
  package let keepsNumbers: Bool
  /// A digest of what was copied; nil for a custom store class, whose rows cannot be compared.
  package let digest: StoreDigest?
  /// The number of links to missing objects that were left out.
  package let leftOutLinks: Int
}

/// The settings for copying rows.
package struct CopySettings {
  /// Whether the destination is read at the end and compared with what was copied.
  package var checks = true
  /// Whether persistent history is copied too, with its numbers and times.
  package var copiesHistory = false
  /// The maximum number of rows read at once.
  package var pageLimit = RowPages.maxCount
  /// The number of rows after which a part is committed, if the destination supports that.
  package var partSize = 50_000
  /// Called after each page of rows. An error ends the copy.
  package var progress: (CopyStage) throws -> Void = { _ in }

  package init() {}
}

/// The progress of a copy in rows.
package struct CopyStage: Equatable {
  package enum Step: Int {
    case rows = 1
    case members, check
  }

  package let step: Step
  package let entity: String
  /// The number of rows that this step has processed.
  package let done: Int
  package let total: Int
}

/// Copies all rows of a store into a new, empty one, possibly of another type.
///
/// Rows are read and written in parts, in one transaction, or in several for a `PartialCopyDestination`. First come the
/// rows of each entity with their attributes and to-one relationships, in the order of their numbers, then the members
/// of relationships that are stored outside the rows. Memory use grows with the number of runs of consecutive numbers,
/// not of rows, except for stores that keep all rows in memory.
///
/// Rows keep the numbers in their identifiers. In a store that numbers the objects of all entities together, objects
/// whose number is already used get new numbers.
package struct StoreCopy {
  package let source: any RowStore
  package let destination: any RowStore
  package let coordinator: NSPersistentStoreCoordinator
  package let settings: CopySettings

  package init(
    source: any RowStore, destination: any RowStore, coordinator: NSPersistentStoreCoordinator,
    _ settings: CopySettings = CopySettings()
  ) {
    (self.source, self.destination, self.coordinator, self.settings) = (source, destination, coordinator, settings)
  }

  /// Copies the rows and the app's metadata.
  ///
  /// - Throws: 134070 for a store whose rows cannot be listed, for a copy that differs from its source, and for a
  ///   destination with an unfinished copy of another store, or of this one before it was changed; the errors of both
  ///   stores. The destination then has no rows, or those of an unfinished copy.
  @discardableResult
  package func run() throws -> StoreCopyResult {
    try source.readingOneState { try copy() }
  }

  private func copy() throws -> StoreCopyResult {
    if let destination = destination as? any ObjectCopyDestination {
      copyMetadata()
      try destination.receiveCopies(of: source, coordinator: coordinator)
      return StoreCopyResult(keepsNumbers: false, digest: nil, leftOutLinks: 0)
    }
    guard let destination = destination as? any CopyDestination else {
      trap("A store of the type '\(destination.type)' cannot receive copies.")
    }
    return try RowCopy(self, destination).run()
  }

  /// Copies the app's metadata to the destination.
  fileprivate func copyMetadata() {
    var metadata: [String: Any] = destination.metadata ?? [:]
    for (key, value) in source.metadata ?? [:] where !StoreMetadata.ownKeys.contains(key) && key != NSStoreUUIDKey {
      metadata[key] = value
    }
    destination.metadata = metadata
  }
}

/// Copies rows unchanged.
private final class RowCopy {
  private let copy: StoreCopy
  private let destination: any CopyDestination
  /// The destination, if it commits in parts.
  private let partial: (any PartialCopyDestination)?
  private let keys: PresentKeys
  private let rows: CopiedRows
  private let keepsNumbers: Bool
  private var done: CopyProgress
  private let roundsDecimals: Bool
  /// The number of links that an earlier part of the copy has left out.
  private let leftOutBefore: Int
  /// The number of rows since the last commit.
  private var uncommitted = 0

  init(_ copy: StoreCopy, _ destination: any CopyDestination) throws {
    self.copy = copy
    self.destination = destination
    partial = destination as? any PartialCopyDestination
    keys = try PresentKeys(of: copy.source, copy.coordinator.managedObjectModel, hashesVersions: partial != nil)
    let tables = try (destination as? any RowTableStore)?.openTables()
    let begun = CopyProgress(
      source: copy.source.identifier ?? "", state: keys.state,
      firstFree: max(tables?.nextNumber ?? 1, keys.firstFree))
    done = try Self.earlier(destination, begun) ?? begun
    leftOutBefore = done.leftOutLinks
    let renumbered = tables == nil ? keys.entities.map { _ in [:] } : try keys.renumbered(from: done.firstFree)
    keepsNumbers = renumbered.allSatisfy(\.isEmpty)
    roundsDecimals = type(of: destination).roundsDecimals
    rows = CopiedRows(
      copy.source, keys, to: try .init(destination, keys, renumbered: renumbered),
      roundsDecimals: roundsDecimals)
    try checkNumbers()
  }

  /// Returns the progress of an unfinished copy in the destination; nil if there is none.
  ///
  /// - Throws: 134070 if the copy is of another store, or of another state of the same store.
  private static func earlier(_ destination: any CopyDestination, _ begun: CopyProgress) throws -> CopyProgress? {
    guard let found = destination.metadata?[StoreMetadata.Key.unfinishedCopy], !CopyProgress.isMark(found) else {
      return nil
    }
    guard let progress = CopyProgress(propertyList: found) else {
      throw CopyErrors.cannotContinue(url: destination.url, reason: "Its progress cannot be read.")
    }
    guard progress.source == begun.source else {
      throw CopyErrors.cannotContinue(
        url: destination.url,
        reason: "The source had the UUID \(progress.source); this source has \(begun.source).")
    }
    guard progress.state == begun.state else {
      throw CopyErrors.cannotContinue(url: destination.url, reason: "The source has been changed since then.")
    }
    return progress
  }

  /// Checks that all numbers are positive, as identifiers require.
  private func checkNumbers() throws {
    for (position, entity) in keys.entities.enumerated() {
      guard let least = keys[position].runs.first?.lowerBound, least < 1 else { continue }
      throw StoreErrors.operationFailed(
        url: destination.url,
        reason: "The store cannot hold the object \(least) of the entity '\(entity.name ?? "")'.")
    }
  }

  func run() throws -> StoreCopyResult {
    try destination.beginWriting()
    do {
      let histories = try histories()
      try destination.prepareForCopies(recordsHistory: histories == nil)
      // From here on, the destination is not a store of its own, and the copy can be continued.
      if partial != nil { try commit() }
      if done.phase == .rows {
        try copyRows()
        (done.phase, done.entity, done.last) = (.members, "", nil)
      }
      try copyMembers()
      try reserveNumbers()
      try destination.finishCopies()
      if let histories { try copyHistory(from: histories.source, to: histories.destination) }
      if copy.settings.checks { try check() }
      copy.copyMetadata()
      try partial?.recordCopy(nil)
      // A store that is a single file writes its metadata together with the rows.
      if destination.hasUnsavedMetadata, !(destination is any RowTableStore) { try destination.writeMetadata() }
      try destination.commitWriting()
    } catch {
      let isUnconfirmed = destination.takeUnconfirmedCommit() != nil
      // The error of the copy is the one to report.
      try? destination.rollBackWriting()
      throw isUnconfirmed ? CopyErrors.unconfirmed(error) : error
    }
    return StoreCopyResult(keepsNumbers: keepsNumbers, digest: done.digest, leftOutLinks: done.leftOutLinks)
  }

  /// Returns both stores, if history is copied.
  ///
  /// - Throws: 134091 if one of the stores does not support history, or the source has none.
  private func histories() throws -> (source: any HistoryCopying, destination: any HistoryCopying)? {
    guard copy.settings.copiesHistory else { return nil }
    guard let source = copy.source as? any HistoryCopying, source.hasHistory else {
      throw HistoryErrors.notRecorded(url: copy.source.url)
    }
    guard let destination = destination as? any HistoryCopying else {
      throw StoreErrors.operationFailed(
        url: destination.url, reason: "A store of the type '\(destination.type)' cannot have persistent history.")
    }
    return (source, destination)
  }

  private func copyHistory(from source: any HistoryCopying, to destination: any HistoryCopying) throws {
    let last = try source.readStoredHistory { try destination.insertHistory($0, $1) }
    try destination.continueHistory(after: last)
  }

  private func isDone(_ entity: NSEntityDescription) -> Bool { (entity.name ?? "") < done.entity }

  /// Returns the last row of an entity that an earlier part of the copy processed, and starts with the entity.
  private func begin(_ entity: NSEntityDescription) -> Int64? {
    let name = entity.name ?? ""
    if done.entity != name { (done.entity, done.last) = (name, nil) }
    return done.last
  }

  private func copyRows() throws {
    for (position, entity) in keys.entities.enumerated() where !isDone(entity) {
      var pages = RowPages(copy.source, entity, after: begin(entity), limit: copy.settings.pageLimit)
      while case let page = try pages.page(), let last = page.last {
        let changes = try page.map { row in
          let made = try rows.row(row, position)
          done.digest.add(made)
          return RowChange(
            kind: .insert, id: rows.identifier(position, made.number), old: nil, slots: made.slots, changed: made.values
          )
        }
        try destination.insertCopies(changes)
        try commitPart(after: last.key.number, count: page.count)
        try report(.rows, entity, done.digest.count)
      }
    }
  }

  private func report(_ step: CopyStage.Step, _ entity: NSEntityDescription, _ count: Int) throws {
    try copy.settings.progress(CopyStage(step: step, entity: entity.name ?? "", done: count, total: keys.count))
  }

  private func copyMembers() throws {
    var count = 0
    for (position, entity) in keys.entities.enumerated() {
      let before = count
      count += keys[position].count
      if isDone(entity) { continue }
      let table = entity.slotTable
      try rows.forEachMembers(of: position, after: begin(entity), limit: copy.settings.pageLimit) { owners, last in
        let changes = owners.map { owner in
          done.digest.add(owner)
          var slots = [Slot](repeating: .null, count: table.count)
          for (position, members) in owner.members { slots[position] = members }
          return RowChange(
            kind: .insert, id: rows.identifier(position, owner.number), old: nil, slots: slots,
            changed: SlotSet(owner.members.map(\.position)))
        }
        if !changes.isEmpty { try destination.connectCopies(changes) }
        try commitPart(after: last, count: owners.count)
        try report(.members, entity, before + keys[position].count(through: last))
      }
    }
  }

  /// Commits what has been written, if it is large enough for a part.
  private func commitPart(after last: Int64, count: Int) throws {
    done.last = last
    done.leftOutLinks = leftOutBefore + rows.leftOutLinks
    uncommitted += count
    if partial != nil, uncommitted >= copy.settings.partSize { try commit() }
  }

  /// Commits a part, and begins the next one.
  private func commit() throws {
    try partial?.recordCopy(done)
    try destination.commitWriting()
    uncommitted = 0
    try destination.beginWriting()
  }

  private func reserveNumbers() throws {
    for (position, entity) in keys.entities.enumerated() {
      guard let greatest = rows.lastNumber(position) else { continue }
      try destination.reserveNumbers(of: entity, through: greatest)
    }
  }

  /// Compares the destination with what was copied.
  private func check() throws {
    let keys = try PresentKeys(of: destination, copy.coordinator.managedObjectModel)
    let found = try StoreDigest(of: destination, keys) { try report(.check, $0, $1) }
    if let difference = done.digest.difference(of: found) { throw CopyErrors.differs(url: destination.url, difference) }
  }
}
