// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataFileSystem
import CoreDataModelFiles
import CoreDataSourceCode
import CoreDataTerminal
import Foundation
import SwiftSourceScanning

/// `coredata port`
enum PortCommand: Command {
  static let specification = CommandSpecification(
    ["port"], summary: "Make Swift sources for Apple's systems build on Linux too, in place.",
    discussion:
      "What only Apple's compiler takes, such as @NSManaged and @objc, is kept for it under #if canImport(ObjectiveC), "
      + "beside what other systems need; key paths become strings, and in a package Bundle.main becomes Bundle.module. "
      + "In sources with SwiftData models, views and the import of SwiftUI are kept under #if canImport(SwiftUI). What is "
      + "left to do by hand is listed. A second run changes nothing.\n\n"
      + "The plug-in CoreDataModels does the same for each build and leaves the sources as they are. The ported sources "
      + "need Swift 5.8. Each file is replaced atomically. The exit status is 1 if something is left that does not "
      + "build.",
    positionals: [PositionalSpecification("DIR", summary: "The directory with the sources.")],
    options: [
      OptionSpecification(
        "model", .path("MODEL", .input), repeats: true,
        summary: "A model elsewhere, against which key paths are checked. Those in DIR are found."),
      .flag("dry-run", summary: "Show the changes as a diff, and write nothing."), .format(.text, .json),
    ])

  /// A file with its contents before and after the port.
  private struct Ported {
    let url: URL
    let path: String
    /// The old contents; nil for a new file.
    let old: [UInt8]?
    let new: [UInt8]
    let file: WholeFile
  }

  /// The maximum size of a file, in bytes, which is more than any hand-written source has.
  private static let largestFile = 1 << 26

  static func run(_ invocation: CommandInvocation) throws -> ExitStatus {
    let tree = try SourceTree(invocation.url("DIR"))
    for link in tree.links { invocation.remark("\(tree.path(of: link)) is a symbolic link and is not followed.") }
    guard tree.modules.values.contains(where: { !$0.sources.isEmpty }) else {
      throw CommandFailure(.usage, "There are no Swift files in '\(invocation.arguments.argument("DIR"))'.")
    }
    let paths = tree.models.map(\.path) + invocation.arguments.values("model")
    let models = try paths.map { try invocation.model($0).version(nil).document }
    var files: [Ported] = []
    var messages: [SourceMessage] = []
    for module in tree.modules.values.sorted(by: { $0.directory.path < $1.directory.path }) {
      let (ported, left) = try port(module, in: tree, models, invocation)
      files += ported
      messages += left
    }
    let changed = files.filter { $0.new != $0.old }
    let isDryRun = invocation.arguments.flag("dry-run")
    if !isDryRun {
      for (count, file) in changed.enumerated() {
        do {
          try file.file.write(Data(file.new))
        } catch {
          throw CommandFailure(
            .failed,
            "\(CommandFailure(error).message) \(NumberText.counted(count, "file")) of \(changed.count) "
              + "were written. Run the command again to port the rest.")
        }
      }
    }
    if !isDryRun, !changed.isEmpty { invocation.result.workDone = "The sources were changed." }
    try write(changed, of: files.count, messages, isDryRun: isDryRun, invocation)
    return messages.contains { $0.severity == .error } ? .no : .done
  }

  private static func port(
    _ module: SourceTree.Module, in tree: SourceTree, _ models: [ModelDocument], _ invocation: CommandInvocation
  ) throws -> (files: [Ported], left: [SourceMessage]) {
    var sources: [(url: URL, file: WholeFile, source: SourceFile)] = []
    for url in module.sources {
      let file = WholeFile(url)
      let bytes = Array(try file.read(limit: largestFile) ?? Data())
      guard String(validating: bytes, as: UTF8.self) != nil else {
        invocation.remark("\(tree.path(of: url)) is not in UTF-8 and is left as it is.")
        continue
      }
      sources.append((url, file, SourceFile(path: tree.path(of: url), bytes: bytes)))
    }
    let moved = MovedOverrides.applied(to: sources.map(\.source))
    let translator = Translator(files: moved, models: models, hasResources: module.hasBundle, purpose: .port)
    var castsRequests = false
    var ported = zip(sources, moved).map { source, moved in
      let translation = translator.translate(moved)
      castsRequests = castsRequests || translation.castsRequests
      return Ported(
        url: source.url, path: moved.path, old: source.source.bytes, new: translation.bytes, file: source.file)
    }
    let casts = module.directory.appendingPathComponent("RequestCasts.swift")
    if castsRequests, !FileCalls.exists(casts) {
      ported.append(
        Ported(
          url: casts, path: tree.path(of: casts), old: nil, new: Array(RequestCasts.text.utf8), file: WholeFile(casts)))
    }
    if let names = try names(translator.objectiveCNames, of: module, tree, &ported) { ported.append(names) }
    // The remaining messages, with their lines in the new files.
    let results = ported.map { SourceFile(path: $0.path, bytes: $0.new) }
    let check = Translator(files: results, models: models, hasResources: module.hasBundle, purpose: .port)
    return (ported, results.flatMap { check.translate($0).messages })
  }

  /// Returns the file through which classes are found by their Objective-C names; nil if it is not needed or already
  /// exists.
  private static func names(
    _ found: [String: String], of module: SourceTree.Module, _ tree: SourceTree, _ files: inout [Ported]
  ) throws -> Ported? {
    guard !found.isEmpty else { return nil }
    let url = module.directory.appendingPathComponent("ObjectiveCNames.swift")
    let present = files.firstIndex { $0.url == url }
    let known = present.map { ObjectiveCNamesFile.names(in: SourceFile(path: "", bytes: files[$0].new)) } ?? [:]
    let text = ObjectiveCNamesFile.text(known.merging(found) { $1 }, isPort: true)
    guard let present else {
      return Ported(url: url, path: tree.path(of: url), old: nil, new: Array(text.utf8), file: WholeFile(url))
    }
    let old = files[present]
    files[present] = Ported(url: url, path: old.path, old: old.old, new: Array(text.utf8), file: old.file)
    return nil
  }

  // MARK: Report

  private static func write(
    _ changed: [Ported], of count: Int, _ left: [SourceMessage], isDryRun: Bool, _ invocation: CommandInvocation
  ) throws {
    guard invocation.options.format != .json else {
      return try invocation.write([
        "format": .string("coredata.port/1"), "files": .integer(count), "isDryRun": .bool(isDryRun),
        "changed": .array(changed.map { .string($0.path) }),
        "left": .array(
          left.map {
            [
              "file": .string($0.path), "line": .integer($0.line), "column": .integer($0.column),
              "severity": .string($0.severity.rawValue), "message": .string($0.text),
            ]
          }),
      ])
    }
    if isDryRun {
      for file in changed {
        let old = String(decoding: file.old ?? [], as: UTF8.self)
        let diff = UnifiedDiff.text(path: file.path, old: old, new: String(decoding: file.new, as: UTF8.self))
        try invocation.result.write(source: diff)
      }
    }
    var report = invocation.report()
    if !isDryRun { for file in changed { report.line("\(file.old == nil ? "added  " : "changed")  \(file.path)") } }
    let files = NumberText.counted(count, "file")
    report.line(
      changed.isEmpty
        ? "\(files), nothing to change." : "\(files), \(changed.count) \(isDryRun ? "to be changed" : "changed").")
    if !left.isEmpty {
      report.line()
      report.section("To do by hand") { section in
        for message in left { section.line(message.description) }
      }
    }
    // Programs that apply a diff skip the text after it.
    try invocation.write(report)
  }
}
