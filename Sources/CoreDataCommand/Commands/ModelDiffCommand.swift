// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataAnalysis
import CoreDataTerminal

/// `coredata model diff`
enum ModelDiffCommand: Command {
  static let specification = CommandSpecification(
    ["model", "diff"], summary: "Show what changed, and the kind of migration it requires.",
    discussion:
      "A and B are MODEL or MODEL@VERSION. The default version is the current one. A store stands for the model that "
      + "it contains.\n\n" + ModelInCode.help,
    positionals: [.olderModel, .newerModel],
    options: [
      .flag("exit-code", summary: "Exit with status 1 if there are differences."),
      .format(.text, .json, .markdown),
    ])

  static func run(_ invocation: CommandInvocation) throws -> ExitStatus {
    let old = try invocation.version("A")
    let new = try invocation.version("B")
    let difference = ModelDifference(from: old.version.document, to: new.version.document)
    switch invocation.options.format {
    case .json:
      try invocation.write(
        [
          "format": "coredata.model-diff/1", "from": .string(old.version.name), "to": .string(new.version.name),
          "migration": .string(difference.migration.rawValue),
          "changesVersionHashes": .bool(difference.changesVersionHashes),
          "changes": .array(difference.changes.map { ChangeText.json($0) }),
        ])
    case .markdown:
      var table = TextTable([.init("Place"), .init("Change"), .init("Migration")])
      for change in difference.changes {
        table.add([
          [change.entity, change.property].compactMap { $0 }.joined(separator: "."), change.sentence,
          change.migration.rawValue,
        ])
      }
      try invocation.result.write(table.markdown)
    default:
      var report = invocation.report()
      report.entry("\(old.version.name) -> \(new.version.name)", summary(difference), gap: 3)
      if !difference.isEmpty {
        report.line()
        report.indented { ChangeText.write(difference.changes, to: &$0) }
      }
      try invocation.write(report)
    }
    return invocation.arguments.flag("exit-code") && !difference.isEmpty ? .no : .done
  }

  private static func summary(_ difference: ModelDifference) -> String {
    guard !difference.isEmpty else { return "no differences" }
    let count = NumberText.counted(difference.changes.count, "change")
    switch difference.migration {
    case .none: return "\(count), no migration needed: stores can be opened as they are"
    case .inferred: return "\(count), migration can be inferred"
    case .custom: return "\(count), migration cannot be inferred and needs a mapping model or a custom stage"
    }
  }
}
