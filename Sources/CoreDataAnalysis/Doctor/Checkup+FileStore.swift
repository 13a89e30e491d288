// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataFileSystem
import CoreDataStoreFiles
import Foundation

extension Checkup {
  /// Examines an XML or binary store: its file, and with a model its version, the migration path and its content. Nothing
  /// is changed.
  ///
  /// - Parameters:
  ///   - url: the store.
  ///   - model: the model of the app, without which only the file can be examined.
  ///   - copy: makes a private SQLite copy of the store, which the version that wrote it can read.
  /// - Returns: nil for any other file.
  package static func ofFileStore(
    _ url: URL, model: Model?, mappings: [URL] = [], copy: () throws -> URL
  ) -> Checkup? {
    var checkup = Checkup()
    let path = ShellWord.quoted(url.relativePath)
    let summary: FileStoreSummary
    do {
      guard let found = try FileStoreSummary(of: url) else { return nil }
      summary = found
    } catch {
      checkup.add(failure: error, "file")
      return checkup
    }
    checkup.examineUnfinishedWork(url, path)
    let count = summary.objectCounts.values.reduce(0, +)
    checkup.add(
      .ok, "file", "A store of the type \(summary.type.rawValue), with \(count) objects in \(summary.size) bytes.")
    checkup.examinePlace(url)
    guard let model else {
      checkup.add(
        .note, "model", "A store of this type contains no model, without which its content cannot be examined.",
        cure: "Name the model of the app too.")
      return checkup
    }
    let hashes = summary.metadata[NSStoreModelVersionHashesKey] as? [String: Data] ?? [:]
    let identifiers = (summary.metadata[NSStoreModelVersionIdentifiersKey] as? [Any])?.map { String(describing: $0) }
    let match = StoreMatch(
      storeHashes: hashes, storeModel: nil, known: model.versions, identifiers: identifiers ?? [],
      current: model.current)
    guard match.version != nil || hashes.isEmpty else {
      checkup.add(
        .problem, "version",
        "No version of the model wrote the store, so opening it fails with error 134100. \(match.nearestSentence)",
        cure: "See what differs. If a shipped version was edited, restore it.",
        command: "coredata store match \(path) \(ShellWord.quoted(model.path))")
      return checkup
    }
    do {
      let reader = try StoreReader(url: copy())
      if match.version != nil { checkup.examineVersion(of: reader, match, model, mappings, path) }
      checkup.examineContent(
        Result { try StoreVerifier(reader, limit: 1).run() },
        ["coredata", "store", "verify", url.relativePath, model.path])
    } catch {
      checkup.add(failure: error, "content")
    }
    return checkup
  }
}
