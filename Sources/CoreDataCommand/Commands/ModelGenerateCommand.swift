// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataFileSystem
import CoreDataModelFiles
import CoreDataSourceCode
import CoreDataTerminal
import Foundation

/// `coredata model generate`
enum ModelGenerateCommand: Command {
  static let specification = CommandSpecification(
    ["model", "generate"], summary: "Write Swift classes for the entities of a model.",
    discussion:
      "For each entity the model says what is generated: the class, an extension with its properties, or nothing. Only "
      + "files that the command has written before are replaced.\n\n"
      + "With --swiftdata, the source of a SwiftData schema is written: a VersionedSchema with the version hashes of the "
      + "model, for an app that shipped without one. MODEL is a store of the app, as a rule. Comments in the source say "
      + "which types were guessed. It goes to the standard output, or to the new file FILE.swift of -o.",
    positionals: [.model],
    options: [
      OptionSpecification(
        "output", short: "o", .path("DIR", .outputDirectory),
        summary: "The directory for the files; created if there is none."),
      .flag("swiftdata", summary: "Write the source of a SwiftData schema instead."),
      OptionSpecification(
        "name", .text("NAME"), summary: "With --swiftdata: the name of the schema (default: by the version, SchemaV1)."),
      OptionSpecification("version", .text("V"), summary: "The version (default: the current one)."),
      OptionSpecification(
        "access", .oneOf(GeneratedClasses.Access.allCases.map(\.rawValue)),
        summary: "The access level of classes and properties (default: public)."),
      .flag("all", summary: "Also write classes for entities without code generation."),
      .flag("strict", summary: "Required attributes and to-one relationships are not optional."),
      .flag(
        "check", summary: "Write nothing; exit with 1 if a file is missing, differs or is no longer needed."),
      .format(.text, .json),
    ])

  static func run(_ invocation: CommandInvocation) throws -> ExitStatus {
    if invocation.arguments.flag("swiftdata") { return try writeSchema(invocation) }
    guard invocation.arguments.value("name") == nil else {
      throw CommandFailure(.usage, "--name names the schema of --swiftdata.")
    }
    guard let path = invocation.arguments.value("output") else {
      throw CommandFailure(.usage, "Name the directory for the files with -o DIR.")
    }
    let model = try invocation.model()
    let version = try model.version(invocation.arguments.value("version"))
    var options = GeneratedClasses.Options()
    if let access = invocation.arguments.value("access").flatMap(GeneratedClasses.Access.init) {
      options.access = access
    }
    options.includesManual = invocation.arguments.flag("all")
    options.isStrict = invocation.arguments.flag("strict")
    let classes = GeneratedClasses(version.document, origin: model.name, options: options)
    for remark in classes.remarks { invocation.remark(remark) }
    let directory = GeneratedDirectory(URL(fileURLWithPath: path), mark: GeneratedClasses.mark(model.name))
    let changes = try directory.changes(for: classes.files)
    let isCheck = invocation.arguments.flag("check")
    if !isCheck, !changes.isEmpty {
      try directory.apply(changes)
      invocation.result.workDone = "The classes were written to \(path)."
    }
    try write(changes, count: classes.files.count, isCheck: isCheck, invocation)
    return isCheck && !changes.isEmpty ? .no : .done
  }

  private static func write(
    _ changes: [GeneratedDirectory.Change], count: Int, isCheck: Bool, _ invocation: CommandInvocation
  ) throws {
    guard invocation.options.format != .json else {
      return try invocation.write([
        "format": .string("coredata.model-generate/1"), "files": .integer(count), "isCheck": .bool(isCheck),
        "changes": .array(changes.map { ["file": .string($0.name), "change": .string($0.kind.rawValue)] }),
      ])
    }
    var report = invocation.report()
    for change in changes { report.line("\(change.kind.rawValue)  \(change.name)") }
    let files = NumberText.counted(count, "file")
    report.line(
      changes.isEmpty
        ? "\(files), all up to date."
        : isCheck ? "\(files), \(changes.count) to be written or removed." : "\(files), \(changes.count) changed.")
    try invocation.write(report)
  }
}

/// A directory with generated files.
struct GeneratedDirectory {
  /// A change of a file.
  struct Change {
    enum Kind: String {
      case added, changed, removed
    }

    let name: String
    let kind: Kind
    /// The new content; nil for a removed file.
    let text: String?
  }

  let url: URL
  /// The first line of generated files.
  let mark: String

  init(_ url: URL, mark: String) {
    self.url = url
    self.mark = mark
  }

  /// Returns the changes that leave exactly these generated files in the directory. Other files do not matter.
  /// - Throws: `CommandFailure` if a file with the name of a generated one was written by hand, or if the directory
  ///   cannot exist.
  func changes(for files: [GeneratedClasses.File]) throws -> [Change] {
    try checkPlace()
    var changes: [Change] = []
    for file in files {
      guard let present = try text(of: file.name) else {
        changes.append(Change(name: file.name, kind: .added, text: file.text))
        continue
      }
      guard present != file.text else { continue }
      guard present.hasPrefix(mark) else {
        throw CommandFailure(
          .usage, "\(url.appendingPathComponent(file.name).path) exists, and was not generated from this model.",
          advice: ["Remove it, or choose another directory."])
      }
      changes.append(Change(name: file.name, kind: .changed, text: file.text))
    }
    let names = Set(files.map(\.name))
    for name in try present() where !names.contains(name) {
      // Links, directories and special files were not generated.
      guard FileCalls.isRegular(url.appendingPathComponent(name)) else { continue }
      guard try text(of: name)?.hasPrefix(mark) == true else { continue }
      changes.append(Change(name: name, kind: .removed, text: nil))
    }
    return changes
  }

  /// Writes and removes files.
  func apply(_ changes: [Change]) throws {
    try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    for change in changes {
      let file = url.appendingPathComponent(change.name)
      if let text = change.text {
        try Data(text.utf8).write(to: file, options: .atomic)
      } else {
        try FileManager.default.removeItem(at: file)
      }
    }
  }

  private func checkPlace() throws {
    var place = url.standardizedFileURL
    while !FileManager.default.fileExists(atPath: place.path), place.path != "/" { place.deleteLastPathComponent() }
    guard FileCalls.isDirectory(place.resolvingSymlinksInPath()) else {
      throw CommandFailure(.usage, "\(place.path) is not a directory. Name another one with -o DIR.")
    }
  }

  /// The maximum size of a file, in bytes, which is more than any generated file has.
  private static let largestFile = 1 << 26

  private func present() throws -> [String] {
    guard FileManager.default.fileExists(atPath: url.path) else { return [] }
    return try FileManager.default.contentsOfDirectory(atPath: url.path).filter { $0.hasSuffix(".swift") }.sorted()
  }

  private func text(of name: String) throws -> String? {
    let file = url.appendingPathComponent(name)
    guard FileManager.default.fileExists(atPath: file.path) else { return nil }
    return String(decoding: try RegularFile.read(file, limit: Self.largestFile), as: UTF8.self)
  }
}
