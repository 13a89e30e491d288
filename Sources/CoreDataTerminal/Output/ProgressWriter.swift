// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The progress of an operation.
package struct ProgressEvent: Hashable, Sendable {
  /// The current step, from 1.
  package var step: Int
  /// The number of steps.
  package var of: Int
  /// The title of the step, such as `Model 4 -> Model 5`.
  package var title: String?
  /// The entity whose rows are being processed.
  package var entity: String?
  /// The number of rows processed.
  package var done: Int?
  /// The number of rows to process; nil if unknown.
  package var total: Int?

  package init(step: Int, of: Int, title: String? = nil, entity: String? = nil, done: Int? = nil, total: Int? = nil) {
    self.step = step
    self.of = of
    self.title = title
    self.entity = entity
    self.done = done
    self.total = total
  }

  /// The event as JSON without unknown values, such as
  /// `{"event":"progress","step":2,"of":3,"entity":"Order","done":8000,"total":52340}`.
  package var json: JSONText {
    var members: [JSONText.Member] = [
      .init("event", "progress"), .init("step", .integer(step)), .init("of", .integer(of)),
    ]
    if let entity { members.append(.init("entity", .string(entity))) }
    if let done { members.append(.init("done", .integer(done))) }
    if let total { members.append(.init("total", .integer(total))) }
    return .object(members)
  }
}

/// Writes progress to standard error: a bar, a line per step, lines of JSON, or nothing.
package final class ProgressWriter {
  /// The requested form.
  package enum Mode: String, CaseIterable, Sendable {
    case auto, bar, json, none
  }

  private enum Form {
    case bar, lines, json, none
  }

  private let form: Form
  private let width: Int
  private let interval: TimeInterval
  private let clock: () -> TimeInterval
  private let write: (String) -> Void
  private var last: ProgressEvent?
  /// The latest event, if it followed the previous one too soon to be written.
  private var held: ProgressEvent?
  private var lastTime: TimeInterval = 0
  private var hasOpenLine = false

  /// Creates a writer for one operation.
  ///
  /// - Parameters:
  ///   - mode: The requested form. A bar is replaced by a line per step if standard error is not a terminal.
  ///   - isTerminal: Whether standard error is a terminal.
  ///   - width: The width of the terminal in columns.
  ///   - interval: The minimum time in seconds between two reports of the same step and entity, except for the last.
  ///   - clock: Returns the time in seconds from any origin.
  ///   - write: Writes the text.
  package init(
    _ mode: Mode, isTerminal: Bool, width: Int = 80, interval: TimeInterval = 0.1,
    clock: @escaping () -> TimeInterval = { ProcessInfo.processInfo.systemUptime }, write: @escaping (String) -> Void
  ) {
    switch mode {
    case .auto, .bar: form = isTerminal ? .bar : .lines
    case .json: form = .json
    case .none: form = .none
    }
    self.width = width
    self.interval = interval
    self.clock = clock
    self.write = write
  }

  /// Reports progress.
  package func update(_ event: ProgressEvent) {
    guard event != last else { return }
    let isNewStep = last?.step != event.step
    let isNewPart = isNewStep || last?.entity != event.entity
    let isEnd = event.done != nil && event.done == event.total
    let now = clock()
    guard isNewPart || isEnd || now - lastTime >= interval else {
      held = event
      return
    }
    show(event, isNewStep: isNewStep)
    lastTime = now
  }

  /// Writes a withheld event and ends the line of the bar, so that other text can follow.
  package func finish() {
    if let held { show(held, isNewStep: false) }
    if hasOpenLine { write("\n") }
    hasOpenLine = false
  }

  private func show(_ event: ProgressEvent, isNewStep: Bool) {
    last = event
    held = nil
    switch form {
    case .none: break
    case .json: write(event.json.line() + "\n")
    case .lines: if isNewStep { write(heading(event) + "\n") }
    case .bar:
      write("\r" + bar(event) + "\u{1B}[K")
      hasOpenLine = true
    }
  }

  private func heading(_ event: ProgressEvent) -> String {
    "step \(event.step) of \(event.of)" + (event.title.map { ": \(StyledText.escaped($0))" } ?? "")
  }

  private func bar(_ event: ProgressEvent) -> String {
    var parts = ["\(event.step)/\(event.of)"]
    if let name = event.entity ?? event.title { parts.append(StyledText.escaped(name)) }
    if let done = event.done {
      let total = event.total.map { " of \(NumberText.grouped($0))" } ?? ""
      parts.append("\(NumberText.grouped(done))\(total)")
    }
    let text = parts.joined(separator: "  ")
    guard let done = event.done, let total = event.total, total > 0 else {
      return TextLayout.truncated(text, to: width - 1)
    }
    let cells = min(24, width - TextLayout.width(of: text) - 5)
    guard cells >= 8 else { return TextLayout.truncated(text, to: width - 1) }
    let filled = Int(Double(cells) * Double(max(0, min(done, total))) / Double(total))
    return "[" + String(repeating: "#", count: filled) + String(repeating: "-", count: cells - filled) + "]  " + text
  }
}
