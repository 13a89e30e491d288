// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataAnalysis
import CoreDataFileSystem
import CoreDataModelFiles
import CoreDataTerminal
import Foundation

/// The model given by a MODEL argument: all versions of a source or compiled model, the model contained in a store, or
/// the schemas of a SwiftData migration plan that is linked into the tool.
struct ModelArgument {
  typealias Version = (name: String, document: ModelDocument)

  let url: URL
  /// The name of the current version; nil if there are several versions and none is marked as current.
  let currentName: String?
  /// The model, if it is declared in code; its location is that of a file of its name, which does not exist.
  let inCode: ModelInCode?
  /// Whether the model comes from a store.
  let isStore: Bool
  /// The version after an @ in the argument.
  private let namedVersion: String?
  /// The versions, each read on first use.
  private let bundle: ModelBundle

  /// Reads MODEL or MODEL@VERSION. Versions that are unreadable or invalid are skipped if there are others.
  /// - Throws: `ModelFileError`; `StoreProblem` if the file is a store without a model.
  init(path: String) throws {
    // A file whose name contains the @ takes precedence.
    let mark = FileManager.default.fileExists(atPath: path) ? nil : path.lastIndex(of: "@")
    namedVersion = mark.map { String(path[path.index(after: $0)...]) }
    let url = URL(fileURLWithPath: mark.map { String(path[..<$0]) } ?? path)
    let file = url.lastPathComponent
    self.url = url
    inCode = try ModelInCode(argument: mark.map { String(path[..<$0]) } ?? path)
    if let inCode {
      bundle = ModelBundle(url: url, versions: inCode.versions)
      (currentName, isStore) = (bundle.currentVersionName, false)
      return
    }
    try InputFile.check(url, "model")
    isStore = Self.isDatabase(url)
    if isStore {
      let store = try StoreReader(url: url)
      guard let model = store.metadata.model else {
        throw StoreProblem(
          .unknownVersion,
          store.metadata.modelProblem.map { "The model in \(file) cannot be read: \($0)" }
            ?? "\(file) contains no model. Name the model it was created with.")
      }
      let identifier = store.metadata.versionIdentifiers.first { !$0.isEmpty }
      let name = identifier ?? url.deletingPathExtension().lastPathComponent
      bundle = ModelBundle(url: url, versions: [(name, model)])
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

  /// The name of the file, for messages.
  var name: String { url.lastPathComponent }

  /// The bundle of the versions; for a single version, the bundle that contains it, if there is one.
  var bundleURL: URL {
    let folder = url.deletingLastPathComponent()
    return ["xcdatamodeld", "momd"].contains(folder.pathExtension) ? folder : url
  }

  /// All readable versions, in order.
  var versions: [Version] { bundle.versions }

  /// The names of all versions in order, including unreadable ones.
  var names: [String] { bundle.names }

  /// Returns the versions to migrate between: for a single version in a directory of versions, all of them.
  /// - Throws: `ModelFileError` for an invalid model.
  func modelVersions() throws -> ModelVersions { try ModelVersions(bundle) }

  /// Returns only the versions given by the argument.
  /// - Throws: `ModelFileError` for an invalid model.
  func namedVersions() throws -> ModelVersions { try ModelVersions(only: bundle) }

  /// Remarks on the model: skipped versions, and default values that do not match their attribute's type. A problem
  /// shared by several versions or properties is one remark.
  var remarks: [String] { Self.remarks(bundle.unreadable, bundle.warnings) }

  /// The same remarks, with one for each place.
  var allRemarks: [String] {
    Self.remarks(onUnreadable: bundle.unreadable) + bundle.warnings.map(\.description)
  }

  /// The remarks on the versions read so far, or on all versions if they are few.
  var remarksSoFar: [String] {
    guard names.count > 8 else { return remarks }
    let found = bundle.problemsSoFar
    return Self.remarks(found.unreadable, found.warnings)
  }

  private static func remarks(
    _ unreadable: [(name: String, error: ModelFileError)], _ warnings: [ModelFileError]
  ) -> [String] {
    var counts: [[String]: Int] = [:]
    for warning in warnings { counts[[warning.found, warning.advice], default: 0] += 1 }
    let summaries = warnings.compactMap { warning -> String? in
      guard let count = counts.removeValue(forKey: [warning.found, warning.advice]) else { return nil }
      let others = count == 1 ? "" : " The same was found in \(NumberText.counted(count - 1, "other place"))."
      return warning.description + others
    }
    return remarks(onUnreadable: unreadable) + summaries
  }

  private static func remarks(onUnreadable versions: [(name: String, error: ModelFileError)]) -> [String] {
    versions.map { "The version \"\($0.name)\" cannot be read and is skipped. \($0.error)" }
  }

  /// Throws an error if the argument names one version of a model whose versions are all used.
  /// - Throws: `CommandFailure`.
  func requireNoVersion() throws {
    guard let namedVersion else { return }
    throw CommandFailure(.usage, "This command uses all versions of \(name). Omit @\(namedVersion).")
  }

  /// Throws an error if the version that the model marks as current does not exist and the argument names no other.
  /// - Throws: `CommandFailure`.
  func requireCurrentVersion() throws {
    guard namedVersion == nil, let currentName, !names.contains(currentName) else { return }
    let list = names.map { "\"\($0)\"" }.joined(separator: ", ")
    throw CommandFailure(
      .invalidModel,
      "\(name): the version marked as current, \"\(currentName)\", is missing. Mark one of \(list) in Xcode, or restore "
        + "the missing one from version control.")
  }

  /// Throws an error if a copy of the model would lack versions.
  /// - Throws: The `ModelFileError` of the first unreadable version; the errors of `requireNoVersion()`.
  func requireAllVersions() throws {
    try requireNoVersion()
    if let bad = bundle.unreadable.first { throw bad.error }
  }

  /// Returns a version by name, or the version given by the argument, or the current one.
  /// - Throws: The `ModelFileError` of the version; a `CommandFailure` that lists the versions.
  func version(_ wanted: String?) throws -> Version {
    if let wanted, let namedVersion, wanted != namedVersion {
      throw CommandFailure(.usage, "\(name)@\(namedVersion) and \"\(wanted)\" are two versions. Name only one.")
    }
    let wanted = wanted ?? namedVersion
    if let name = wanted ?? currentName, names.contains(name) {
      return (name, try bundle.document(named: name))
    }
    let versions = self.versions
    let list = versions.map { "\"\($0.name)\"" }.joined(separator: ", ")
    guard let wanted else {
      let reason =
        currentName.map { "the version marked as current, \"\($0)\", is missing" }
        ?? "none of its \(versions.count) versions is marked as current"
      throw CommandFailure(.invalidModel, "\(name): \(reason). Name one of \(list).")
    }
    let likely = Likeness.nearest(to: wanted, among: versions.map(\.name)).map { " Did you mean \"\($0)\"?" } ?? ""
    throw CommandFailure(.invalidModel, "\(name) has no version \"\(wanted)\".\(likely) It has \(list).")
  }

  /// Reads MODEL or MODEL@VERSION.
  static func version(of argument: String) throws -> (model: ModelArgument, version: Version) {
    let model = try ModelArgument(path: argument)
    return (model, try model.version(nil))
  }

  private static func isDatabase(_ url: URL) -> Bool {
    // A directory is not a database. Reading the model reports other errors.
    (try? RegularFile.firstBytes(15, of: url)) == Data("SQLite format 3".utf8)
  }
}

/// Checks of a path on the command line before it is read.
enum InputFile {
  /// Throws an error for a FIFO, a socket or a device, since reading one could block forever.
  ///
  /// - Throws: `CommandFailure`. A directory and a missing file pass.
  static func check(_ url: URL, _ what: String) throws {
    do {
      try RegularFile.check(url)
    } catch let problem as RegularFile.Problem {
      // A model or a mapping model may be a directory.
      guard case .notRegular(let path, let kind) = problem, kind != "a directory" else { return }
      throw CommandFailure(.invalidModel, "'\(path)' is \(kind), not a \(what). Check the path.")
    }
  }
}

/// A model written by a command, and the report about it.
struct MadeModel {
  let url: URL
  let current: String
  let versions: [ModelArgument.Version]
  /// Whether the file can hold several versions.
  let isBundle: Bool

  /// Writes the model given by a command's MODEL in another form, and reports it.
  ///
  /// - Parameters:
  ///   - kind: The kind of file, for messages.
  ///   - bundle: The extension of a file with all versions.
  ///   - version: The extension of a file with one version.
  ///   - format: The name of the report's JSON format.
  ///   - writeBundle: Writes all versions, and marks the named one as current.
  ///   - writeVersion: Writes one version.
  static func make(
    _ kind: String, bundle: String, version: String, format: String, _ invocation: CommandInvocation,
    writeBundle: ([ModelArgument.Version], _ current: String, URL) throws -> Void,
    writeVersion: (ModelDocument, URL) throws -> Void
  ) throws {
    let wanted = invocation.arguments.value("version")
    let file = try NewFile(invocation, kind, extensions: bundle, version)
    let isBundle = file.url.pathExtension == bundle
    guard !isBundle || wanted == nil else {
      throw CommandFailure(
        .usage, "An .\(bundle) holds all versions. Omit --version, or choose the extension .\(version).")
    }
    let model = try invocation.model()
    let current = try model.version(wanted)
    if isBundle {
      try model.requireAllVersions()
      try writeBundle(model.versions, current.name, file.url)
    } else {
      try writeVersion(current.document, file.url)
    }
    let made = MadeModel(
      url: file.url, current: current.name, versions: isBundle ? model.versions : [current], isBundle: isBundle)
    try made.write(format, invocation)
  }

  /// Writes the report.
  func write(_ format: String, _ invocation: CommandInvocation) throws {
    invocation.result.workDone = "\(url.lastPathComponent) was written."
    guard invocation.options.format != .json else {
      return try invocation.write(
        [
          "format": .string(format), "model": .string(url.path), "current": .string(current),
          "versions": .array(
            versions.map {
              [
                "name": .string($0.name), "entities": .integer($0.document.entities.count),
                "checksum": .string(VersionHashes($0.document).checksum),
              ]
            }),
        ])
    }
    let entities = versions.first.map { NumberText.counted($0.document.entities.count, "entity", "entities") } ?? ""
    let content =
      isBundle
      ? "\(NumberText.counted(versions.count, "version")), current \(current)" : "\(current), \(entities)"
    try invocation.result.write("\(url.lastPathComponent): \(content)\n")
  }
}
