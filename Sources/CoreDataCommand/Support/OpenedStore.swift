// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataAnalysis
import CoreDataFileSystem
import CoreDataModelFiles
import CoreDataTerminal
import Foundation

/// A store opened by a command, with the model of the command line or its own.
struct OpenedStore {
  let reader: StoreReader
  /// Where the store is; the reader of a store in a server reads a private copy.
  let place: StorePlace
  /// The version of the named model that wrote the store; nil if no model was named.
  let versionName: String?

  /// Opens STORE, with `--model` if given.
  init(_ invocation: CommandInvocation) throws {
    try self.init(invocation, invocation.arguments.argument("STORE"), model: invocation.arguments.value("model"))
  }

  /// Opens a store with the version of a model that wrote it, or with its own model.
  init(_ invocation: CommandInvocation, _ argument: String, model path: String?) throws {
    let located = try invocation.located(argument, model: path)
    let url = located.file
    place = located.place
    guard let path else {
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
          advice: ["To see the differences:  \(ShellWord.line(["coredata", "store", "match", argument, path]))"]
        )
      }
      return (try StoreReader(url: url, model: try model.version(name).document), name)
    }
  }

  /// Writes the remarks on the store to standard error.
  func remark(_ invocation: CommandInvocation) {
    for text in reader.remarks { invocation.remark(text) }
  }
}
