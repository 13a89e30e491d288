// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataAnalysis
import CoreDataModelFiles
import CoreDataTerminal
import Foundation

/// `coredata mapping check`
enum MappingCheckCommand: Command {
  static let specification = CommandSpecification(
    ["mapping", "check"],
    summary: "Check a mapping model for stale hashes, missing entities and properties, unknown keys, policies.",
    discussion:
      "Exits with status 1 if the mapping model does not fit the two versions. Stale hashes are errors in a .cdm, and "
      + "warnings in an .xcmappingmodel, whose hashes are replaced when it is compiled. A migration "
      + "policy that is not found is an error if --policies names a library, and for `swift package coredata`; otherwise only "
      + "a warning, since policies are classes of the app.",
    positionals: [
      .mapping,
      PositionalSpecification("A", summary: "The source version: MODEL or MODEL@VERSION."),
      PositionalSpecification("B", summary: "The destination version: MODEL or MODEL@VERSION."),
    ],
    options: [.policies, .format(.text, .json)])

  static func run(_ invocation: CommandInvocation) throws -> ExitStatus {
    let url = invocation.url("FILE")
    var mapping = try MappingDocument(contentsOf: url)
    let old = try invocation.version("A").version
    let new = try invocation.version("B").version
    if mapping.lacksModels {
      mapping = try MappingDocument(contentsOf: url, source: old.document, destination: new.document)
    }
    let check = MappingCheck(
      mapping, source: old.document, destination: new.document, isCompiled: try isCompiled(url),
      hasPolicies: ProgramClasses.areAdded)
    if invocation.options.format == .json {
      try invocation.write(
        [
          "format": "coredata.mapping-check/1", "from": .string(old.name), "to": .string(new.name),
          "problems": .array(
            check.problems.map {
              [
                "kind": .string($0.kind.rawValue), "level": .string($0.level.rawValue),
                "mapping": .optional($0.mapping), "property": .optional($0.property),
                "message": .string($0.message),
              ]
            }),
        ])
    } else {
      var report = invocation.report()
      let errors = NumberText.counted(check.count(of: .error), "error")
      let warnings = NumberText.counted(check.count(of: .warning), "warning")
      report.line("\(url.lastPathComponent)   \(old.name) -> \(new.name)   \(errors), \(warnings)")
      if !check.problems.isEmpty { report.line() }
      report.indented { report in
        var table = TextTable([.init(), .init(), .init()])
        for problem in check.problems {
          let style: TextStyle = problem.level == .error ? .red : .yellow
          table.add([
            report.styler.style(problem.level.rawValue, style), StyledText(place(of: problem)),
            StyledText(problem.message),
          ])
        }
        report.table(table)
      }
      try invocation.write(report)
    }
    return check.count(of: .error) > 0 ? .no : .done
  }

  /// Returns the place of a problem, such as `NoteToNote.body`.
  static func place(of problem: MappingCheck.Problem) -> String {
    let parts = [problem.mapping, problem.property].compactMap { $0 }
    return parts.isEmpty ? "(mapping model)" : parts.joined(separator: ".")
  }

  /// Whether a mapping model is compiled. Compiled ones are files; sources are directories or the XML files in them.
  private static func isCompiled(_ url: URL) throws -> Bool {
    var isFolder: ObjCBool = false
    guard FileManager.default.fileExists(atPath: url.path, isDirectory: &isFolder), !isFolder.boolValue else {
      return false
    }
    return try ModelFile.firstBytes(6, of: url) == Data("bplist".utf8)
  }
}
