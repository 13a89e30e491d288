// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataAnalysis
import CoreDataTerminal

/// Changes between versions as text and as JSON.
enum ChangeText {
  /// Adds the changes grouped by entity, one per line with a sign.
  static func write(_ changes: [ModelChange], to report: inout TextReport) {
    var table = TextTable([.init(), .init(), .init(), .init()])
    var last: String??
    for change in changes {
      let title = change.entity ?? "(model)"
      let shown = last == .some(change.entity) ? "" : title
      last = .some(change.entity)
      let note = change.migration == .custom ? "cannot be inferred" : ""
      table.add([shown, sign(change), text(change), note])
    }
    report.table(table)
  }

  /// `+`, `-` or `~`.
  static func sign(_ change: ModelChange) -> String {
    switch change.kind {
    case .added: "+"
    case .removed: "-"
    case .renamed, .moved, .changed: "~"
    }
  }

  /// Returns the text after the sign.
  static func text(_ change: ModelChange) -> String {
    let name = change.property ?? ""
    let prefix = change.subject == .attribute || change.subject == .relationship || name.isEmpty
    let subject = prefix ? name : "\(change.subject.rawValue) \(name)"
    switch change.kind {
    case .added(let description): return [subject.isEmpty ? "new" : subject, description].joined(separator: "  ")
    case .removed: return subject.isEmpty ? "removed" : subject
    case .renamed(let old):
      return "\(old) -> \(change.property ?? change.entity ?? "") (renaming identifier)"
    case .moved(let old, let new): return "\(subject)  moved from \(old) to \(new)"
    case .changed(let aspect, let old, let new):
      return (subject.isEmpty ? "" : "\(subject)  ") + "\(aspect.rawValue): \(old) -> \(new)"
    }
  }

  static func json(_ change: ModelChange) -> JSONText {
    [
      "entity": .optional(change.entity), "property": .optional(change.property),
      "subject": .string(change.subject.rawValue), "change": .string(change.word),
      "from": .optional(change.oldValue), "to": .optional(change.newValue),
      "changesVersionHash": .bool(change.changesVersionHash), "migration": .string(change.migration.rawValue),
      "sentence": .string(change.sentence),
    ]
  }
}
