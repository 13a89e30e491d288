// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles

/// Validation rules that a step makes stricter, and the attribute of the store whose values must satisfy them.
struct TightenedRules: Hashable, Sendable {
  let origin: AttributeOrigin
  let kind: AttributeKind
  let rules: [ValidationDocument]

  /// Returns the rules of a step whose values must be counted.
  static func all(in difference: ModelDifference, _ judge: FindingJudge) -> [TightenedRules] {
    difference.changes.flatMap { change -> [TightenedRules] in
      guard let aspect = judge.tightenedAspect(change) else { return [] }
      return judge.tightenedRules(change, aspect) ?? []
    }
  }
}

/// A minimum count that a step raises, and the relationship of the store whose members are counted.
struct RaisedMinimum: Hashable, Sendable {
  let origin: AttributeOrigin
  let minimum: Int
  /// Whether an object without members satisfies the rule, as for an optional relationship.
  let allowsNone: Bool

  /// Returns the raised minimum counts of a step for which objects must be counted.
  static func all(in difference: ModelDifference, _ judge: FindingJudge) -> [RaisedMinimum] {
    difference.changes.flatMap { judge.raisedMinimums($0) ?? [] }
  }
}

/// The values that break rules, by their text.
struct RuleBreaks: Hashable, Sendable {
  private(set) var count = 0
  private var examples: [String: Int] = [:]

  /// The maximum number of distinct values that are recorded, one of which becomes the example.
  private static let maxCount = 10_000

  mutating func add(_ value: String) {
    count += 1
    if examples.count < Self.maxCount || examples[value] != nil { examples[value, default: 0] += 1 }
  }

  mutating func add(_ other: RuleBreaks) {
    count += other.count
    examples.merge(other.examples, uniquingKeysWith: +)
  }

  /// The value that breaks the rules most often, with its number of rows: `'long' (2 rows)`.
  var example: String? {
    examples.max { ($0.value, $1.key) < ($1.value, $0.key) }.map { "\($0.key) (\(CountText.counted($0.value, "row")))" }
  }

  static func == (left: RuleBreaks, right: RuleBreaks) -> Bool { left.count == right.count }

  func hash(into hasher: inout Hasher) { hasher.combine(count) }
}

extension FindingJudge {
  /// Returns the aspect of an attribute's validation that a change makes stricter; nil for any other change.
  func tightenedAspect(_ change: ModelChange) -> ModelAspect? {
    guard change.subject == .attribute, case .changed(let aspect, _, _) = change.kind,
      ValidationLimits.aspects.contains(aspect) || aspect == .validation, let before = oldAttribute(change),
      let after = newAttribute(change), Tightening.isTighter(aspect, from: before, to: after)
    else { return nil }
    return aspect
  }

  /// Returns the rules to check for one change; nil if the values are not in the counted store, or get another type.
  func tightenedRules(_ change: ModelChange, _ aspect: ModelAspect) -> [TightenedRules]? {
    guard let counts, let source = change.sourceEntity, let property = change.sourceProperty,
      change.migration != .custom, let before = oldAttribute(change), let after = newAttribute(change),
      before.kind == after.kind, !before.isTransient
    else { return nil }
    let rules = after.validations.filter { rule in
      let limits = ValidationLimits([rule])
      return aspect == .validation ? !limits.others.isEmpty : limits.limits[aspect] != nil
    }
    var result: [TightenedRules] = []
    for name in family(of: source) where counts.rows[name] ?? 0 > 0 {
      guard let origin = counts.origins[name]?[property] else { return nil }
      result.append(TightenedRules(origin: origin, kind: after.kind, rules: rules))
    }
    return result
  }

  /// Returns the values that break stricter rules; nil if they were not counted.
  func breaks(of change: ModelChange, _ aspect: ModelAspect) -> RuleBreaks? {
    guard let counts, let rules = tightenedRules(change, aspect) else { return nil }
    var sum = RuleBreaks()
    for rule in rules {
      guard let breaks = counts.breaks[rule] else { return nil }
      sum.add(breaks)
    }
    return sum
  }

  /// Returns the finding for a stricter validation, which an in-place migration does not check.
  func tightened(_ change: ModelChange, _ aspect: ModelAspect) -> Finding {
    let text = "validation is stricter (\(change.sentenceTail))"
    let values = valueCount(of: change)
    guard let breaks = breaks(of: change, aspect), let values, values > 0 else {
      return finding(
        .validationTightened, values == 0 ? .information : .warning, change,
        "\(text); stored values are not checked before they are saved again")
    }
    guard let example = breaks.example else {
      return finding(
        .validationTightened, .information, change,
        values == 1 ? "\(text); its only value keeps it" : "\(text); all \(counted(values, "value")) keep it")
    }
    return finding(
      .validationTightened, .warning, change,
      "\(text); \(Self.breaking(breaks, example)), and \(breaks.count == 1 ? "is" : "are") not checked before "
        + "\(breaks.count == 1 ? "it is" : "they are") saved again")
  }

  /// Returns text such as `3 values break it, such as 700 (2 rows)`.
  static func breaking(_ breaks: RuleBreaks, _ example: String) -> String {
    "\(CountText.counted(breaks.count, "value")) \(breaks.count == 1 ? "breaks" : "break") it, such as \(example)"
  }
}

extension FindingJudge {
  /// Returns the minimum counts to check for a change; nil for other changes, and if the members are not those in the
  /// store.
  func raisedMinimums(_ change: ModelChange) -> [RaisedMinimum]? {
    guard let counts, change.subject == .relationship, change.migration != .custom,
      case .changed(.minimumCount, let before, let after) = change.kind, let minimum = Int(after),
      Int(before) ?? 0 < minimum, let source = change.sourceEntity, let property = change.sourceProperty,
      let relationship = newIndex[change.entity ?? ""]?.relationships.first(where: { $0.name == change.property }),
      // Rows of removed entities are still members in the store.
      removed.allSatisfy({ $0.count > 1 })
    else { return nil }
    var result: [RaisedMinimum] = []
    for name in family(of: source) where counts.rows[name] ?? 0 > 0 {
      guard let origin = counts.origins[name]?[property] else { return nil }
      result.append(RaisedMinimum(origin: origin, minimum: minimum, allowsNone: relationship.isOptional))
    }
    return result
  }

  /// Returns the number of objects with too few members after a change; nil if they were not counted.
  func lackingCount(_ change: ModelChange) -> Int? {
    guard let counts, let minimums = raisedMinimums(change) else { return nil }
    var sum = 0
    for minimum in minimums {
      guard let count = counts.lacking[minimum] else { return nil }
      sum += count
    }
    return sum
  }

  /// Returns the finding for a raised minimum count, which an in-place migration does not check.
  func raised(_ change: ModelChange, from before: String, to after: String) -> Finding {
    let text = "at least \(after) instead of \(before)"
    let rows = rowCount(of: change)
    guard let rows, rows > 0, let lacking = lackingCount(change) else {
      return finding(
        .minimumCountRaised, rows == 0 ? .information : .warning, change,
        "\(text); objects with fewer cannot be saved")
    }
    guard lacking > 0 else {
      return finding(
        .minimumCountRaised, .information, change,
        rows == 1 ? "\(text); its only object has enough" : "\(text); all \(counted(rows, "object")) have enough")
    }
    return finding(
      .minimumCountRaised, .warning, change,
      "\(text); \(Self.lacking(lacking)), and cannot be saved before that changes")
  }

  /// Returns text such as `3 objects have fewer`.
  static func lacking(_ count: Int) -> String {
    "\(CountText.counted(count, "object")) \(count == 1 ? "has" : "have") fewer"
  }
}
