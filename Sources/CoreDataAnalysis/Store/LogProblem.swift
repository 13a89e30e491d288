// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataFileSystem
import CoreDataSQLite
import CoreDataStoreFiles
import Foundation

/// A certain or possible problem with the write-ahead log of a store. The last transactions of a store are in
/// `Data.sqlite-wal`: they are lost if only the main file is copied, and a file of that name from elsewhere contains
/// those of another database.
package struct LogProblem: Hashable, Sendable {
  package enum Kind: Sendable {
    /// The log belongs to another database, or to another state of this one.
    case foreign
    /// The log is probably missing, with its rows.
    case missing
    /// The log may be missing; the signs also have other possible causes.
    case uncertain
  }

  package let kind: Kind
  /// What was found, in sentences.
  package let finding: String
  /// What to do and what to avoid, in sentences.
  package let cure: String
}

extension LogProblem {
  /// Returns all problems with the log of a store that can be read.
  ///
  /// - Parameter isDamaged: whether SQLite finds damaged pages. Rows are then not counted.
  /// - Throws: `StoreProblem`.
  package static func all(_ reader: StoreReader, isDamaged: Bool) throws -> [LogProblem] {
    let other = try StoreProblem.translating(reader.url) {
      try foreign(at: reader.url, uuid: reader.metadata.uuid, isDamaged: isDamaged)
    }
    if other != nil || isDamaged { return [other].compactMap { $0 } }
    return try [missing(reader, Files(reader))].compactMap { $0 }
  }
}

/// Logs of other databases.
extension LogProblem {
  /// Compares the log beside a store with the store's main file. Nothing is changed.
  ///
  /// - Parameters:
  ///   - uuid: the identifier of the store as read with its log; nil if it cannot be read.
  ///   - isDamaged: whether SQLite finds damaged pages when it reads the store with the log.
  /// - Returns: nil if there is no contradiction, and if another program has written meanwhile.
  /// - Throws: `SQLiteError`, `FileFailure`, `RegularFile.Problem`.
  package static func foreign(at url: URL, uuid: String?, isDamaged: Bool) throws -> LogProblem? {
    let stamps = StoreFile.stamps(of: url)
    let path = DatabaseFile.target(of: url.path)
    guard let log = try WriteAheadLog(beside: path), log.frameCount > 0 else { return nil }
    let bytes = try DatabaseFile(path: path).firstBytes(100)
    // All pages of a recently created store can be in its log.
    guard bytes.count == 100 else { return nil }
    let header = try SQLiteFileHeader(bytes: bytes, path: path)
    let name = (path as NSString).lastPathComponent
    let reason: String
    if header.pageSize != log.pageSize {
      reason = "its pages have \(log.pageSize) bytes, and those of \(name) have \(header.pageSize)"
    } else if let newest = WriteAheadLog.changeCount(of: bytes), let logged = log.changeCount, newest > logged {
      reason = "it ends before the last change that \(name) has itself"
    } else if let other = foreignUUID(uuid, path) {
      reason = "the store in \(name) has the UUID \(other.file), and the one in the log has \(other.log)"
    } else if isDamaged, isSound(path) {
      reason = "with it the pages contradict each other, and without it they are sound"
    } else {
      return nil
    }
    guard StoreFile.stamps(of: url) == stamps else { return nil }
    return LogProblem(
      kind: .foreign,
      finding: "The log \(name)-wal is not that of \(name): \(reason). SQLite takes it for the store's own.",
      cure:
        "Do not repair the store, and let no program open it to write: SQLite would write pages of the log into it. "
        + "Move \(name)-wal and \(name)-shm to another place, and keep them. Then look for the log that belongs to the "
        + "store: \(Self.places(name)).")
  }

  private static func foreignUUID(_ uuid: String?, _ path: String) -> (file: String, log: String)? {
    guard let uuid, UUID(uuidString: uuid) != nil,
      // A main file that cannot be read without its log has no identifier.
      let connection = try? SQLiteConnection(url: URL(fileURLWithPath: path), mode: .immutable)
    else { return nil }
    // As above; the connection writes nothing, so nothing can be lost.
    defer { try? connection.close() }
    guard let own = try? connection.scalar("SELECT Z_UUID FROM Z_METADATA ORDER BY Z_VERSION DESC LIMIT 1")?.text,
      UUID(uuidString: own) != nil, own != uuid
    else { return nil }
    return (own, uuid)
  }

  /// Whether the main file is an undamaged store without its log.
  private static func isSound(_ path: String) -> Bool {
    // A file that cannot be read counts as damaged.
    guard let connection = try? SQLiteConnection(url: URL(fileURLWithPath: path), mode: .immutable) else {
      return false
    }
    // The connection writes nothing, so nothing can be lost.
    defer { try? connection.close() }
    return (try? connection.hasTable("Z_METADATA")) == true && (try? connection.integrityCheck(limit: 1)) == []
  }

  fileprivate static func places(_ name: String) -> String {
    "a file \(name)-wal beside the original, in its backup, or in the container of the app that it was copied from"
  }
}

/// Missing logs.
extension LogProblem {
  /// Whether the main file of a store was last used with a log, but no log is beside it.
  static func lacksLog(_ url: URL) -> Bool {
    let path = DatabaseFile.target(of: url.path)
    // A file whose header cannot be read gives no hint of a log.
    return (try? SQLiteFileHeader.read(path: path))?.usesWriteAheadLog == true
      && !FileCalls.exists(URL(fileURLWithPath: path + "-wal"))
  }

  /// Returns advice for a main file that is not a store yet.
  static func adviceForEmptyFile(_ url: URL) -> String {
    let name = (DatabaseFile.target(of: url.path) as NSString).lastPathComponent
    return "All of a new store can be in its log: look for \(name)-wal where the file came from, or restore a backup."
  }

  /// The external data files, as evidence of missing rows.
  package struct Files {
    /// The names of files that no row references.
    let orphans: Set<String>
    /// The number of files referenced by rows.
    let used: Int

    /// - Throws: `StoreProblem`.
    package init(_ reader: StoreReader) throws {
      let named = try reader.explaining { try ExternalReferences.names(in: reader.connection) }
      let support = SupportDirectory(store: reader.url)
      // A directory that cannot be read gives no hint of rows.
      let directory = try? support.open()
      let present = ((try? directory?.names()) ?? []).filter { ExternalData.isFileName($0) }
      orphans = Set(present.filter { directory?.isRegularFile($0) ?? false }).subtracting(named)
      used = named.count
    }
  }

  /// Looks for signs that the log of a store was lost: rows that used to exist, external data files without rows, an
  /// index of a missing log.
  ///
  /// - Returns: nil if there are no such signs, and for a store that uses no log.
  /// - Throws: `StoreProblem`.
  package static func missing(_ reader: StoreReader, _ files: Files) throws -> LogProblem? {
    let path = DatabaseFile.target(of: reader.url.path)
    let name = (path as NSString).lastPathComponent
    let (usesLog, log) = try StoreProblem.translating(reader.url) {
      (try SQLiteFileHeader.read(path: path)?.usesWriteAheadLog ?? false, try WriteAheadLog(beside: path))
    }
    guard usesLog, log?.frameCount ?? 0 == 0 else { return nil }
    let hasLog = FileCalls.exists(URL(fileURLWithPath: path + "-wal"))
    let hasIndex = !hasLog && FileCalls.exists(URL(fileURLWithPath: path + "-shm"))
    let keys = try keys(reader)
    let isEmpty = keys.allSatisfy { $0.count == 0 }
    let missing = keys.filter { $0.greatest < $0.kept }
    let orphans = files.orphans.count
    let kind: Kind
    if orphans > 0, isEmpty || orphans > files.used || hasIndex {
      kind = .missing
    } else if isEmpty && hasIndex && !missing.isEmpty {
      kind = .missing
    } else if hasIndex || isEmpty && !missing.isEmpty {
      kind = .uncertain
    } else {
      return nil
    }
    var signs: [String] = []
    if isEmpty { signs.append("\(name) has no rows") }
    if !missing.isEmpty {
      let list = missing.prefix(3).map { "\($0.entity) \($0.kept)" }.joined(separator: ", ")
      let more = missing.count > 3 ? " and others" : ""
      signs.append("rows had greater keys than any that is left (Z_MAX in Z_PRIMARYKEY: \(list)\(more))")
    }
    if orphans > 0 {
      let folder = SupportDirectory(store: reader.url).url.lastPathComponent
      signs.append(
        orphans == 1
          ? "1 file of a large value in \(folder) belongs to no row"
          : "\(CountText.grouped(orphans)) files of large values in \(folder) belong to no row")
    }
    if hasIndex { signs.append("\(name)-shm is there, the index of a log") }
    let state = !hasLog ? "no \(name)-wal is beside it" : "\(name)-wal has no complete transaction"
    let conclusion =
      kind == .missing
      ? "The -wal is probably missing, and with it the last rows."
      : hasIndex
        ? "A -wal without content that was not copied can explain that, and so can one with rows."
        : "Deleted objects can explain that, and so can a -wal that was not copied."
    return LogProblem(
      kind: kind,
      finding: sentence(signs) + ". The store uses a write-ahead log, and \(state). \(conclusion)",
      cure:
        "Look for \(places(name)), and copy it beside the store before any program opens the store. Until then do not "
        + "repair, migrate or save the store, and keep all files beside it.")
  }

  private static func sentence(_ signs: [String]) -> String {
    let text =
      signs.count < 2 ? signs.joined() : signs.dropLast().joined(separator: ", ") + ", and " + (signs.last ?? "")
    // A name keeps its case.
    return text.hasPrefix("rows ") ? "Rows" + text.dropFirst(4) : text
  }

  /// The rows of a table, with their present keys and the greatest key ever used.
  private struct Keys {
    let entity: String
    let count: Int
    let greatest: Int64
    /// `Z_MAX`.
    let kept: Int64
  }

  private static func keys(_ reader: StoreReader) throws -> [Keys] {
    let kept = Dictionary(reader.metadata.primaryKeys.map { ($0.number, $0.maximum) }) { first, _ in first }
    let groups = Dictionary(grouping: reader.entities.filter { $0.table != nil }) { $0.table ?? "" }
    return try reader.explaining {
      try groups.sorted { $0.key < $1.key }.compactMap { table, entities in
        guard reader.catalog.table(named: table) != nil,
          let root = entities.first(where: { $0.layout?.isRoot ?? false })
            ?? entities.min(by: { $0.number < $1.number }),
          let row = try reader.connection.rows("SELECT COUNT(*), MAX(Z_PK) FROM \(SQLName.quoted(table))").first
        else { return nil }
        return Keys(
          entity: root.name, count: Int(row[0].integer ?? 0), greatest: row[1].integer ?? 0,
          kept: kept[root.number] ?? 0)
      }
    }
  }
}
