// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataFileSystem
import Foundation

/// The journal of a store's replacement, in the work directory, with which another process can finish or undo it.
///
/// The store changes atomically, when the new file is renamed to the store's name. Until then the work directory
/// contains the new file.
package struct WorkJournal: Codable, Hashable {
  /// The progress of the work.
  package enum Phase: String, Codable {
    /// Files are created in the work directory; nothing else has been changed.
    case preparing
    /// The new store is complete, and is replacing the old one.
    case exchanging
  }

  package enum Purpose: String, Codable {
    case migration
    case replacement
    case settingAside
    case restoring
    case destruction
  }

  /// The newest version of this format.
  package static let currentVersion = 1

  package var version = currentVersion
  package var purpose: Purpose
  package var phase = Phase.preparing
  /// The time at which the work began.
  package let started: Date
  /// The identifier of the process at work.
  package let process: Int32
  /// The name of the store's version before the work.
  package var source: String?
  /// The name of the store's version after the work.
  package var destination: String?
  /// External data files that come with the new store.
  package var added: [String] = []
  /// External data files that only the old store needs.
  package var obsolete: [String] = []
  /// External data files that the old store needs.
  package var kept: [String] = []
  /// Whether the store's own file is changed. If so, `obsolete` lists the files that no row references after the
  /// transaction.
  package var isInPlace: Bool?
  /// The location where the old store is kept, as a path relative to the store's directory; nil if it is removed.
  package var keptAt: String?
  /// The reason a store was set aside.
  package var setAside: SetAsideNote?

  package init(purpose: Purpose, source: String? = nil, destination: String? = nil) {
    self.purpose = purpose
    self.source = source
    self.destination = destination
    // Rounded to a second, as it is encoded.
    started = Date(timeIntervalSince1970: Date().timeIntervalSince1970.rounded(.down))
    process = getpid()
  }

  /// Whether the new store has the store's name.
  package func isCommitted(_ work: OpenDirectory) -> Bool {
    phase == .exchanging && !work.exists(StoreLocation.newName)
  }

  /// The error for a journal that cannot be read, or that a later version of the framework has written.
  package struct Unreadable: Error {
    package let path: String
    package let reason: String
  }

  /// The size limit for reading and writing a journal, in bytes; each external data file takes 46.
  private static let maxSize = 32 << 20

  /// Reads the journal of a store; nil if there is none.
  ///
  /// - Throws: `Unreadable`, also for names that this framework does not write; `FileFailure`.
  package static func read(_ work: OpenDirectory, _ location: StoreLocation) throws -> WorkJournal? {
    let name = StoreLocation.journalName
    guard work.exists(name) else { return nil }
    let path = work.path(name).path
    let journal: WorkJournal
    do {
      let decoder = JSONDecoder()
      decoder.dateDecodingStrategy = .iso8601
      journal = try decoder.decode(WorkJournal.self, from: work.read(name, limit: maxSize))
    } catch let problem as RegularFile.Problem {
      throw Unreadable(path: path, reason: problem.description)
    } catch let error as DecodingError {
      throw Unreadable(path: path, reason: "It cannot be read: \(error)")
    }
    guard journal.version <= currentVersion else {
      throw Unreadable(
        path: path, reason: "It has version \(journal.version), and this framework knows version \(currentVersion).")
    }
    if let name = journal.foreignName(location) {
      throw Unreadable(
        path: path,
        reason:
          "It names the file '\(name)', which no journal of this framework does. Somebody may want to have "
          + "files removed or replaced; nothing was changed.")
    }
    return journal
  }

  /// Writes the journal and syncs it to disk.
  ///
  /// - Throws: `FileFailure`, also for a journal that would be too large to read.
  package func write(_ work: OpenDirectory) throws {
    let encoder = JSONEncoder()
    encoder.dateEncodingStrategy = .iso8601
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
    let data = try encoder.encode(self)
    guard data.count <= Self.maxSize else {
      throw FileFailure(operation: "write", path: work.path(StoreLocation.journalName).path, number: EFBIG)
    }
    try work.write(data, to: StoreLocation.journalName, mode: 0o600)
  }

  // MARK: Names

  /// Returns a name in the journal that is outside the locations used by this framework; nil if there is none.
  private func foreignName(_ location: StoreLocation) -> String? {
    for names in [added, obsolete, kept] {
      if let name = names.first(where: { !ExternalData.isFileName($0) }) { return name }
    }
    return keptAt.flatMap { Self.isKept($0, location) ? nil : $0 }
  }

  /// Whether a path is a location for replaced stores: `Data~2.sqlite` beside the store, or
  /// `Incompatible/2026-11-21 214503 2/Data.sqlite`.
  private static func isKept(_ path: String, _ location: StoreLocation) -> Bool {
    let parts = path.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
    guard !path.utf8.contains(0) else { return false }
    switch parts.count {
    case 1: return [location.file, location.url].contains { isBackup(parts[0], of: $0) }
    case 3:
      let stamp = parts[1]
      return parts[0] == SetAsideNote.folderName && parts[2] == location.file.lastPathComponent
        && stamp.first?.isWholeNumber == true
        && stamp.utf8.allSatisfy { (0x30...0x39).contains($0) || $0 == 0x2D || $0 == 0x20 }
    default: return false
    }
  }

  private static func isBackup(_ name: String, of store: URL) -> Bool {
    let base = store.deletingPathExtension().lastPathComponent + "~"
    let suffix = store.pathExtension.isEmpty ? "" : ".\(store.pathExtension)"
    guard name.hasPrefix(base), name.hasSuffix(suffix), name.count >= base.count + suffix.count else { return false }
    return name.dropFirst(base.count).dropLast(suffix.count).utf8.allSatisfy { (0x30...0x39).contains($0) }
  }
}

/// The time and reason a store was set aside, written beside it.
package struct SetAsideNote: Codable, Hashable {
  package var version = 1
  package let date: Date
  package let code: Int
  package var reason: String

  /// The name of the directory for the stores of a directory that were set aside.
  package static let folderName = "Incompatible"

  package init(code: Int, reason: String) {
    date = Date(timeIntervalSince1970: Date().timeIntervalSince1970.rounded(.down))
    self.code = code
    self.reason = reason
  }

  package static func name(besideStore name: String) -> String { "\(name)-set-aside.json" }

  /// The size limit for reading a note, in bytes.
  private static let maxSize = 1 << 20

  package func write(in directory: OpenDirectory, besideStore name: String) throws {
    let encoder = JSONEncoder()
    encoder.dateEncodingStrategy = .iso8601
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
    var note = self
    // A reason may contain values of any size.
    note.reason = String(reason.prefix(10_000))
    let mode = (directory.status(name)?.st_mode ?? 0o600) & 0o666 | 0o600
    try directory.write(encoder.encode(note), to: Self.name(besideStore: name), mode: mode)
  }

  /// The error for a note that cannot be read.
  package struct Unreadable: Error {
    package let path: String
    package let reason: String
  }

  /// - Throws: `Unreadable`; `RegularFile.Problem`; `FileFailure`.
  package static func read(in directory: OpenDirectory, besideStore name: String) throws -> SetAsideNote {
    let file = Self.name(besideStore: name)
    do {
      let decoder = JSONDecoder()
      decoder.dateDecodingStrategy = .iso8601
      return try decoder.decode(SetAsideNote.self, from: directory.read(file, limit: maxSize))
    } catch let error as DecodingError {
      throw Unreadable(path: directory.path(file).path, reason: "\(error)")
    }
  }
}
