// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataAnalysis
import CoreDataTerminal
import Foundation

/// What `migrate plan`, `run` and `status` say of findings and their allowances.
enum AllowanceArguments {
  /// What the help of a command says of findings.
  static let help =
    "Each finding has a code, as DS102; coredata explain DS102 tells what it means and what to do. A finding that is "
    + "allowed is information, and so is one about objects that a migration policy makes. What would make the migration "
    + "fail cannot be allowed."

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
    summary: "Allow findings of a code, everywhere or where it says; they are information then.")
  static let allowances = OptionSpecification(
    "allowances", .text("FILE"), repeats: true,
    summary: "Allow what a text lists, one a line: CODE:Entity.property  reason. A # begins a comment.")
  static let allowLoss = OptionSpecification.flag(
    "allow-loss", summary: "Allow every loss: findings \(AllowanceArguments.losses).")
}

extension CommandInvocation {
  /// What the command line allows, the narrowest first.
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

  /// Says which allowances have no effect, so that lists of them do not grow old.
  func remarkAllowances(_ plan: MigrationPlan) {
    guard !plan.steps.isEmpty else { return }
    for item in plan.unmatchedAllowances where item.origin != .option("--allow-loss") {
      switch item.origin {
      case .file(let path, let line):
        remark("\(path), line \(line): nothing matches \(item.text). Remove the line if it is not needed any more.")
      default: remark("\(item.author ?? item.text): nothing matches it.")
      }
    }
    for item in plan.powerlessAllowances where item.origin != .option("--allow-loss") {
      remark("\(item.author ?? item.text): the migration would fail, which nothing can allow.")
    }
  }
}
