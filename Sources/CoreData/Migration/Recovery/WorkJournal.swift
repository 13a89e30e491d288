// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataFileSystem
import Foundation

/// What is going on with a store as a whole, written down in its work folder so that another process can finish or undo it.
///
/// The store itself has one moment of change: the new file gets the store's name. Before it the old store is whole, after
/// it the new one. Whether that moment has come is told by the files: the new one is in the work folder, or it is not.
struct WorkJournal: Codable, Hashable {
  /// How far the work is.
  enum Phase: String, Codable {
    /// Files are made in the work folder; nothing else has been touched.
    case preparing
    /// The new store is complete, and takes the place of the old one.
    case exchanging
  }

  /// What for.
  enum Purpose: String, Codable {
    case migration
    case replacement
    case settingAside
    case restoring
    case destruction
  }

  /// The newest version of this format.
  static let currentVersion = 1

  var version = currentVersion
  var purpose: Purpose
  var phase = Phase.preparing
  /// When the work began.
  let started: Date
  /// The process that does it.
  let process: Int32
  /// The name of the version that the store had.
  var source: String?
  /// The name of the version that it is to have.
  var destination: String?
  /// Files of values that the new store brings along.
  var added: [String] = []
  /// Files of values that only the old store needs.
  var obsolete: [String] = []
  /// Files of values that the old store needs.
  var kept: [String] = []
  /// Where the old store is to stay, as a path from the store's folder; nil where it is not to.
  var keptAt: String?
  /// Why a store was set aside.
  var setAside: SetAsideNote?

  init(purpose: Purpose, source: String? = nil, destination: String? = nil) {
    self.purpose = purpose
    self.source = source
    self.destination = destination
    // To the second, as it is written.
    started = Date(timeIntervalSince1970: Date().timeIntervalSince1970.rounded(.down))
    process = getpid()
  }

  /// Whether the new store has the store's name.
  func isCommitted(_ place: StorePlace) -> Bool { phase == .exchanging && !FileCalls.exists(place.newStore) }

  /// A journal that cannot be read, or that a later version of the framework has written.
  struct Unreadable: Error {
    let path: String
    let reason: String
  }

  /// Reads the journal of a store; nil where there is none.
  static func read(_ place: StorePlace) throws -> WorkJournal? {
    guard FileCalls.exists(place.journalFile) else { return nil }
    let decoder = JSONDecoder()
    decoder.dateDecodingStrategy = .iso8601
    let journal: WorkJournal
    do {
      journal = try decoder.decode(WorkJournal.self, from: Data(contentsOf: place.journalFile))
    } catch {
      throw Unreadable(path: place.journalFile.path, reason: "It cannot be read: \(error)")
    }
    guard journal.version <= currentVersion else {
      throw Unreadable(
        path: place.journalFile.path,
        reason: "It has version \(journal.version), and this framework knows version \(currentVersion).")
    }
    return journal
  }

  /// Writes the journal; it is on the disk when this returns.
  func write(_ place: StorePlace) throws {
    let encoder = JSONEncoder()
    encoder.dateEncodingStrategy = .iso8601
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
    try FileCalls.write(encoder.encode(self), to: place.journalFile)
  }
}
