// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataAnalysis
import CoreDataTerminal

/// The progress of a command that reads the objects of stores without changing anything.
///
/// Without `--progress` it is shown only as a bar on a terminal, and only if the bar would not be mixed with the
/// result: programs that read the standard error of such a command expect none.
final class ReadingProgress {
  private let writer: ProgressWriter?
  private let title: String
  private let total: Int?
  private var done = 0

  /// The number of objects read between two checks of the time.
  private static let interval = 256

  /// - Parameters:
  ///   - title: the activity, such as `Export`.
  ///   - writesMeanwhile: whether the result is written while objects are read.
  ///   - total: counts the objects; nil if their number is unknown. Called only if progress is shown.
  init(
    _ invocation: CommandInvocation, _ title: String, writesMeanwhile: Bool, total: () -> Int?
  ) {
    self.title = title
    let hasBar = invocation.streams.isErrorTerminal && !(writesMeanwhile && invocation.result.isTerminal)
    guard invocation.arguments.flag("progress") || hasBar && !invocation.options.isQuiet else {
      (writer, self.total) = (nil, nil)
      return
    }
    writer = invocation.progressWriter()
    self.total = total()
    writer?.update(ProgressEvent(step: 1, of: 1, title: title, done: 0, total: self.total))
  }

  /// Counts an object.
  func didRead(_ entity: String) {
    done += 1
    guard let writer, done % Self.interval == 0 else { return }
    writer.update(ProgressEvent(step: 1, of: 1, title: title, entity: entity, done: done, total: total))
  }

  /// Shows the final number, and ends the line of the bar.
  func finish() {
    guard let writer else { return }
    writer.update(ProgressEvent(step: 1, of: 1, title: title, done: done, total: total))
    writer.finish()
  }
}
