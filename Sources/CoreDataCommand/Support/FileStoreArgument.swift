// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataAnalysis
import CoreDataFileSystem
import CoreDataModelFiles
import CoreDataStoreFiles
import CoreDataTerminal
import Foundation

/// The version of a model that wrote an XML or binary store, which contains no model.
struct FittingVersion {
  let name: String
  let document: ModelDocument
  let model: NSManagedObjectModel
  /// The configuration of the store; nil for all entities.
  let configuration: String?
}

extension ModelArgument {
  /// Returns the version that wrote an XML or binary store, the current one if several could have; nil if none fits. Of
  /// a store without version hashes, that is the first version.
  ///
  /// - Throws: the errors of reading the model.
  func version(fitting summary: FileStoreSummary) throws -> FittingVersion? {
    let hasHashes = summary.metadata[NSStoreModelVersionHashesKey] != nil
    for name in names.filter({ $0 == currentName }) + names.reversed().filter({ $0 != currentName }) {
      let document = try version(name).document
      let model = try NSManagedObjectModel(document: document)
      let fitting = hasHashes ? model.configurationNames(fitting: summary.metadata) : [nil]
      guard let configuration = fitting.first else { continue }
      return FittingVersion(name: name, document: document, model: model, configuration: configuration)
    }
    return nil
  }
}

extension CommandInvocation {
  /// Returns the version of a model that wrote an XML or binary store, and a note if that is a guess.
  ///
  /// - Parameter path: the model; nil if none was named.
  /// - Throws: `CommandFailure` if no model was named, or if none of its versions wrote the store.
  func fileModel(_ path: String?, of url: URL, _ summary: FileStoreSummary) throws -> FittingVersion {
    let name = url.lastPathComponent
    guard let path else {
      let hasOption = arguments.specification.options.contains { $0.name == "model" }
      throw CommandFailure(
        .unreadableStore,
        "\(name) is a store of the type \(summary.type.rawValue), which contains no model. "
          + (hasOption
            ? "Name the one it was created with: --model MODEL."
            : "Look for the model it was created with in old versions of the app."))
    }
    return try withModel(path) { model in
      try model.requireNoVersion()
      guard let version = try model.version(fitting: summary) else {
        throw CommandFailure(
          .unreadableStore, "No version of \(model.name) wrote \(name).",
          advice: ["To see the differences:  \(ShellWord.line(["coredata", "store", "match", url.relativePath, path]))"]
        )
      }
      if summary.metadata[NSStoreModelVersionHashesKey] == nil {
        remark("\(name) has no version hashes. It is read with the version \(version.name) of \(model.name).")
      }
      return version
    }
  }
}

/// What the metadata of a store says about the version that wrote it.
struct StoreSignature {
  /// The name of the store's file.
  let name: String
  let hashes: [String: Data]
  /// The model in the store; nil if it contains none.
  let model: ModelDocument?
  let identifiers: [String]
  /// Whether it is an XML or binary store, which can only be read with the model that it was written with.
  let needsModel: Bool
  /// A stage of a staged migration that is not finished; nil if there is none.
  let unfinishedStage: BegunStage?

  init(_ reader: StoreReader) {
    needsModel = false
    name = reader.url.lastPathComponent
    (hashes, model) = (reader.metadata.hashes, reader.metadata.model)
    identifiers = reader.metadata.versionIdentifiers
    unfinishedStage = reader.metadata.unfinishedStage
  }

  init(_ summary: FileStoreSummary, of url: URL) {
    needsModel = true
    name = url.lastPathComponent
    hashes = summary.metadata[NSStoreModelVersionHashesKey] as? [String: Data] ?? [:]
    (model, unfinishedStage) = (nil, nil)
    identifiers = (summary.metadata[NSStoreModelVersionIdentifiersKey] as? [Any])?.map { String(describing: $0) } ?? []
  }

  /// Returns which version of a model wrote the store.
  ///
  /// - Parameter current: the name of the current version.
  /// - Throws: the errors of reading the model.
  func match(_ model: ModelArgument, current: String?) throws -> StoreMatch {
    StoreMatch(
      storeHashes: hashes, storeModel: self.model, known: try model.namedVersions(), identifiers: identifiers,
      current: current)
  }
}
