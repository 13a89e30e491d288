// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataMigration
import CoreDataModelFiles
import CoreDataPredicates

/// Findings about a migration from one version of a model to another, based on the two versions and, if a store is
/// given, on its rows.
public struct MigrationFindings: Hashable, Sendable {
  /// The findings, worst first, then by code and place.
  public let findings: [Finding]

  /// Examines a step.
  ///
  /// - Parameters:
  ///   - old: the version that the store has.
  ///   - new: the version to migrate to.
  ///   - counts: the store's rows; nil if only the models are examined, which is like a store with rows in every
  ///     entity.
  ///   - allowances: the findings that are allowed.
  public init(
    from old: ModelDocument, to new: ModelDocument, counts: StoreCounts? = nil, allowances: FindingAllowances = []
  ) {
    self.init(ModelDifference(from: old, to: new), from: old, to: new, counts: counts, allowances: allowances)
  }

  /// Examines a step whose changes are known.
  init(
    _ difference: ModelDifference, from old: ModelDocument, to new: ModelDocument, counts: StoreCounts? = nil,
    allowances: FindingAllowances = []
  ) {
    let changes = difference.changes
    let judge = FindingJudge(old: old, new: new, counts: counts, changes: changes)
    let found =
      changes.flatMap { judge.findings(for: $0) } + RenameFindings(from: old, to: new, changes, judge).findings
    findings = found.map(allowances.applied).sorted(by: Finding.areInOrder)
  }

  /// Returns the number of findings of a level.
  public func count(of level: Finding.Level) -> Int {
    findings.count { $0.level == level }
  }
}

/// Converts changes to findings.
struct FindingJudge {
  let old: ModelDocument
  let new: ModelDocument
  let oldIndex: EntityIndex
  let newIndex: EntityIndex
  let counts: StoreCounts?
  /// The entities and properties that the new version lacks; a property is preceded by its entity.
  let removed: Set<[String]>
  /// The new version's names of the entities that both versions have, by their old names.
  private let newNames: [String: String]

  init(old: ModelDocument, new: ModelDocument, counts: StoreCounts?, changes: [ModelChange]) {
    self.old = old
    self.new = new
    oldIndex = EntityIndex(old)
    newIndex = EntityIndex(new)
    self.counts = counts
    let pairs = Pairing(old.entities, new.entities, name: \.name, declared: \.renamingIdentifier).matched
    newNames = Dictionary(pairs.map { ($0.source.name, $0.destination.name) }) { first, _ in first }
    removed = Set(
      changes.filter { $0.kind == .removed }.map { change in
        [change.sourceEntity, change.property == nil ? nil : change.sourceProperty].compactMap { $0 }
      })
  }

  func findings(for change: ModelChange) -> [Finding] {
    switch change.subject {
    case .entity: entityFindings(change)
    case .attribute: attributeFindings(change)
    case .relationship: relationshipFindings(change)
    case .fetchedProperty, .fetchIndex, .configuration, .fetchRequest: []
    }
  }

  private func entityFindings(_ change: ModelChange) -> [Finding] {
    switch change.kind {
    case .removed:
      let isAbstract = oldIndex[change.sourceEntity ?? ""]?.isAbstract ?? false
      let rows = isAbstract ? 0 : counts.map { $0.rows[change.sourceEntity ?? ""] ?? 0 }
      return [loss(.entityRemoved, change, rows, "the entity is removed", rows.map { dropped($0, "row") })]
    case .changed(.uniqueness, _, _): return uniqueness(change)
    case .changed(.parent, _, _) where change.migration == .custom:
      return [
        finding(.hierarchiesMerged, .error, change, "joins a hierarchy that existed without it", isFailure: true)
      ]
    default: return []
    }
  }

  private func attributeFindings(_ change: ModelChange) -> [Finding] {
    let before = oldAttribute(change)
    let after = newAttribute(change)
    let values = valueCount(of: change)
    let rows = rowCount(of: change)
    switch change.kind {
    case .removed:
      guard let before, !before.isTransient, before.derivation == nil else { return [] }
      let code = before.allowsExternalBinaryDataStorage ? FindingCode.externalDataDropped : .attributeRemoved
      return [loss(code, change, values, "the attribute is removed", values.map { dropped($0, "value") })]
    case .added:
      guard let after, !after.isTransient, !after.isOptional, after.derivation == nil, after.kind != .composite else {
        return []
      }
      return [newRequired(after, change, rows)]
    case .changed(.type, _, _):
      guard let before, let after else { return [] }
      if change.migration == .custom {
        return [
          finding(
            .notInferable, .error, change, "\(before.kind.title) cannot be converted into \(after.kind.title)",
            isFailure: true)
        ]
      }
      return numbers(change, from: before.kind, to: after.kind)
    case .changed(.optional, _, _):
      guard let after, !after.isOptional, !after.isTransient, after.derivation == nil else { return [] }
      return required(after, change, rows: rows, values: values)
    case .changed(.transient, _, _):
      guard let after, after.isTransient else {
        return after.map { $0.isOptional ? [] : [newRequired($0, change, rows)] } ?? []
      }
      return [
        loss(.storedBecomesTransient, change, values, "is no longer stored", values.map { dropped($0, "value") })
      ]
    default: return tightenedAspect(change).map { [tightened(change, $0)] } ?? []
    }
  }

  private func relationshipFindings(_ change: ModelChange) -> [Finding] {
    let values = valueCount(of: change)
    let rows = rowCount(of: change)
    switch change.kind {
    case .removed:
      if let inverse = survivingInverse(of: change) {
        return [finding(.relationshipRemoved, .information, change, "is removed; its links stay with \(inverse)")]
      }
      let text = "the relationship is removed"
      return [loss(.relationshipRemoved, change, values, text, values.map { dropped($0, "link") })]
    case .added where change.migration == .custom, .changed(.transient, _, _) where change.migration == .custom:
      let level: Finding.Level = rows == 0 ? .information : .error
      return [
        finding(
          .notInferable, level, change,
          "existing objects have no destination for a new required "
            + "relationship", isFailure: true)
      ]
    case .added where isRequired(change):
      return [
        finding(
          .optionalBecomesRequired, rows == 0 ? .information : .warning, change,
          "is new and required; objects cannot be saved until it has a member")
      ]
    case .changed(.toMany, _, "no"):
      return [
        loss(
          .toManyBecomesToOne, change, values, "to-many becomes to-one: there is no telling which object to keep",
          values.map { "to-many becomes to-one, with \(counted($0, "link"))" })
      ]
    case .changed(.ordered, _, "no"):
      let text = "the order is lost"
      return [loss(.orderLost, change, values, text, values.map { "the order of \(counted($0, "link")) is lost" })]
    case .changed(.destination, let before, let after) where isRedirected(from: before, to: after):
      let text = "leads to \(after) instead of \(before)"
      if change.migration == .custom { return [finding(.destinationChanged, .error, change, text, isFailure: true)] }
      return [loss(.destinationChanged, change, values, text, values.map { "\(text); \(dropped($0, "link"))" })]
    case .changed(.minimumCount, let before, let after) where (Int(before) ?? 0) < (Int(after) ?? 0):
      return [raised(change, from: before, to: after)]
    case .changed(.optional, _, "no") where isRequired(change):
      return [
        finding(
          .optionalBecomesRequired, rows == 0 ? .information : .warning, change,
          "is required now; objects without it cannot be saved")
      ]
    default: return []
    }
  }

  /// Whether objects without a member of the relationship cannot be saved. A to-many relationship without a minimum may
  /// be empty even if it is not optional.
  private func isRequired(_ change: ModelChange) -> Bool {
    let line = newIndex.lineage(of: change.entity ?? "")
    return line.flatMap(\.relationships).first { $0.name == change.property }
      .map { !$0.isOptional && !$0.isTransient && (!$0.isToMany || $0.minCount > 0) } ?? false
  }

  /// Whether the destination of a relationship becomes a different entity, other than a renamed one or an ancestor.
  private func isRedirected(from old: String, to new: String) -> Bool {
    guard let successor = newNames[old] else { return true }
    return !newIndex.isKind(successor, of: new)
  }

  /// Returns the inverse of a removed relationship, if the new version keeps it with another relationship as its
  /// inverse.
  private func survivingInverse(of change: ModelChange) -> String? {
    let relationship = oldIndex[change.sourceEntity ?? ""]?.relationships.first { $0.name == change.sourceProperty }
    guard let name = relationship?.inverseName, let destination = relationship?.destinationEntityName else {
      return nil
    }
    let owner = oldIndex.lineage(of: destination).first { $0.relationships.contains { $0.name == name } }
    guard let owner, !removed.contains([owner.name]), !removed.contains([owner.name, name]) else { return nil }
    let inherited = newIndex.lineage(of: owner.name).flatMap(\.relationships).first { $0.name == name }
    guard let inherited, inherited.inverseName != nil else { return nil }
    return "\(owner.name).\(name)"
  }
}

/// The number of rows and values in a store, as far as they were counted.
public struct StoreCounts: Hashable, Sendable {
  /// The number of rows of exactly each entity, without those of its sub-entities.
  public var rows: [String: Int]
  /// The number of values that are not null, by entity and property. A missing entry means that they were not counted.
  public var values: [String: [String: Int]]

  /// The properties of the store that values and members come from, by entity and property. Properties added by an
  /// intermediate step have no origin.
  var origins: [String: [String: AttributeOrigin]] = [:]

  /// The number of values that do not fit their new types.
  var fits: [NumberChange: NumberFit] = [:]

  /// The rows that violate added uniqueness constraints.
  var duplicates: [AddedConstraint: DuplicateCount] = [:]

  /// The values that break validation rules made stricter.
  var breaks: [TightenedRules: RuleBreaks] = [:]

  /// The number of objects with fewer members than a raised minimum count.
  var lacking: [RaisedMinimum: Int] = [:]

  /// Creates counts.
  public init(rows: [String: Int], values: [String: [String: Int]] = [:]) {
    self.rows = rows
    self.values = values
  }
}

/// A property of the store that was counted.
struct AttributeOrigin: Hashable, Sendable {
  let entity: String
  let property: String
}
