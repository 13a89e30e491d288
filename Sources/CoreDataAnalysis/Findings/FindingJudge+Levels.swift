// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataModelFiles
import CoreDataPredicates
import Foundation

/// Determines the level of findings from the rows of a store.
extension FindingJudge {
  /// Returns the finding for a loss of data: an error if something would or may be lost, information if there is
  /// nothing to lose.
  func loss(_ code: FindingCode, _ change: ModelChange, _ count: Int?, _ plain: String, _ counted: String?) -> Finding {
    finding(
      code, count == 0 ? .information : .error, change, count == 0 ? "\(plain); it holds nothing" : counted ?? plain)
  }

  func newRequired(_ attribute: AttributeDocument, _ change: ModelChange, _ rows: Int?) -> Finding {
    if let value = attribute.defaultValue {
      let text = "required, default \(AspectText.value(value))"
      return finding(
        .newRequiredAttribute, rows == 0 ? .information : .warning, change,
        rows.map { "\(text) for \(counted($0, "row"))" } ?? text)
    }
    return finding(
      .newRequiredAttribute, rows == 0 ? .information : .error, change,
      "required, without a default" + (rows.map { " for \(counted($0, "row"))" } ?? ""), isFailure: true)
  }

  func required(_ attribute: AttributeDocument, _ change: ModelChange, rows: Int?, values: Int?) -> [Finding] {
    let missing = rows.flatMap { rows in values.map { rows - $0 } }
    if let value = attribute.defaultValue {
      let text = "is required now, default \(AspectText.value(value))"
      return [
        finding(
          .optionalBecomesRequired, missing == 0 ? .information : .warning, change,
          missing.map { "\(text) for \(counted($0, "row")) without a value" } ?? text)
      ]
    }
    let level: Finding.Level = missing.map { $0 == 0 ? .information : .error } ?? .warning
    return [
      finding(
        .optionalBecomesRequired, level, change,
        missing.map { "is required now, without a default; \(counted($0, "row")) without a value" }
          ?? "is required now, without a default; rows without a value would stop the migration", isFailure: true)
    ]
  }

  /// - Parameter isFailure: whether the migration would fail if the finding is an error.
  func finding(
    _ code: FindingCode, _ level: Finding.Level, _ change: ModelChange, _ message: String, isFailure: Bool = false
  ) -> Finding {
    let finding = Finding(
      code, level, entity: change.entity, property: change.property, sourceEntity: change.sourceEntity,
      sourceProperty: change.sourceProperty, message)
    return (isFailure ? finding.asFailure : finding).allowed(by: allowance(of: code, change))
  }

  /// Returns the finding for rows of an entity that the mapping model drops.
  func uncoveredEntity(_ entity: String, _ level: Finding.Level, _ message: String) -> Finding {
    Finding(
      .entityRemoved, level, entity: entity, property: nil, sourceEntity: entity, sourceProperty: nil, message
    ).allowed(by: .inModel(.entityRemoved, entities: [newIndex[entity], oldIndex[entity]], properties: []))
  }

  func counted(_ number: Int, _ noun: String) -> String { CountText.counted(number, noun) }

  func dropped(_ number: Int, _ noun: String) -> String { "\(counted(number, noun)) would be dropped" }

  /// Returns the number of rows of the entity and all its sub-entities in the old version; nil if they were not
  /// counted.
  func rowCount(of change: ModelChange) -> Int? {
    guard let counts, let source = change.sourceEntity else { return nil }
    return family(of: source).reduce(0) { $0 + (counts.rows[$1] ?? 0) }
  }

  /// Returns the number of values of the property in rows of the entity and all its sub-entities; nil if they were not
  /// counted.
  func valueCount(of change: ModelChange) -> Int? {
    guard let counts, let source = change.sourceEntity, let property = change.sourceProperty else { return nil }
    var sum = 0
    for name in family(of: source) where counts.rows[name] ?? 0 > 0 {
      guard let count = counts.values[name]?[property] else { return nil }
      sum += count
    }
    return sum
  }

  func family(of name: String) -> [String] {
    [name] + oldIndex.subentities(of: name).flatMap { family(of: $0.name) }
  }

  func oldAttribute(_ change: ModelChange) -> AttributeDocument? {
    oldIndex[change.sourceEntity ?? ""]?.attributes.first { $0.name == change.sourceProperty }
  }

  func newAttribute(_ change: ModelChange) -> AttributeDocument? {
    newIndex[change.entity ?? ""]?.attributes.first { $0.name == change.property }
  }

  /// Returns the allowance in the model's user info, such as `DS102 moved to Archive` under `coredata.allow`. A reason
  /// is required.
  private func allowance(of code: FindingCode, _ change: ModelChange) -> FindingAllowance? {
    FindingAllowance.inModel(
      code, entities: [change.entity.flatMap { newIndex[$0] }, change.sourceEntity.flatMap { oldIndex[$0] }],
      properties: [change.property, change.sourceProperty])
  }
}

extension ModelChange {
  /// The sentence without the names, such as `minimum was 1, is 5`.
  var sentenceTail: String {
    guard case .changed(let aspect, let old, let new) = kind else { return sentence }
    return "\(aspect.rawValue) was \(old), is \(new)"
  }
}

/// Whether a change of validation rejects values that were valid before.
enum Tightening {
  static func isTighter(_ aspect: ModelAspect, from old: AttributeDocument, to new: AttributeDocument) -> Bool {
    let before = ValidationLimits(old.validations)
    let after = ValidationLimits(new.validations)
    if aspect == .validation { return !Set(after.others).isSubset(of: before.others) }
    guard let limit = after.limits[aspect] else { return false }
    guard let earlier = before.limits[aspect] else { return true }
    guard let a = number(earlier), let b = number(limit) else { return earlier != limit }
    return aspect == .minimum || aspect == .minimumLength ? b > a : b < a
  }

  private static func number(_ value: PlainValue) -> Double? {
    switch value {
    case .integer(let number): Double(number)
    case .real(let number): number
    case .decimal(let number): DecimalConversion.double(number)
    case .date(let date): date.timeIntervalSinceReferenceDate
    default: nil
    }
  }
}

/// A change of an attribute's numeric type, with the attribute of the store whose values are counted.
struct NumberChange: Hashable, Sendable {
  let origin: AttributeOrigin
  let from: AttributeKind
  let to: AttributeKind

  /// Returns the changes of a step whose values must be counted.
  static func all(in difference: ModelDifference, _ judge: FindingJudge) -> [NumberChange] {
    difference.changes.flatMap { change -> [NumberChange] in
      guard change.subject == .attribute, case .changed(.type, _, _) = change.kind,
        let before = judge.oldAttribute(change), let after = judge.newAttribute(change)
      else { return [] }
      return judge.numberChanges(change, from: before.kind, to: after.kind) ?? []
    }
  }
}

/// The number of an attribute's values that another numeric type cannot represent.
struct NumberFit: Hashable, Sendable {
  /// The number of values that would stop the migration.
  var refused = 0
  /// The number of values that would be changed.
  var changed = 0

  static func + (left: NumberFit, right: NumberFit) -> NumberFit {
    NumberFit(refused: left.refused + right.refused, changed: left.changed + right.changed)
  }
}

extension FindingJudge {
  /// Returns findings for a change of numeric type: values out of the new type's range stop the migration, and changed
  /// values are a loss.
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

  /// Returns the counted values; nil if they were not counted.
  private func fit(of change: ModelChange, from old: AttributeKind, to new: AttributeKind) -> NumberFit? {
    guard let counts, let changes = numberChanges(change, from: old, to: new) else { return nil }
    var sum = NumberFit()
    for change in changes {
      guard let fit = counts.fits[change] else { return nil }
      sum = sum + fit
    }
    return sum
  }

  /// Returns the values to count for a change; nil if the values are not in the counted store.
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
