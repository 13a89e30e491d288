// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataAnalysis
import CoreDataTerminal

/// `coredata store match`
enum StoreMatchCommand: Command {
  static let specification = CommandSpecification(
    ["store", "match"], summary: "Show which version wrote a store, or the nearest version and its differences.",
    positionals: [.anyStore, .model], options: [.format(.text, .json, .markdown)])

  static func run(_ invocation: CommandInvocation) throws -> ExitStatus {
    let store = try invocation.signature(
      invocation.arguments.argument("STORE"), orOneOf: invocation.arguments.argument("MODEL"))
    let (model, match) = try invocation.withModel { model in
      try model.requireNoVersion()
      return (model, try store.match(model, current: model.currentName))
    }
    switch invocation.options.format {
    case .json:
      try invocation.write(
        [
          "format": "coredata.store-match/1", "version": .optional(match.version),
          "versions": .array(match.versions.map { .string($0) }),
          "nearestVersions": .array(match.nearestVersions.map { .string($0) }),
          "configuration": .optional(match.configuration), "nearest": .optional(match.nearest),
          "current": .optional(model.currentName),
          "differences": .array(
            match.differences.map {
              [
                "entity": .string($0.entity), "property": .optional($0.property), "change": .string($0.change),
                "sentence": .string($0.sentence),
              ]
            }),
        ])
    case .markdown:
      var table = TextTable([.init("Entity"), .init("Property"), .init("Change"), .init("Description")])
      for item in match.differences { table.add([item.entity, item.property ?? "", item.change, item.sentence]) }
      try invocation.result.write(summary(match, store.name, model) + "\n")
      if !match.differences.isEmpty { try invocation.result.write("\n" + table.markdown) }
    default:
      var report = invocation.report()
      report.line(summary(match, store.name, model))
      report.indented { report in for item in match.differences { report.line(item.sentence) } }
      try invocation.write(report)
    }
    return match.version == nil ? .unreadableStore : .done
  }

  private static func summary(_ match: StoreMatch, _ store: String, _ model: ModelArgument) -> String {
    if let version = match.version {
      let part = match.configuration.map { ", configuration \($0)" } ?? ""
      let isCurrent = version == model.currentName
      if !match.isCertain, let text = match.versionText {
        let current = isCurrent ? " \(version) is the current version." : ""
        return
          "\(store) was written by \(text)\(part) of \(model.name): these versions have the same version hashes.\(current)"
      }
      let equal = match.equalVersions.map { " (\($0))" } ?? ""
      return
        "\(store) was written by \(version)\(part)\(isCurrent ? ", the current version" : "") of \(model.name)\(equal)."
    }
    let differences = match.nearest.map { match.nearestVersions.count > 1 ? " From \($0):" : "" } ?? ""
    return "\(store) was not written by any version of \(model.name). \(match.nearestSentence)\(differences)"
  }
}
