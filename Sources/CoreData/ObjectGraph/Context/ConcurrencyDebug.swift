// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataMistakes
import CoreDataTracing
import Foundation

/// Traps if a context or one of its objects is used off the context's queue.
///
/// Enabled by the launch argument `-com.apple.CoreData.ConcurrencyDebug 1`, or by the environment variable
/// `COREDATA_CONCURRENCY_DEBUG` with the value 1.
enum ConcurrencyDebug {
  static let isOn = isRequested(
    arguments: CommandLine.arguments, environment: ProcessInfo.processInfo.environment)

  private static let variable = "COREDATA_CONCURRENCY_DEBUG"
  private static let argument = "-com.apple.CoreData.ConcurrencyDebug"

  /// Returns whether the arguments or the environment of a process enable the check. The last argument counts.
  static func isRequested(arguments: [String], environment: [String: String]) -> Bool {
    (LaunchArgument.value(of: argument, in: arguments) ?? environment[variable]).map(isYes) ?? false
  }

  private static func isYes(_ value: String) -> Bool {
    Int(value).map { $0 > 0 } ?? ["yes", "true"].contains(value.lowercased())
  }

  /// Traps if the check is enabled and the current thread is not executing for the context's queue.
  static func check(_ context: @autoclosure () -> NSManagedObjectContext?, _ use: StaticString = #function) {
    guard isOn, let context = context(), !context.queue.isCurrent else { return }
    trap(
      "Core Data concurrency violation: \(use) was called on \(Thread.current) for a context with "
        + "\(context.concurrencyType == .mainQueueConcurrencyType ? "the main queue" : "a private queue"). Use the "
        + "context and its objects only inside its perform(_:) or performAndWait(_:).")
  }
}
