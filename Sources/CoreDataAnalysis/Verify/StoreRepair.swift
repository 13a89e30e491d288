// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataModelFiles
import CoreDataSQLite
import CoreDataStoreFiles
import Foundation

/// Repairs what can be repaired without a guess, in one transaction, after a backup.
package struct StoreRepair: Sendable {
  /// What was found before.
  package let before: StoreVerdict
  /// What is found now.
  package let after: StoreVerdict
  /// What was repaired.
  package let repaired: [StoreDefect]
  /// The backup of the store as it was; nil where nothing could be repaired.
  package let backup: URL?

  /// Verifies a store, repairs it, and verifies it again.
  ///
  /// Others can read meanwhile, but not write. The store is as it was if anything fails.
  ///
  /// - Parameters:
  ///   - url: the store.
  ///   - model: the model that wrote it; nil for the one that it carries.
  ///   - limit: how many rows are listed for each defect.
  ///   - folder: the directory for the backup; nil for that of the store.
  ///   - isWithoutLog: whether the store is repaired although its log seems to be missing. The log would not fit any
  /// more.
  ///   - check: called before each step, to stop by an error.
  /// - Throws: `StoreProblem`; the errors of `StoreBackup`; what `check` throws.
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
      // With a stale index, queries miss rows: what else is wrong, even in other indexes, is only known without it.
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
          .damaged, "\(url.lastPathComponent) would not be sounder after the repair. It was left as it was.")
      }
      try StoreProblem.translating(url) { try file.connection.commit() }
      // The repair is on the disk, whatever happens to the connection.
      try? file.close()
      (self.before, self.after, repaired, self.backup) = (before, after, indexes + rest, backup)
    } catch {
      // The first error is the one that counts; SQLite rolls back what closing finds open.
      try? file.connection.rollback()
      if let made {
        // A backup that could not be removed is no harm.
        try? StoreBackup.remove(made)
      }
      throw error
    }
  }

  /// Refuses a store whose log is another one's, or probably missing, before it is opened to write: SQLite would write
  /// the pages of
  /// the one into it, and the other would not fit any more.
  private static func checkLog(of url: URL, _ isWithoutLog: Bool) throws {
    let found = try LogProblem.all(StoreReader(url: url), isDamaged: false)
    guard let problem = found.first(where: { $0.kind == .foreign || $0.kind == .missing && !isWithoutLog }) else {
      return
    }
    throw StoreProblem(.log, "\(url.lastPathComponent) was not repaired. \(problem.finding) \(problem.cure)")
  }

  /// Whether nothing is left of what can be repaired, and nothing new is wrong.
  static func isBetter(_ after: StoreVerdict, than before: StoreVerdict) -> Bool {
    let unrepaired = before.defects.filter { !$0.isRepairable }
    return after.defects.allSatisfy { found in
      if found.isRepairable { return false }
      // A row that is deleted from a join table can leave its owner with too few members.
      return found.kind == .count || unrepaired.contains { $0.kind == found.kind && $0.place == found.place }
    }
  }
}
