// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataAnalysis
import CoreDataModelFiles
import CoreDataTerminal
import Foundation

/// A store that a command reads, with the model named on the command line, or its own.
struct OpenedStore {
  let reader: StoreReader
  /// The version of the named model that wrote the store; nil where no model was named.
  let versionName: String?

  /// Opens STORE, with `--model` where it was given.
  init(_ invocation: CommandInvocation) throws {
    let url = invocation.url("STORE")
    guard let path = invocation.arguments.value("model") else {
      reader = try StoreReader(url: url)
      versionName = nil
      return
    }
    let plain = try StoreReader(url: url)
    (reader, versionName) = try invocation.withModel(path) { model in
      try model.requireNoVersion()
      let match = StoreMatch(
        storeHashes: plain.metadata.hashes, storeModel: plain.metadata.model, known: try model.namedVersions(),
        identifiers: plain.metadata.versionIdentifiers, current: model.currentName)
      guard let name = match.version else {
        throw CommandFailure(
          .unreadableStore,
          "No version of \(model.name) wrote \(url.lastPathComponent). \(match.nearestSentence)",
          advice: ["To see what differs:  coredata store match \(url.relativePath) \(path)"])
      }
      return (try StoreReader(url: url, model: try model.version(name).document), name)
    }
  }

  /// Says on standard error what a reader of the result should know.
  func remark(_ invocation: CommandInvocation) {
    for text in reader.remarks { invocation.remark(text) }
  }
}
