// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataAnalysis
import CoreDataTerminal
import Foundation

/// Arguments that several commands have.
extension PositionalSpecification {
  static let store = PositionalSpecification("STORE", summary: "An SQLite store.")
  static let model = PositionalSpecification(
    "MODEL",
    summary:
      "An .xcdatamodeld, .xcdatamodel, .momd or .mom, or a store with its model; MODEL@VERSION for one version."
  )
  static let olderModel = PositionalSpecification("A", summary: "The older model: MODEL or MODEL@VERSION.")
  static let newerModel = PositionalSpecification("B", summary: "The newer model: MODEL or MODEL@VERSION.")
  static let mapping = PositionalSpecification(
    "FILE", summary: "A mapping model: an .xcmappingmodel, .cdm or .mapping.")
}

/// Options that several commands have.
extension OptionSpecification {
  /// The version to migrate to.
  static let targetVersion = OptionSpecification(
    "to", .text("V"), summary: "The version to migrate to (default: the current one).")
  static let mappings = OptionSpecification(
    "mappings", .text("DIR"), repeats: true,
    summary: "A mapping model (.cdm or .xcmappingmodel), or a directory of them.")
  static let allowDowngrade = OptionSpecification.flag(
    "allow-downgrade", summary: "Allow migrating to an earlier version, which can hold less.")

  /// The common option, with the formats that a command supports.
  static func format(_ formats: OutputFormat...) -> OptionSpecification {
    OptionSpecification("format", .oneOf(formats.map(\.rawValue)), summary: "The format of the result (default: text).")
  }
}

/// The options of `migrate plan`, `run` and `status` that allow findings.
enum AllowanceArguments {
  /// The paragraph about findings in the help of a command.
  static let help =
    "Each finding has a code, such as DS102; coredata explain DS102 describes it and what to do about it. An allowed "
    + "finding is information only, and so is one about objects that a migration policy creates. A finding that would "
    + "make the migration fail cannot be allowed."

  /// `DS101 to DS108 and CM305`
  fileprivate static var losses: String {
    let codes = FindingCode.allCases.filter(\.isLoss).map(\.rawValue)
    let family = codes.filter { $0.hasPrefix("DS") }
    let others = codes.filter { !$0.hasPrefix("DS") }
    return (["\(family.first ?? "") to \(family.last ?? "")"] + others).joined(separator: " and ")
  }
}

extension OptionSpecification {
  static let allow = OptionSpecification(
    "allow", .text("CODE[:Entity[.property]]"), repeats: true,
    summary: "Allow findings with a code, everywhere or for one entity or property.")
  static let allowances = OptionSpecification(
    "allowances", .text("FILE"), repeats: true,
    summary: "Allow the findings listed in a file, one per line: CODE:Entity.property  reason. # starts a comment.")
  static let allowLoss = OptionSpecification.flag(
    "allow-loss", summary: "Allow any data loss: findings \(AllowanceArguments.losses).")
}

extension CommandInvocation {
  /// Returns the allowances of the command line, the narrowest first.
  ///
  /// - Throws: `CommandFailure` for an allowance or a file that cannot be read.
  func allowances() throws -> FindingAllowances {
    do {
      var items = try arguments.values("allow").map { try FindingAllowances.item(ofOption: "--allow", $0) }
      for path in arguments.values("allowances") {
        items += try FindingAllowances(contentsOf: URL(fileURLWithPath: path)).items
      }
      items.sort { Self.breadth($0) < Self.breadth($1) }
      if arguments.flag("allow-loss") { items += FindingAllowances.losses(origin: .option("--allow-loss")).items }
      return FindingAllowances(items)
    } catch let problem as AllowanceProblem {
      throw CommandFailure(.usage, problem.description)
    }
  }

  private static func breadth(_ item: FindingAllowance) -> Int {
    item.entity == nil ? 2 : item.property == nil ? 1 : 0
  }

  /// Notes which allowances have no effect, so that lists of them do not go stale.
  func remarkAllowances(_ plan: MigrationPlan) {
    guard !plan.steps.isEmpty else { return }
    for item in plan.unmatchedAllowances where item.origin != .option("--allow-loss") {
      switch item.origin {
      case .file(let path, let line):
        remark("\(path), line \(line): no finding matches \(item.text). Remove the line if it is no longer needed.")
      default: remark("\(item.author ?? item.text): no finding matches.")
      }
    }
    for item in plan.powerlessAllowances where item.origin != .option("--allow-loss") {
      remark("\(item.author ?? item.text): the migration would fail, which cannot be allowed.")
    }
  }
}
