// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataFileSystem
import CoreDataMigration
import CoreDataModelFiles
import CoreDataStoreFiles
import Foundation

extension Checkup {
  /// Examines a store in a server: the server, the role, the schema, and with a model the version and the migration path.
  /// Nothing is changed. Rows are not read; `store verify` does that.
  ///
  /// - Parameters:
  ///   - url: the store.
  ///   - model: the model of the app; nil to examine the store by itself.
  ///   - copy: makes a private copy of the store without rows, for its version.
  package static func ofServerStore(
    _ url: URL, _ kind: any ServerStore.Type, model: Model?, mappings: [URL] = [], copy: () throws -> URL
  ) -> Checkup {
    var checkup = Checkup()
    let path = ShellWord.quoted(url.locationText)
    do {
      // Other servers have nothing to examine but the schema.
      let findings =
        try (kind as? any AdministeredStore.Type)?.examine(at: url)
        ?? kind.problems(at: url).map { ServerFinding(.problem, "schema", $0.text, cure: $0.cure) }
      for finding in findings {
        let level: Level =
          switch finding.level {
          case .ok: .ok
          case .note: .note
          case .problem: .problem
          }
        checkup.add(level, finding.subject, finding.text, cure: finding.cure)
      }
      guard try kind.hasStore(at: url) else {
        if checkup.isHealthy {
          checkup.add(.problem, "store", "There is no store at \(url.locationText).", cure: "Check the URL.")
        }
        return checkup
      }
    } catch {
      checkup.add(failure: error, "server")
      return checkup
    }
    do {
      let reader = try StoreReader(url: copy())
      guard let model else {
        checkup.add(.ok, "content", "The rows were not read.", command: "coredata store verify \(path)")
        return checkup
      }
      let match = StoreMatch(
        storeHashes: reader.metadata.hashes, storeModel: reader.metadata.model, known: model.versions,
        identifiers: reader.metadata.versionIdentifiers, current: model.current)
      checkup.examineVersion(of: reader, rowsIn: ServerRows(of: url, kind), match, model, mappings, path)
    } catch {
      checkup.add(failure: error, "model in the store")
    }
    return checkup
  }

  mutating func add(failure: any Error, _ subject: String) {
    let failure = failure as NSError
    let reason = failure.localizedFailureReason ?? "\(failure)"
    let isCocoa = failure.domain == NSCocoaErrorDomain
    add(
      .problem, subject, reason, cure: isCocoa ? failure.localizedRecoverySuggestion : nil,
      command: isCocoa ? ErrorPage(text: String(failure.code)).map { "coredata explain \($0.code)" } : nil)
  }
}
