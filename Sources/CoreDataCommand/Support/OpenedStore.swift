// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataAnalysis
import CoreDataFileSystem
import CoreDataModelFiles
import CoreDataStoreFiles
import CoreDataTerminal
import Foundation

/// A store opened by a command, with its own model or one given on the command line.
struct OpenedStore {
  let reader: StoreReader
  /// The location of the store. The reader of a store on a server reads a private copy.
  let address: StoreAddress
  /// The version of the named model that wrote the store; nil if no model was named.
  let versionName: String?
  /// The version as text, with all versions whose hashes are equal.
  let versionText: String?

  /// The facts available without a model from an XML or binary store, of which the reader reads a private copy; nil for
  /// other stores.
  let summary: FileStoreSummary?

  /// Opens STORE, with `--model` if given.
  init(_ invocation: CommandInvocation) throws {
    try self.init(invocation, invocation.arguments.argument("STORE"), model: invocation.arguments.value("model"))
  }

  /// Opens a store with the version of a model that wrote it, or with its own model.
  init(_ invocation: CommandInvocation, _ argument: String, model path: String?) throws {
    if case .file(let url) = try StoreAddress(argument), let summary = try FileStoreSummary(of: url) {
      self.summary = summary
      address = .file(url)
      guard let path else {
        let command = ["coredata"] + invocation.arguments.specification.path + [argument]
        let hasOption = invocation.arguments.specification.options.contains { $0.name == "model" }
        throw CommandFailure(
          .unreadableStore,
          "\(url.lastPathComponent) is a store of the type \(summary.type.rawValue), which contains no model. Name the one it "
            + "was created with.",
          advice: [ShellWord.line(command + (hasOption ? ["--model", "MODEL"] : ["MODEL"]))])
      }
      let version = try invocation.fileModel(path, of: url, summary)
      let copy = try invocation.copies.copy(url, summary, version.model, configuration: version.configuration)
      reader = try StoreReader(url: copy, model: version.document)
      versionName = version.name
      versionText = versionName
      return
    }
    summary = nil
    let located = try invocation.located(argument, model: path)
    let url = located.file
    address = located.address
    guard let path else {
      reader = try StoreReader(url: url, allowsMissingMetadata: true)
      (versionName, versionText) = (nil, nil)
      return
    }
    let plain = try StoreReader(url: url, allowsMissingMetadata: true)
    (reader, versionName, versionText) = try invocation.withModel(path) { model -> (StoreReader, String?, String?) in
      try model.requireNoVersion()
      let match = StoreMatch(
        storeHashes: plain.metadata.hashes, storeModel: plain.metadata.model, known: try model.namedVersions(),
        identifiers: plain.metadata.versionIdentifiers, current: model.currentName)
      guard let name = match.version else {
        if plain.metadata.isMissing, let (reader, name) = try Self.fitting(url, model) { return (reader, name, name) }
        throw CommandFailure(
          .unreadableStore,
          "No version of \(model.name) wrote \(url.lastPathComponent). \(match.nearestSentence)",
          advice: ["To see the differences:  \(ShellWord.line(["coredata", "store", "match", argument, path]))"]
        )
      }
      return (try StoreReader(plain, model: try model.version(name).document), name, match.versionText)
    }
  }

  /// Reads a store without metadata, with the first version whose tables match, beginning with the current one.
  private static func fitting(_ url: URL, _ model: ModelArgument) throws -> (StoreReader, String)? {
    for name in order(of: model) {
      let reader = try StoreReader(url: url, model: model.version(name).document, allowsMissingMetadata: true)
      let names = Set(reader.metadata.primaryKeys.filter { $0.number <= PrimaryKeyRow.maxEntityNumber }.map(\.name))
      if reader.schema != nil, names == Set(reader.entityNames) { return (reader, name) }
    }
    return nil
  }

  /// Returns the names of the versions: the current one, then the others from the last to the first.
  private static func order(of model: ModelArgument) -> [String] {
    model.names.filter { $0 == model.currentName } + model.names.reversed().filter { $0 != model.currentName }
  }

  /// Writes the remarks on the store to standard error.
  func remark(_ invocation: CommandInvocation) {
    for text in reader.remarks { invocation.remark(text) }
  }
}
