// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

extension MigrationRehearsal {
  /// A reason a rehearsal is unsuccessful although none of its migrations failed.
  public struct Problem: Hashable, Sendable {
    /// The kinds of problem.
    public enum Kind: Hashable, Sendable {
      /// No store of a version with rows reached the wanted version, and some were refused.
      case unreached
      /// A given store was refused.
      case refused
      /// A given store, or all stores of a version, were skipped.
      case skipped
      /// A version cannot be read, so no store of it was created.
      case unreadableVersion
      /// An expected refusal did not happen.
      case missingRefusal(ExpectedRefusals.Refusal)
      /// Nothing was rehearsed.
      case nothing
    }

    /// The kind of problem.
    public let kind: Kind
    /// The version of the stores; nil if it is unknown.
    public let version: String?
    /// The problem as sentences.
    public let text: String
  }
}

/// Determines the problems of a rehearsal as a whole.
struct RehearsalJudge {
  typealias Case = MigrationRehearsal.Case
  typealias Problem = MigrationRehearsal.Problem

  let destination: String
  /// Whether the stores were given, in which case every one of them counts.
  let areGiven: Bool
  let expected: ExpectedRefusals
  /// Versions of which no store could be created.
  let unreadable: [String]
  /// The number of versions whose paths lead through each version at which stores stop.
  private let blockedCounts: [String: Int]

  /// The expected refusals that happened.
  private(set) var happened: Set<ExpectedRefusals.Refusal> = []
  private(set) var problems: [Problem] = []

  /// - Parameter blocked: versions whose paths lead through versions that do not reach the wanted one, with those
  ///   versions.
  init(
    to destination: String, areGiven: Bool, expected: ExpectedRefusals, unreadable: [String],
    blocked: [String: String]
  ) {
    blockedCounts = blocked.values.reduce(into: [:]) { $0[$1, default: 0] += 1 }
    self.destination = destination
    self.areGiven = areGiven
    self.expected = expected
    self.unreadable = unreadable
  }

  /// Examines the cases, and marks those whose refusal was expected.
  mutating func judge(_ cases: inout [Case]) {
    if areGiven {
      for position in cases.indices { judgeGiven(&cases[position]) }
    } else {
      let own = Dictionary(grouping: cases.indices) { cases[$0].source }
      for positions in own.values.sorted(by: { $0[0] < $1[0] }) {
        judgeMade(cases[positions[0]].source, positions, &cases)
      }
    }
    for name in unreadable {
      add(
        .unreadableVersion, name,
        "The version '\(name)' cannot be read, so that no store of it was rehearsed. coredata model versions says why.")
    }
    for refusal in expected.items where !happened.contains(refusal) { add(refusal, cases) }
    let isEmpty = cases.allSatisfy { $0.isCurrent && !$0.isFailure }
    if problems.isEmpty, isEmpty { addNothing(cases) }
  }

  private mutating func judgeGiven(_ item: inout Case) {
    switch item.outcome {
    case .same, .migrated, .failed: break
    case .skipped(let reason): add(.skipped, item.source, "\(item.content) was not rehearsed. \(reason)")
    case .refused(let reason):
      item.isExpected = expect(item.source)
      if !item.isExpected { add(.refused, item.source, "\(item.content) (\(item.source)) was refused. \(reason)") }
    }
  }

  /// Examines a version with created stores. It is reached if one of them is migrated, since the extreme ones violate
  /// rules.
  private mutating func judgeMade(_ version: String, _ own: [Int], _ cases: inout [Case]) {
    var (refusals, skips): ([String], [String]) = ([], [])
    for position in own {
      switch cases[position].outcome {
      case .same, .migrated, .failed: return
      case .refused(let reason): refusals.append(reason)
      case .skipped(let reason): skips.append(reason)
      }
    }
    if !refusals.isEmpty, expect(version) {
      for position in own { cases[position].isExpected = cases[position].isRefused }
      return
    }
    let counts = [(refusals.count, "refused"), (skips.count, "skipped")].filter { $0.0 > 0 }
      .map { "\($0.0) \($0.0 == 1 ? "was" : "were") \($0.1)" }.joined(separator: ", ")
    add(
      refusals.isEmpty ? .skipped : .unreached, version,
      "No store of '\(version)' with rows reached '\(cases[own[0]].destination)': \(counts). "
        + "\(refusals.first ?? skips.first ?? "")\(sentenceOfBlocked(by: version))")
  }

  /// Returns a sentence about the versions whose paths lead through one; empty if there are none.
  private func sentenceOfBlocked(by version: String) -> String {
    guard let count = blockedCounts[version] else { return "" }
    return
      " \(count == 1 ? "One earlier version leads" : "\(count) earlier versions lead") through it, of which stores were "
      + "rehearsed up to the next version only."
  }

  /// Returns whether the refusal of a version was expected, and records that it happened.
  private mutating func expect(_ version: String) -> Bool {
    let found = expected.items.filter { $0.source == version && ($0.destination ?? destination) == destination }
    happened.formUnion(found)
    return !found.isEmpty
  }

  /// Adds a problem for an expected refusal that did not happen.
  private mutating func add(_ refusal: ExpectedRefusals.Refusal, _ cases: [Case]) {
    let wanted = refusal.destination ?? destination
    let own = cases.filter { $0.source == refusal.source }
    let reached = own.count { $0.isReached }
    let fact =
      wanted != destination
      ? "The rehearsal leads to '\(destination)'."
      : own.isEmpty
        ? "No store of it was rehearsed."
        : reached > 0 ? "\(reached) of \(own.count) stores were migrated." : "None was refused."
    add(
      .missingRefusal(refusal), refusal.source,
      "Stores of '\(refusal.source)' were expected to be refused on the way to '\(wanted)', and were not. \(fact) "
        + "Remove the expectation if they can be migrated now.")
  }

  private mutating func addNothing(_ cases: [Case]) {
    add(
      .nothing, nil,
      cases.isEmpty && areGiven
        ? "Nothing was rehearsed: no store was given."
        : cases.isEmpty
          ? "Nothing was rehearsed: the model has no version before '\(destination)'."
          : "Nothing was rehearsed: the stores have the version '\(destination)' already.")
  }

  private mutating func add(_ kind: Problem.Kind, _ version: String?, _ text: String) {
    problems.append(Problem(kind: kind, version: version, text: text))
  }
}

extension MigrationRehearsal.Problem {
  /// Whether the problem is a refusal, which could be intended.
  package var isRefusal: Bool { kind == .unreached || kind == .refused }
}
