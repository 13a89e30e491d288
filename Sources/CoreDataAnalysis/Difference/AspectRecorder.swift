// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataPredicates

/// Collects the changes of one property.
struct AspectRecorder {
  let comparison: EntityComparison
  let property: String
  let source: String
  let subject: ModelChange.Subject
  /// Whether the property is stored in either version; hashes of entities leave out what is transient.
  let isStored: Bool
  private(set) var changes: [ModelChange] = []

  init(
    comparison: EntityComparison, property: String, source: String, subject: ModelChange.Subject, isStored: Bool
  ) {
    self.comparison = comparison
    self.property = property
    self.source = source
    self.subject = subject
    self.isStored = isStored
  }

  mutating func renamed() {
    record(.renamed(from: source), hashed: true, migration: .inferred)
  }

  mutating func compare(
    _ aspect: ModelAspect, _ before: Bool, _ after: Bool, hashed: Bool = false, migration: MigrationDemand = .inferred
  ) {
    compare(aspect, AspectText.flag(before), AspectText.flag(after), hashed: hashed, migration: migration)
  }

  /// - Parameter evenIfEqual: records a change whose two texts may look the same.
  mutating func compare(
    _ aspect: ModelAspect, _ before: String, _ after: String, hashed: Bool = false, evenIfEqual: Bool = false,
    migration: MigrationDemand = .inferred
  ) {
    guard before != after || evenIfEqual else { return }
    record(.changed(aspect, from: before, to: after), hashed: hashed, migration: migration)
  }

  mutating func compareModifiers(_ before: String?, _ after: String?) {
    compare(.versionHashModifier, AspectText.name(before), AspectText.name(after), hashed: true)
  }

  /// A renaming identifier that is the name itself says nothing.
  mutating func compareIdentifiers(_ before: String?, _ after: String?) {
    guard source == property else { return }
    let (before, after) = (before == source ? nil : before, after == property ? nil : after)
    compare(.renamingIdentifier, AspectText.name(before), AspectText.name(after))
  }

  mutating func compareUserInfo(_ before: [String: PlainValue], _ after: [String: PlainValue]) {
    guard before != after else { return }
    compare(.userInfo, AspectText.value(.dictionary(before)), AspectText.value(.dictionary(after)))
  }

  private mutating func record(_ kind: ModelChange.Kind, hashed: Bool, migration: MigrationDemand) {
    let isHashed = hashed && isStored
    changes.append(
      comparison.change(
        property, source, subject, kind, hashed: isHashed, migration: isHashed ? migration : .none))
  }
}
