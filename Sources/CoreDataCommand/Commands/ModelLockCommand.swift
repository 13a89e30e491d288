// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataAnalysis
import CoreDataFileSystem
import CoreDataModelFiles
import CoreDataTerminal
import Foundation

/// `coredata model lock`
enum ModelLockCommand: Command {
  static let specification = CommandSpecification(
    ["model", "lock"], summary: "Write down the hashes of shipped versions, or check them.",
    discussion:
      "Run it at every release and keep the file in the repository: all versions up to the current one are locked. A locked "
      + "version that was edited, or is missing, would leave users with stores that nothing can open; it is an error "
      + "(exit status 1), and nothing is written.\n\n" + ModelInCode.help,
    positionals: [.model],
    options: [
      .flag("check", summary: "Write nothing; exit with 1 if the model differs from the lock."),
      .flag("update", summary: "Lock edited versions as they are now, because they were never shipped."),
      OptionSpecification(
        "file", .path("FILE", .updated),
        summary: "The lock (default: coredata.lock beside the model)."),
      .format(.text, .json, .github),
    ])

  static func run(_ invocation: CommandInvocation) throws -> ExitStatus {
    let arguments = invocation.arguments
    guard !arguments.flag("check") || !arguments.flag("update") else {
      throw CommandFailure(.usage, "--check and --update cannot be used together.")
    }
    // All versions are locked, even if one of them is named.
    var model = try ModelArgument(path: arguments.argument("MODEL"))
    model = try invocation.model(model.inCode == nil ? model.bundleURL.path : model.name)
    try model.requireAllVersions()
    try model.requireCurrentVersion()
    let file =
      arguments.value("file").map { URL(fileURLWithPath: $0) } ?? CommandInvocation.defaultLock(of: model)
    let known = try model.modelVersions()
    let name = model.bundleURL.lastPathComponent
    guard arguments.flag("check") else {
      let (findings, added) = try VersionLock.lock(
        known, in: file, model: name, replacesEdited: arguments.flag("update"))
      let isWritten = findings.isEmpty || arguments.flag("update")
      if isWritten { invocation.result.workDone = "\(file.lastPathComponent) was written." }
      try write(findings, added: added, isWritten: isWritten, file, model, invocation)
      return isWritten ? .done : .no
    }
    guard let lock = try VersionLock(contentsOf: file, model: name) else {
      throw CommandFailure(
        .invalidModel, "\(file.path) has no model \(name). Lock it with coredata model lock \(ShellWord.quoted(name)).")
    }
    let findings = lock.findings(in: known)
    try write(findings, added: lock.unlocked(in: known), isWritten: nil, file, model, invocation)
    return findings.isEmpty ? .done : .no
  }

  /// - Parameters:
  ///   - added: the newly locked versions, or with `--check` the versions that are not locked.
  ///   - isWritten: nil with `--check`.
  private static func write(
    _ findings: [ModelLint.Entry], added: [String], isWritten: Bool?, _ file: URL, _ model: ModelArgument,
    _ invocation: CommandInvocation
  ) throws {
    let text = LintText(model: model.url, entries: findings, isVerbose: true)
    switch invocation.options.format {
    case .json:
      try invocation.write([
        "format": "coredata.model-lock/1", "model": .string(model.url.path), "file": .string(file.path),
        "written": .bool(isWritten == true),
        (isWritten == nil ? "unlocked" : "added"): .array(added.map { .string($0) }),
        "findings": text.json,
      ])
    case .github: try invocation.result.write(text.annotations)
    default:
      var report = invocation.report()
      text.write(to: &report)
      let list = added.joined(separator: ", ")
      switch isWritten {
      case true?:
        report.line(
          added.isEmpty
            ? "\(file.lastPathComponent): \(findings.isEmpty ? "all versions were locked already" : "locked anew")."
            : "\(file.lastPathComponent): locked \(list).")
      case false?: report.line("Nothing was written.")
      case nil:
        if findings.isEmpty { report.line("The locked versions of \(model.name) are as they were shipped.") }
        if !added.isEmpty { report.line("Not locked yet: \(list).") }
      }
      try invocation.write(report)
    }
  }
}
