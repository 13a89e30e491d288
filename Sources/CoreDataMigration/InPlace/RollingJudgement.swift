// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import CoreDataStoreFiles

/// What programs with the old version of a model can do while a server migrates their store to the new one.
///
/// A migration locks the tables of the store before its first statement. It keeps others from writing, and from reading
/// the tables whose definition changes, until it commits. Afterwards no program with the old version can use the store.
package struct RollingJudgement: Hashable, Sendable {
  package enum Verdict: String, Hashable, Sendable, Comparable, CaseIterable {
    /// Reads and saves wait for an instant.
    case compatible
    /// Reads go on, and saves wait, for a time that grows with the number of rows.
    case readOnly = "read only"
    /// Reads and saves wait for a time that grows with the number of rows.
    case stopFirst = "stop them first"

    package static func < (left: Verdict, right: Verdict) -> Bool {
      (allCases.firstIndex(of: left) ?? 0) < (allCases.firstIndex(of: right) ?? 0)
    }
  }

  package let verdict: Verdict
  /// The work that takes time, each as the end of a sentence, such as `changes rows of zitem`.
  package let work: [String]
  /// The tables that cannot be read meanwhile.
  package let unreadable: [String]

  /// Judges the statements of a step or of several that run in one transaction.
  package init(_ statements: [ServerStatement]) {
    var work: [String] = []
    for statement in statements where statement.work != .catalogue {
      let tables = Set(statement.locks.map(\.table)).sorted().joined(separator: " and ")
      let words = statement.work.title(of: tables)
      if !work.contains(words) { work.append(words) }
    }
    self.work = work
    unreadable = Set(statements.flatMap(\.locks).filter { $0.mode == .accessExclusive }.map(\.table)).sorted()
    verdict = work.isEmpty ? .compatible : unreadable.isEmpty ? .readOnly : .stopFirst
  }

  /// Judges a migration that cannot run inside the server.
  ///
  /// - Parameter reason: The reason, without a period.
  package init(copiedBecause reason: String) {
    work = ["copies all rows out of the server and back: \(reason)"]
    unreadable = []
    verdict = .stopFirst
  }

  /// The judgement as sentences.
  package var sentence: String {
    let reason = list(work)
    switch verdict {
    case .compatible: return "Their reads and saves wait for an instant."
    case .readOnly: return "They can read, and their saves wait while the migration \(reason)."
    case .stopFirst:
      let what = unreadable.isEmpty ? "Their reads and saves" : "Their saves, and their reads of \(list(unreadable)),"
      return "\(what) wait while the migration \(reason)."
    }
  }

  private func list(_ names: [String]) -> String {
    guard let last = names.last, names.count > 1 else { return names.first ?? "" }
    return names.dropLast().joined(separator: ", ") + " and " + last
  }

  /// Judges the step from a version to another in a store that was created with the first one.
  ///
  /// - Throws: The errors of planning a step, except that it cannot run inside the server.
  package init(from source: ModelDocument, to destination: ModelDocument, values: some ProgramValues) throws {
    let schema = try StoreSchema(document: source, dialect: .postgreSQL)
    let keys = schema.entities.map {
      PrimaryKeyRow(number: $0.number, name: $0.name, parentNumber: $0.parentNumber, maximum: 0)
    }
    do {
      let step = try ServerStep(
        from: source, schema: schema, primaryKeys: keys, to: destination, configuration: nil, values: values)
      self.init(step.statements)
    } catch let obstacle as ServerStepObstacle {
      self.init(copiedBecause: obstacle.cause)
    }
  }
}

extension ServerStepObstacle {
  /// The reason without its period and as the end of a sentence.
  package var cause: String {
    let text = reason.hasSuffix(".") ? String(reason.dropLast()) : reason
    // A name such as PostgreSQL is written in one way.
    if text.dropFirst().prefix(while: { $0 != " " }).contains(where: \.isUppercase) { return text }
    return text.prefix(1).lowercased() + text.dropFirst()
  }
}

extension ServerStatement.Work {
  fileprivate func title(of tables: String) -> String {
    if tables.isEmpty { return title }
    switch self {
    case .catalogue, .rewrite: return "\(self == .rewrite ? "rewrites" : "changes") \(tables)"
    case .scan: return "reads \(tables)"
    case .index: return "builds an index of \(tables)"
    case .rows: return "changes rows of \(tables)"
    }
  }
}
