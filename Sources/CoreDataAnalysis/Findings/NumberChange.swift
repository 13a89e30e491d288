// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataModelFiles

/// A change of an attribute from one numeric type to another, and the attribute of the store whose values are counted.
struct NumberChange: Hashable, Sendable {
  let origin: AttributeOrigin
  let from: AttributeKind
  let to: AttributeKind

  /// The changes of a step whose values must be counted.
  static func all(in difference: ModelDifference, _ judge: FindingJudge) -> [NumberChange] {
    difference.changes.flatMap { change -> [NumberChange] in
      guard change.subject == .attribute, case .changed(.type, _, _) = change.kind,
        let before = judge.oldAttribute(change), let after = judge.newAttribute(change)
      else { return [] }
      return judge.numberChanges(change, from: before.kind, to: after.kind) ?? []
    }
  }
}

/// The numbers of an attribute's values that another numeric type cannot hold unchanged.
struct NumberFit: Hashable, Sendable {
  /// Values that a migration refuses.
  var refused = 0
  /// Values that would be changed.
  var changed = 0

  static func + (left: NumberFit, right: NumberFit) -> NumberFit {
    NumberFit(refused: left.refused + right.refused, changed: left.changed + right.changed)
  }
}

extension FindingJudge {
  /// A change from one numeric type to another: values that the new type cannot hold stop the migration, and changed values
  /// are a loss.
  func numbers(_ change: ModelChange, from old: AttributeKind, to new: AttributeKind) -> [Finding] {
    let text = "\(old.title) becomes \(new.title)"
    let values = valueCount(of: change)
    guard let fit = fit(of: change, from: old, to: new) else {
      guard old.narrows(to: new) else { return [] }
      return [loss(.numberNarrowed, change, values, text, values.map { "\(text) in \(counted($0, "value"))" })]
    }
    var findings: [Finding] = []
    if fit.refused > 0 {
      let words = fit.refused == 1 ? "is out of range and stops" : "are out of range and stop"
      findings.append(
        finding(
          .numberNarrowed, .error, change, "\(text); \(counted(fit.refused, "value")) \(words) the migration",
          isFailure: true))
    }
    if fit.changed > 0 {
      findings.append(
        finding(
          .numberNarrowed, .error, change, "\(text); \(Self.changed(counted(fit.changed, "value"), fit.changed, new))")
      )
    }
    guard findings.isEmpty, old.narrows(to: new), let values else { return findings }
    let fitting =
      values == 0 ? "it holds nothing" : values == 1 ? "its only value fits" : "all \(counted(values, "value")) fit"
    return [finding(.numberNarrowed, .information, change, "\(text); \(fitting)")]
  }

  private static func changed(_ values: String, _ count: Int, _ new: AttributeKind) -> String {
    switch new {
    case .boolean: "\(values) \(count == 1 ? "is" : "are") neither 0 nor 1, and would change"
    case .float, .double: "\(values) would be rounded"
    default: "\(values) would lose \(count == 1 ? "its fraction" : "their fractions")"
    }
  }

  /// Nil where values were not counted.
  private func fit(of change: ModelChange, from old: AttributeKind, to new: AttributeKind) -> NumberFit? {
    guard let counts, let changes = numberChanges(change, from: old, to: new) else { return nil }
    var sum = NumberFit()
    for change in changes {
      guard let fit = counts.fits[change] else { return nil }
      sum = sum + fit
    }
    return sum
  }

  /// What must be counted for one change; nil where the values are not in the store that was counted.
  func numberChanges(_ change: ModelChange, from old: AttributeKind, to new: AttributeKind) -> [NumberChange]? {
    guard let counts, let source = change.sourceEntity, let property = change.sourceProperty,
      change.migration != .custom
    else { return nil }
    var changes: [NumberChange] = []
    for name in family(of: source) where counts.rows[name] ?? 0 > 0 {
      guard let origin = counts.origins[name]?[property] else { return nil }
      changes.append(NumberChange(origin: origin, from: old, to: new))
    }
    return changes
  }
}
