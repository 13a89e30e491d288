// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataAnalysis
import CoreDataTerminal

/// Findings about a store as text and as JSON.
enum FindingText {
  /// A finding, and the version that it is about.
  typealias Entry = (version: String?, finding: Finding)

  /// Writes the findings, one per line, below a title; nothing if there are none.
  static func write(_ entries: [Entry], to report: inout TextReport) {
    guard !entries.isEmpty else { return }
    report.section("Findings") { report in
      var table = TextTable([.init(), .init(), .init(), .init()])
      for (version, finding) in entries {
        table.add([
          report.styler.style(finding.level.rawValue, style(finding.level)), StyledText(finding.code.rawValue),
          StyledText(sentence(finding)), StyledText(version ?? ""),
        ])
      }
      report.table(table)
    }
  }

  static func style(_ level: Finding.Level) -> TextStyle {
    switch level {
    case .error: .red
    case .warning: .yellow
    case .information: .dim
    }
  }

  /// Returns a finding with its place, and with its allowance.
  static func sentence(_ finding: Finding) -> String { finding.sentence + allowance(finding) }

  /// Returns a finding without its place, and with its allowance.
  static func message(_ finding: Finding) -> String { finding.message + allowance(finding) }

  private static func allowance(_ finding: Finding) -> String { finding.allowance.map { " (\($0.words))" } ?? "" }

  static func json(_ entries: [Entry]) -> JSONText {
    .array(
      entries.map { version, finding in
        [
          "code": .string(finding.code.rawValue), "level": .string(finding.level.rawValue),
          "entity": .optional(finding.entity), "property": .optional(finding.property),
          "message": .string(finding.message), "version": .optional(version),
          "allowed": .optional(finding.allowance.map { $0.reason ?? $0.author ?? "" }),
          "allowedBy": .optional(finding.allowance?.author),
        ]
      })
  }
}
