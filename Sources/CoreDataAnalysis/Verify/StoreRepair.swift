// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataModelFiles
import CoreDataSQLite
import CoreDataStoreFiles
import Foundation

/// Repairs everything that can be repaired without guessing, in one transaction, after a backup.
package struct StoreRepair: Sendable {
  /// The result of verifying the store before the repair.
  package let before: StoreVerdict
  /// The result of verifying the store after the repair.
  package let after: StoreVerdict
  /// The repaired defects.
  package let repaired: [StoreDefect]
  /// The backup made before the repair; nil if nothing could be repaired.
  package let backup: URL?

  /// Creates the result of a repair in a server.
  package init(before: StoreVerdict, after: StoreVerdict, repaired: [StoreDefect]) {
    (self.before, self.after, self.repaired, backup) = (before, after, repaired, nil)
  }

  /// Verifies a store, repairs it, and verifies it again.
  ///
  /// Others can read meanwhile, but not write. If anything fails, the store is unchanged.
  ///
  /// - Parameters:
  ///   - url: the store.
  ///   - model: the model that wrote it; nil for the model cached in the store.
  ///   - limit: the maximum number of rows listed for each defect.
  ///   - folder: the directory for the backup; nil for that of the store.
  ///   - isWithoutLog: whether to repair the store even if its log seems to be missing. The log would no longer match
  ///     it.
  ///   - check: called before each step; an error stops the repair.
  /// - Throws: `StoreProblem`; the errors of `StoreBackup`; the errors of `check`.
  package init(
    of url: URL, model: ModelDocument?, limit: Int = 100, backupsIn folder: URL? = nil,
    isWithoutLog: Bool = false, check: () throws -> Void = {}
  ) throws {
    try Self.checkLog(of: url, isWithoutLog)
    let file = try StoreProblem.translating(url) {
      let file = try StoreFile.open(url, isReadOnly: false)
      guard !file.isReadOnly else {
        throw StoreProblem(
          .noAccess, "\(url.lastPathComponent) cannot be written. Check its permissions and those of its directory.")
      }
      try file.connection.begin(.immediate)
      return file
    }
    var made: URL?
    do {
      func verify() throws -> StoreVerdict {
        try StoreVerifier(StoreReader(file, url: url, model: model, allowsMissingMetadata: true), limit: limit).run {
          _ in try check()
        }
      }
      func run(_ defects: [StoreDefect]) throws {
        try StoreProblem.translating(url) {
          for statement in defects.flatMap(\.repair) {
            try check()
            try file.connection.execute(statement)
          }
        }
      }
      let before = try verify()
      let isReadable = !before.defects.contains { $0.kind == .pages }
      guard isReadable, before.defects.contains(where: \.isRepairable) else {
        try StoreProblem.translating(url) {
          try file.connection.rollback()
          try file.close()
        }
        (self.before, after, repaired, backup) = (before, before, [], nil)
        return
      }
      let backup = try StoreBackup.make(of: url, in: folder)
      made = backup
      // With a stale index, queries miss rows, so other defects, even of other indexes, are known only after it is
      // repaired.
      var indexes: [StoreDefect] = []
      var certain = before
      while true {
        let built = Set(indexes.flatMap(\.repair))
        let stale = certain.defects.filter { $0.kind == .index && $0.isRepairable && built.isDisjoint(with: $0.repair) }
        guard !stale.isEmpty else { break }
        try run(stale)
        indexes += stale
        certain = try verify()
      }
      let rest = certain.defects.filter { $0.kind != .index && $0.isRepairable }
      try run(rest)
      let after = try verify()
      guard Self.isBetter(after, than: certain) else {
        throw StoreProblem(
          .damaged, "\(url.lastPathComponent) would not be improved by the repair. It was not changed.")
      }
      try StoreProblem.translating(url) { try file.connection.commit() }
      // The repair is on disk, whatever happens to the connection.
      try? file.close()
      (self.before, self.after, repaired, self.backup) = (before, after, indexes + rest, backup)
    } catch {
      // The error that is being thrown takes precedence; closing rolls back an open transaction.
      try? file.connection.rollback()
      if let made {
        // A backup that cannot be removed does no harm.
        try? StoreBackup.remove(made)
      }
      throw error
    }
  }

  /// Throws if the store's log belongs to another store, or is probably missing, before it is opened for writing:
  /// SQLite would write the other store's pages into it, and a missing log would no longer match it.
  private static func checkLog(of url: URL, _ isWithoutLog: Bool) throws {
    let found = try LogProblem.all(StoreReader(url: url), isDamaged: false)
    guard let problem = found.first(where: { $0.kind == .foreign || $0.kind == .missing && !isWithoutLog }) else {
      return
    }
    throw StoreProblem(.log, "\(url.lastPathComponent) was not repaired. \(problem.finding) \(problem.cure)")
  }

  /// Whether everything that can be repaired has been repaired, and no new defect was found.
  static func isBetter(_ after: StoreVerdict, than before: StoreVerdict) -> Bool {
    let unrepaired = before.defects.filter { !$0.isRepairable }
    return after.defects.allSatisfy { found in
      if found.isRepairable { return false }
      // Deleting a row from a join table can leave its owner with too few members.
      return found.kind == .count || unrepaired.contains { $0.kind == found.kind && $0.place == found.place }
    }
  }
}
