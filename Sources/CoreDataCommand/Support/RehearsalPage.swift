// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataAnalysis
import CoreDataTerminal
import CoreDataTesting

/// A rehearsal as a page: its cases, the rows before and after, losses and durations.
struct RehearsalPage {
  let text: RehearsalText
  /// The losses and requirements of steps, by their versions.
  let entries: [ModelLint.Entry]

  var html: String {
    let rehearsal = text.rehearsal
    var page = HTMLPage(title: "Rehearsal of \(text.model.name)")
    page.heading(1, "Rehearsal of \(text.model.name)")
    let isGood = rehearsal.failures.isEmpty && text.problems.isEmpty
    page.paragraph(text.summary, style: isGood ? "good" : "bad")
    if !text.problems.isEmpty { page.list(text.problems.map(\.text)) }
    let seconds = rehearsal.cases.reduce(0) { $0 + $1.seconds }
    page.paragraph(
      "\(NumberText.counted(rehearsal.cases.count, "migration")), seed \(rehearsal.seed), "
        + "\(RehearsalText.milliseconds(seconds)) in all.", style: "dim")
    page.searchField("Find versions, entities and reasons")
    page.heading(2, "Migrations")
    page.table(
      [
        "From", "Result", "Path", "Content", .init("Rows before", isNumber: true),
        .init("Rows after", isNumber: true), .init("Time", isNumber: true),
      ],
      rehearsal.cases.enumerated().map { position, item in
        [
          .init(item.source, link: "case-\(position)"), .init(text.word(item), style: style(item)),
          .init(item.path.joined(separator: " → "), style: "dim"), .init(item.content),
          .init(sum(item) { $0.before }, isNumber: true), .init(sum(item) { $0.after }, isNumber: true),
          .init(RehearsalText.milliseconds(item.seconds), isNumber: true),
        ]
      }, isSearched: true)
    writeLosses(to: &page)
    page.heading(2, "Rows by entity")
    for (position, item) in rehearsal.cases.enumerated() {
      page.fold(
        "\(item.name): \(text.word(item))", id: "case-\(position)", isOpen: item.isFailure, isSearched: true
      ) { write(item, to: &$0) }
    }
    return page.html
  }

  private func sum(_ item: MigrationRehearsal.Case, _ count: (MigrationReport.RowCounts) -> Int) -> String {
    NumberText.grouped(item.rows.values.reduce(0) { $0 + count($1) })
  }

  private func style(_ item: MigrationRehearsal.Case) -> String? {
    switch item.outcome {
    case .same: "good"
    case .failed: "bad"
    case .refused, .skipped: "warn"
    case .migrated: nil
    }
  }

  private func write(_ item: MigrationRehearsal.Case, to page: inout HTMLPage) {
    let notes = text.notes(item)
    if !notes.isEmpty { page.list(notes) }
    page.table(
      ["Entity", .init("Before", isNumber: true), .init("After", isNumber: true)],
      item.rows.sorted { $0.key < $1.key }.map { name, count in
        let isLess = count.after < count.before
        return [
          .init(name), .init(NumberText.grouped(count.before), isNumber: true),
          .init(NumberText.grouped(count.after), isNumber: true, style: isLess ? "bad" : nil),
        ]
      }, isSearched: true)
  }

  private func writeLosses(to page: inout HTMLPage) {
    page.heading(2, "Losses")
    let losses = entries.filter(\.finding.code.isLoss)
    guard !losses.isEmpty else { return page.paragraph("No step drops anything.") }
    page.table(
      ["Step", "Code", "Place", "What is lost"],
      losses.map { entry in
        [
          .init([entry.source, entry.version].compactMap { $0 }.joined(separator: " → ")),
          .init(entry.finding.code.rawValue, style: entry.finding.level == .error ? "bad" : "dim"),
          .init(entry.finding.place), .init(entry.finding.message),
        ]
      }, isSearched: true)
  }
}
