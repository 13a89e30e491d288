// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataAnalysis
import CoreDataFileSystem
import CoreDataModelFiles
import CoreDataTerminal
import Foundation

/// What a MODEL on the command line stands for: all versions of a source or compiled model, or the model that a store
/// carries.
struct ModelArgument {
  /// A version by name.
  typealias Version = (name: String, document: ModelDocument)

  let url: URL
  let versions: [Version]
  /// Nil where several versions are there and none is marked as current.
  let currentName: String?
  /// Whether the model is that of a store.
  let isStore: Bool

  /// Reads a model, and checks that every version makes sense.
  /// - Throws: `ModelFileError`; `StoreProblem` where the file is a store that carries no model.
  init(path: String) throws {
    let url = URL(fileURLWithPath: path)
    let file = url.lastPathComponent
    self.url = url
    try InputFile.check(url, "model")
    isStore = Self.isDatabase(url)
    if isStore {
      let store = try StoreReader(url: url)
      guard let model = store.metadata.model else {
        throw StoreProblem(
          .unknownVersion,
          store.metadata.modelProblem.map { "The model that \(file) carries cannot be read: \($0)" }
            ?? "\(file) carries no model. Name the model it was made with.")
      }
      let identifier = store.metadata.versionIdentifiers.first { !$0.isEmpty }
      let name = identifier ?? url.deletingPathExtension().lastPathComponent
      versions = [(name, model)]
      currentName = name
    } else {
      let bundle = try ModelBundle(contentsOf: url)
      for version in bundle.versions {
        do {
          try version.document.validate()
        } catch let error as ModelFileError {
          throw error.inFile(bundle.versions.count == 1 ? url : url.appendingPathComponent(version.name))
        }
      }
      versions = bundle.versions
      currentName = bundle.currentVersionName
    }
  }

  /// The name for messages: that of the file.
  var name: String { url.lastPathComponent }

  /// The versions as migrations take them.
  /// - Throws: for a model that contradicts itself.
  func modelVersions() throws -> ModelVersions {
    try ModelVersions(versions, currentName: currentName, url: url)
  }

  /// A version by name, or the current one.
  /// - Throws: `CommandFailure` that lists the versions there are.
  func version(_ wanted: String?) throws -> Version {
    let list = versions.map { "\"\($0.name)\"" }.joined(separator: ", ")
    guard let wanted else {
      if let current = versions.first(where: { $0.name == currentName }) { return current }
      let reason =
        currentName.map { "the version marked as current, \"\($0)\", is not there" }
        ?? "none of its \(versions.count) versions is marked as current"
      throw CommandFailure(.invalidModel, "\(name): \(reason). Name one of \(list).")
    }
    if let found = versions.first(where: { $0.name == wanted }) { return found }
    let likely = Likeness.nearest(to: wanted, among: versions.map(\.name)).map { " Did you mean \"\($0)\"?" } ?? ""
    throw CommandFailure(.invalidModel, "\(name) has no version \"\(wanted)\".\(likely) It has \(list).")
  }

  /// MODEL or MODEL@VERSION.
  static func version(of argument: String) throws -> (model: ModelArgument, version: Version) {
    let path: String
    let wanted: String?
    // A file whose own name has an @ in it goes first.
    if !FileManager.default.fileExists(atPath: argument), let mark = argument.lastIndex(of: "@") {
      path = String(argument[..<mark])
      wanted = String(argument[argument.index(after: mark)...])
    } else {
      path = argument
      wanted = nil
    }
    let model = try ModelArgument(path: path)
    return (model, try model.version(wanted))
  }

  private static func isDatabase(_ url: URL) -> Bool {
    // A directory is no database; what else cannot be read is told by the one who reads the model.
    (try? RegularFile.firstBytes(15, of: url)) == Data("SQLite format 3".utf8)
  }
}
