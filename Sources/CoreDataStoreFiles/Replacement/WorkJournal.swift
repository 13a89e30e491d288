// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataFileSystem
import Foundation

/// What is going on with a store as a whole, written down in its work folder so that another process can finish or undo it.
///
/// The store itself has one moment of change: the new file gets the store's name. Before it the old store is whole, after
/// it the new one. Whether that moment has come is told by the files: the new one is in the work folder, or it is not.
package struct WorkJournal: Codable, Hashable {
  /// How far the work is.
  package enum Phase: String, Codable {
    /// Files are made in the work folder; nothing else has been touched.
    case preparing
    /// The new store is complete, and takes the place of the old one.
    case exchanging
  }

  /// What for.
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
  /// When the work began.
  package let started: Date
  /// The process that does it.
  package let process: Int32
  /// The name of the version that the store had.
  package var source: String?
  /// The name of the version that it is to have.
  package var destination: String?
  /// Files of values that the new store brings along.
  package var added: [String] = []
  /// Files of values that only the old store needs.
  package var obsolete: [String] = []
  /// Files of values that the old store needs.
  package var kept: [String] = []
  /// Whether the store's own file is changed. Then `obsolete` are the files that nothing names after its transaction.
  package var isInPlace: Bool?
  /// Where the old store is to stay, as a path from the store's folder; nil where it is not to.
  package var keptAt: String?
  /// Why a store was set aside.
  package var setAside: SetAsideNote?

  package init(purpose: Purpose, source: String? = nil, destination: String? = nil) {
    self.purpose = purpose
    self.source = source
    self.destination = destination
    // To the second, as it is written.
    started = Date(timeIntervalSince1970: Date().timeIntervalSince1970.rounded(.down))
    process = getpid()
  }

  /// Whether the new store has the store's name.
  package func isCommitted(_ work: OpenDirectory) -> Bool { phase == .exchanging && !work.exists(StoreLocation.newName) }

  /// A journal that cannot be read, or that a later version of the framework has written.
  package struct Unreadable: Error {
    package let path: String
    package let reason: String

    package init(
      path: String, reason: String
    ) {
      self.path = path
      self.reason = reason
    }
  }

  /// The largest journal that is read or written, in bytes; a file of a value takes 46.
  private static let greatestSize = 32 << 20

  /// Reads the journal of a store; nil where there is none.
  ///
  /// - Throws: `Unreadable`, also for names that this framework does not write; `FileFailure`.
  package static func read(_ work: OpenDirectory, _ place: StoreLocation) throws -> WorkJournal? {
    let name = StoreLocation.journalName
    guard work.exists(name) else { return nil }
    let path = work.path(name).path
    let journal: WorkJournal
    do {
      let decoder = JSONDecoder()
      decoder.dateDecodingStrategy = .iso8601
      journal = try decoder.decode(WorkJournal.self, from: work.read(name, limit: greatestSize))
    } catch let problem as RegularFile.Problem {
      throw Unreadable(path: path, reason: problem.description)
    } catch let error as DecodingError {
      throw Unreadable(path: path, reason: "It cannot be read: \(error)")
    }
    guard journal.version <= currentVersion else {
      throw Unreadable(
        path: path, reason: "It has version \(journal.version), and this framework knows version \(currentVersion).")
    }
    if let name = journal.foreignName(place) {
      throw Unreadable(
        path: path,
        reason:
          "It names the file '\(name)', as no journal of this framework does. It may come from somebody who wants "
          + "files removed or replaced; nothing was touched.")
    }
    return journal
  }

  /// Writes the journal; it is on the disk when this returns.
  ///
  /// - Throws: `FileFailure`, also for a journal that would be too large to be read.
  package func write(_ work: OpenDirectory) throws {
    let encoder = JSONEncoder()
    encoder.dateEncodingStrategy = .iso8601
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
    let data = try encoder.encode(self)
    guard data.count <= Self.greatestSize else {
      throw FileFailure(operation: "write", path: work.path(StoreLocation.journalName).path, number: EFBIG)
    }
    try work.write(data, to: StoreLocation.journalName, mode: 0o600)
  }

  // MARK: Names

  /// A name in the journal that leads out of the places which this framework uses; nil where there is none.
  private func foreignName(_ place: StoreLocation) -> String? {
    for names in [added, obsolete, kept] {
      if let name = names.first(where: { !ExternalData.isFileName($0) }) { return name }
    }
    return keptAt.flatMap { Self.isKept($0, place) ? nil : $0 }
  }

  /// Whether a path is one under which a replaced store stays: `Data~2.sqlite` beside the store, or
  /// `Incompatible/2026-11-21 214503 2/Data.sqlite`.
  private static func isKept(_ path: String, _ place: StoreLocation) -> Bool {
    let parts = path.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
    guard !path.utf8.contains(0) else { return false }
    switch parts.count {
    case 1: return [place.file, place.url].contains { isBackup(parts[0], of: $0) }
    case 3:
      let stamp = parts[1]
      return parts[0] == SetAsideNote.folderName && parts[2] == place.file.lastPathComponent
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
