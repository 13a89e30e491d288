// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataAnalysis
import CoreDataFileSystem
import CoreDataTerminal
import Foundation

/// The result of verifying a store as text and as JSON.
struct VerdictText {
  let verdict: StoreVerdict
  /// The repair that was made before; nil if none was requested.
  let repair: StoreRepair?
  /// Findings about the files of the store.
  let findings: [Finding]
  let store: URL
  /// The store, and the model if any, as given by the user.
  let arguments: [String]

  // MARK: Text

  func write(to report: inout TextReport) {
    report.line(report.styler.style(store.lastPathComponent, .bold))
    report.indented { report in
      let rows = NumberText.counted(verdict.rows.values.reduce(0, +), "row")
      let entities = NumberText.counted(verdict.rows.count, "entity", "entities")
      let files = verdict.fileCount > 0 ? ", \(NumberText.counted(verdict.fileCount, "file"))" : ""
      report.line("Checked \(entities), \(rows)\(files).")
      for gap in verdict.gaps { report.paragraph(gap) }
    }
    if let repair, !repair.repaired.isEmpty {
      report.line()
      report.section("Repaired") { report in
        for defect in repair.repaired { report.paragraph("\(title(defect)): \(defect.cure)", hanging: 2) }
        if let backup = repair.backup { report.line("Backup  \(backup.path)") }
      }
    }
    for defect in verdict.defects {
      report.line()
      write(defect, to: &report)
    }
    report.line()
    if !findings.isEmpty {
      FindingText.write(findings.map { (nil, $0) }, to: &report)
      report.line()
    }
    for line in summary { report.line(line) }
  }

  /// Returns a title such as `dangling-key  Order.customer, 3 rows`.
  private func title(_ defect: StoreDefect) -> String {
    let place = defect.place.isEmpty ? "" : "  \(defect.place)"
    let isOfRows = defect.examples.contains { $0.key != nil } || defect.kind == .uniqueness
    let count = isOfRows ? NumberText.counted(defect.count, "row") : defect.count > 1 ? "\(defect.count) times" : ""
    return "\(defect.kind.rawValue)\(place)" + (count.isEmpty ? "" : ", \(count)")
  }

  private func write(_ defect: StoreDefect, to report: inout TextReport) {
    report.section((defect.kind.isRemark ? "note  " : "problem  ") + title(defect)) { report in
      for example in defect.examples { report.paragraph(example.text, hanging: 2) }
      let more = defect.count - defect.examples.count
      if more > 0, defect.kind != .uniqueness { report.line("… and \(NumberText.grouped(more)) more.") }
      report.paragraph((defect.isRepairable ? "--repair: " : "To do: ") + defect.cure, hanging: 2)
    }
  }

  private var summary: [String] {
    let problems = verdict.problems
    var lines = [verdict.conclusion]
    let repairable = verdict.defects.count(where: \.isRepairable)
    if repair == nil, repairable > 0 {
      let them = repairable == verdict.defects.count ? (repairable == 1 ? "It" : "They") : "\(repairable) of them"
      let command = ShellWord.line(["coredata", "store", "verify"] + arguments + ["--repair"])
      lines.append("\(them) can be repaired:  \(command)")
    } else if repair != nil, repair?.repaired.isEmpty ?? true {
      lines.append(
        problems.isEmpty
          ? "There was nothing to repair. The store was not changed."
          : "Nothing could be repaired without guessing. The store was not changed.")
    }
    return lines
  }

  // MARK: JSON

  var json: JSONText {
    var members: [JSONText.Member] = [
      .init("format", "coredata.store-verify/1"), .init("store", .string(store.path)),
      .init("isSound", .bool(verdict.isSound)),
      .init("rows", .object(verdict.rows.sorted { $0.key < $1.key }.map { .init($0.key, .integer($0.value)) })),
      .init("files", .integer(verdict.fileCount)), .init("gaps", .array(verdict.gaps.map { .string($0) })),
      .init("defects", .array(verdict.defects.map(json))),
      .init("findings", FindingText.json(findings.map { (nil, $0) })),
    ]
    if let repair {
      members.append(.init("repaired", .array(repair.repaired.map(json))))
      members.append(.init("backup", .optional(repair.backup?.path)))
    }
    return .object(members)
  }

  private func json(_ defect: StoreDefect) -> JSONText {
    [
      "kind": .string(defect.kind.rawValue), "isProblem": .bool(!defect.kind.isRemark),
      "entity": .optional(defect.entity), "property": .optional(defect.property), "count": .integer(defect.count),
      "isRepairable": .bool(defect.isRepairable), "cure": .string(defect.cure),
      "examples": .array(
        defect.examples.map { ["key": .optional($0.key.map { Int($0) }), "text": .string($0.text)] }),
    ]
  }
}
