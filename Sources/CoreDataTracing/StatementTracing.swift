// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization

/// The switch for reporting statements, and those that receive the reports.
///
/// A connection asks `isOn` before it measures anything, which costs a load and a branch.
package enum StatementTracing {
  /// Receives the reports of all statements of the process, on the thread that ran them and with its locks held. It
  /// must not run any code of the program.
  package typealias Sink = @Sendable (StatementReport) -> Void

  // The bits of `switches`.
  @usableFromInline static let statements: UInt8 = 1
  @usableFromInline static let values: UInt8 = 2
  @usableFromInline static let origins: UInt8 = 4

  @usableFromInline static let switches = Atomic<UInt8>(0)

  /// Whether somebody receives reports.
  @inlinable package static var isOn: Bool { switches.load(ordering: .relaxed) & statements != 0 }

  /// Whether reports contain bound values.
  @inlinable package static var includesValues: Bool { switches.load(ordering: .relaxed) & values != 0 }

  /// Whether contexts must say what they do: for reports, or for the connections to a server, which show it there.
  @inlinable package static var needsOrigins: Bool {
    switches.load(ordering: .relaxed) & (statements | origins) != 0
  }

  /// Makes contexts say what they do from now on, even if nobody receives reports.
  package static func requireOrigins() { switches.bitwiseOr(origins, ordering: .relaxed) }

  private struct Entry {
    let number: Int
    let includesValues: Bool
    let sink: Sink
  }

  private struct State {
    var entries: [Entry] = []
    var lastNumber = 0
  }

  private static let lock = NSLock()
  nonisolated(unsafe) private static var state = State()

  /// Adds a receiver of reports.
  ///
  /// - Parameter includesValues: Whether it wants bound values.
  /// - Returns: The number with which to remove it.
  package static func add(includesValues: Bool, _ sink: @escaping Sink) -> Int {
    lock.withLock {
      state.lastNumber += 1
      state.entries.append(Entry(number: state.lastNumber, includesValues: includesValues, sink: sink))
      noteEntries()
      return state.lastNumber
    }
  }

  package static func remove(_ number: Int) {
    lock.withLock {
      state.entries.removeAll { $0.number == number }
      noteEntries()
    }
  }

  /// Sets the switches. The lock must be held.
  private static func noteEntries() {
    let entries = state.entries
    let wanted = (entries.isEmpty ? 0 : statements) | (entries.contains(where: \.includesValues) ? values : 0)
    switches.bitwiseOr(wanted, ordering: .relaxed)
    switches.bitwiseAnd(wanted | origins, ordering: .relaxed)
  }

  static func report(_ report: StatementReport) {
    if report.origin?.isSilent == true { return }
    let entries = lock.withLock { state.entries }
    for entry in entries {
      if entry.includesValues || report.boundSQL == nil {
        entry.sink(report)
      } else {
        var other = report
        other.boundSQL = nil
        entry.sink(other)
      }
    }
  }

  // MARK: Origins

  /// What the current thread reads or writes for.
  @TaskLocal package static var origin: StatementOrigin?

  /// Runs a body whose statements are reported with an origin.
  ///
  /// Within the same context, the outermost request counts: a fault that fires in a save belongs to the save. What
  /// contexts do within a migration, or while a store is opened, belongs to that.
  package static func reporting<Result>(
    _ kind: StatementOrigin.Kind, context: ObjectIdentifier? = nil, name: String? = nil, author: String? = nil,
    _ body: () throws -> Result
  ) rethrows -> Result {
    let outer = origin
    if let outer, outer.isSilent || (context != nil && outer.context == context) { return try body() }
    let isWithin = outer.map { $0.kind == .migration || ($0.kind == .opening && kind != .migration) } ?? false
    let new = StatementOrigin(
      kind: isWithin ? outer?.kind ?? kind : kind, context: context, contextName: name, author: author)
    return try $origin.withValue(new, operation: body)
  }

  /// Whether the current thread's statements are not reported.
  package static var isSilent: Bool { origin?.isSilent ?? false }

  /// Runs a body whose statements are not reported.
  package static func silently<Result>(_ body: () throws -> Result) rethrows -> Result {
    try $origin.withValue(StatementOrigin(kind: .other, isSilent: true), operation: body)
  }

  // MARK: The log

  private static let log: Void = {
    if let log = StatementLog.requested { _ = add(includesValues: log.contents.contains(.values)) { log.write($0) } }
  }()

  /// Starts the log that the environment or the arguments of the process ask for. Every connection calls this before
  /// its first statement.
  package static func prepare() { log }
}

/// The purpose of statements: the kind of request, and the context that has made it.
package struct StatementOrigin: Sendable {
  package enum Kind: String, CaseIterable, Sendable {
    case opening, migration, fetch, count, fault, save, history, other
    case batchInsert = "batch insert"
    case batchUpdate = "batch update"
    case batchDelete = "batch delete"
  }

  package let kind: Kind
  /// The identity of the context; nil if there is none.
  package let context: ObjectIdentifier?
  package let contextName: String?
  package let author: String?
  /// Whether the statements are not reported: those of a handler that receives reports.
  let isSilent: Bool

  init(
    kind: Kind, context: ObjectIdentifier? = nil, contextName: String? = nil, author: String? = nil,
    isSilent: Bool = false
  ) {
    self.kind = kind
    self.context = context
    self.contextName = contextName
    self.author = author
    self.isSilent = isSilent
  }
}
