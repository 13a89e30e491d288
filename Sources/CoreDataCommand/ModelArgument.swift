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
  /// Nil where several versions are there and none is marked as current.
  let currentName: String?
  /// Whether the model is that of a store.
  let isStore: Bool
  /// The version that the argument names after an @.
  private let namedVersion: String?
  /// The versions, each of which is read when it is asked for.
  private let bundle: ModelBundle

  /// Reads a model, MODEL or MODEL@VERSION. Versions that cannot be read, or make no sense, are left out where there are
  /// others.
  /// - Throws: `ModelFileError`; `StoreProblem` where the file is a store that carries no model.
  init(path: String) throws {
    // A file whose own name has an @ in it goes first.
    let mark = FileManager.default.fileExists(atPath: path) ? nil : path.lastIndex(of: "@")
    namedVersion = mark.map { String(path[path.index(after: $0)...]) }
    let url = URL(fileURLWithPath: mark.map { String(path[..<$0]) } ?? path)
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
      bundle = ModelBundle(url: url, name: name, document: model)
      currentName = name
    } else {
      bundle = try ModelBundle(contentsOf: url)
      if bundle.names.count == 1, let only = bundle.versions.first {
        do {
          try only.document.validate()
        } catch let error as ModelFileError {
          throw error.inFile(url)
        }
      }
      currentName = bundle.currentVersionName
    }
  }

  /// The name for messages: that of the file.
  var name: String { url.lastPathComponent }

  /// All versions that can be read, in their order.
  var versions: [Version] { bundle.versions }

  /// The names of all versions in their order, of those too that cannot be read.
  var names: [String] { bundle.names }

  /// The versions as migrations take them: of a single version in a folder of versions all of them.
  /// - Throws: for a model that contradicts itself.
  func modelVersions() throws -> ModelVersions { try ModelVersions(bundle) }

  /// The versions that the argument names, and no others.
  /// - Throws: for a model that contradicts itself.
  func namedVersions() throws -> ModelVersions { try ModelVersions(only: bundle) }

  /// What a reader of the result should know, one sentence each: versions that are left out, and values that are not of
  /// their attribute's type.
  var remarks: [String] { Self.remarks(bundle.unreadable, bundle.warnings) }

  /// The remarks on versions that have been read so far; on all of them where they are few.
  var remarksSoFar: [String] {
    guard names.count > 8 else { return remarks }
    let found = bundle.problemsSoFar
    return Self.remarks(found.unreadable, found.warnings)
  }

  private static func remarks(
    _ unreadable: [(name: String, error: ModelFileError)], _ warnings: [ModelFileError]
  ) -> [String] {
    unreadable.map { "The version \"\($0.name)\" cannot be read and is left out. \($0.error)" }
      + warnings.map(\.description)
  }

  /// Refuses an argument that names one version, where all of them are used.
  /// - Throws: `CommandFailure`.
  func requireNoVersion() throws {
    guard let namedVersion else { return }
    throw CommandFailure(.usage, "All versions of \(name) are used: leave @\(namedVersion) out.")
  }

  /// Refuses a model of which a copy would lack versions.
  /// - Throws: `ModelFileError`, why the first of them cannot be read; as `requireNoVersion()`.
  func requireAllVersions() throws {
    try requireNoVersion()
    if let bad = bundle.unreadable.first { throw bad.error }
  }

  /// A version by name; else the one that the argument names, or the current one.
  /// - Throws: why that version cannot be read; `CommandFailure` that lists the versions there are.
  func version(_ wanted: String?) throws -> Version {
    if let wanted, let namedVersion, wanted != namedVersion {
      throw CommandFailure(
        .usage, "\(name)@\(namedVersion) is one version, and \"\(wanted)\" another: name one of them.")
    }
    let wanted = wanted ?? namedVersion
    if let name = wanted ?? currentName, names.contains(name) {
      return (name, try bundle.document(named: name))
    }
    let versions = self.versions
    let list = versions.map { "\"\($0.name)\"" }.joined(separator: ", ")
    guard let wanted else {
      let reason =
        currentName.map { "the version marked as current, \"\($0)\", is not there" }
        ?? "none of its \(versions.count) versions is marked as current"
      throw CommandFailure(.invalidModel, "\(name): \(reason). Name one of \(list).")
    }
    let likely = Likeness.nearest(to: wanted, among: versions.map(\.name)).map { " Did you mean \"\($0)\"?" } ?? ""
    throw CommandFailure(.invalidModel, "\(name) has no version \"\(wanted)\".\(likely) It has \(list).")
  }

  /// MODEL or MODEL@VERSION.
  static func version(of argument: String) throws -> (model: ModelArgument, version: Version) {
    let model = try ModelArgument(path: argument)
    return (model, try model.version(nil))
  }

  private static func isDatabase(_ url: URL) -> Bool {
    // A directory is no database; what else cannot be read is told by the one who reads the model.
    (try? RegularFile.firstBytes(15, of: url)) == Data("SQLite format 3".utf8)
  }
}
