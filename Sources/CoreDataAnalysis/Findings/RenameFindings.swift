// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataMigration
import CoreDataModelFiles

/// Findings about names that changed, or may have changed, between two versions.
struct RenameFindings {
  private(set) var findings: [Finding] = []

  private let old: EntityIndex
  private let new: EntityIndex
  private let judge: FindingJudge

  init(from old: ModelDocument, to new: ModelDocument, _ changes: [ModelChange], _ judge: FindingJudge) {
    self.old = EntityIndex(old)
    self.new = EntityIndex(new)
    self.judge = judge
    let entities = Pairing(old.entities, new.entities, name: \.name, declared: \.renamingIdentifier)
    findUnclear(entities, name: \.name, declared: \.renamingIdentifier, place: { ($0.name, nil) })
    for pair in entities.matched { findUnclear(in: pair) }
    let removed = changes.filter { $0.kind == .removed }
    let added = changes.filter { if case .added = $0.kind { true } else { false } }
    findProbable(removed, added)
  }

  // MARK: Probable renames

  /// The similarity of names from which a probable rename is reported.
  private static let threshold = 0.6

  private mutating func findProbable(_ removed: [ModelChange], _ added: [ModelChange]) {
    var pairs: [(old: ModelChange, new: ModelChange, likeness: Double)] = []
    for lost in removed {
      for change in added where change.subject == lost.subject && isSameKind(lost, change) {
        let likeness = likeness(lost, change)
        if likeness >= Self.threshold { pairs.append((lost, change, likeness)) }
      }
    }
    var taken: Set<ModelChange> = []
    for pair in pairs.sorted(by: { $0.likeness > $1.likeness }) where taken.isDisjoint(with: [pair.old, pair.new]) {
      taken.formUnion([pair.old, pair.new])
      let name = pair.old.property ?? pair.old.entity ?? ""
      let percent = Int((pair.likeness * 100).rounded())
      findings.append(
        judge.finding(
          .probableRename, .warning, pair.new,
          "probably \(name) under another name (likeness \(percent) %), without a renaming identifier"))
    }
  }

  /// Whether the values of the removed property could be those of the added one.
  private func isSameKind(_ lost: ModelChange, _ added: ModelChange) -> Bool {
    switch added.subject {
    case .entity: return new[added.entity ?? ""]?.renamingIdentifier == nil
    case .attribute:
      guard isSameEntity(lost, added), let before = judge.oldAttribute(lost), let after = judge.newAttribute(added)
      else {
        return false
      }
      return before.kind == after.kind && after.renamingIdentifier == nil && !before.isTransient && !after.isTransient
    case .relationship:
      guard isSameEntity(lost, added),
        let before = old[lost.sourceEntity ?? ""]?.relationships.first(where: { $0.name == lost.sourceProperty }),
        let after = new[added.entity ?? ""]?.relationships.first(where: { $0.name == added.property })
      else { return false }
      return before.isToMany == after.isToMany && before.destinationEntityName == after.destinationEntityName
        && after.renamingIdentifier == nil
    case .fetchedProperty, .fetchIndex, .configuration, .fetchRequest: return false
    }
  }

  private func isSameEntity(_ lost: ModelChange, _ added: ModelChange) -> Bool {
    lost.entity != nil && lost.entity == added.entity && lost.sourceEntity != nil
  }

  private func likeness(_ lost: ModelChange, _ added: ModelChange) -> Double {
    guard added.subject == .entity else { return NameLikeness.of(lost.property ?? "", added.property ?? "") }
    // An entity is recognized by its properties rather than by its name.
    let before = Set(old[lost.entity ?? ""]?.propertyNames ?? [])
    let after = Set(new[added.entity ?? ""]?.propertyNames ?? [])
    guard before.count > 1, after.count > 1 else { return 0 }
    return Double(before.intersection(after).count) / Double(before.union(after).count)
  }

  // MARK: Renaming identifiers

  private mutating func findUnclear(in pair: (source: EntityDocument, destination: EntityDocument)) {
    let entity = pair.destination.name
    findUnclear(
      Pairing(
        pair.source.attributes, pair.destination.attributes, name: \.name, declared: \.renamingIdentifier),
      name: \.name, declared: \.renamingIdentifier, place: { (entity, $0.name) })
    findUnclear(
      Pairing(
        pair.source.relationships, pair.destination.relationships, name: \.name, declared: \.renamingIdentifier),
      name: \.name, declared: \.renamingIdentifier, place: { (entity, $0.name) })
  }

  private mutating func findUnclear<Element>(
    _ pairing: Pairing<Element>, name: (Element) -> String, declared: (Element) -> String?,
    place: (Element) -> (entity: String, property: String?)
  ) {
    for element in pairing.added {
      guard let identifier = declared(element), identifier != name(element),
        !pairing.ambiguous.contains(where: { $0.identifier == identifier })
      else { continue }
      add(.warning, place(element), "the renaming identifier \(identifier) names nothing in the older version")
    }
    for (source, destination) in pairing.matched {
      guard let identifier = declared(destination), let own = declared(source), identifier != own,
        identifier == name(source)
      else { continue }
      add(
        .warning, place(destination),
        "the renaming identifier \(identifier) is the last name, and the older version declares \(own): Apple's Core Data "
          + "finds nothing by it")
    }
    for (identifier, names) in pairing.ambiguous {
      guard let first = pairing.added.first(where: { names.contains(name($0)) }) else { continue }
      let list = names.joined(separator: " and ")
      add(.error, place(first), "\(list) have the same renaming identifier, \(identifier)", isFailure: true)
    }
  }

  private mutating func add(
    _ level: Finding.Level, _ place: (entity: String, property: String?), _ message: String, isFailure: Bool = false
  ) {
    let finding = Finding(
      .unclearRename, level, entity: place.entity, property: place.property, sourceEntity: nil, sourceProperty: nil,
      message)
    findings.append(
      (isFailure ? finding.asFailure : finding).allowed(
        by: .inModel(.unclearRename, entities: [new[place.entity]], properties: [place.property])))
  }
}

/// The similarity of names.
enum NameLikeness {
  /// Returns 1 for equal names and 0 for names that have nothing in common: the proportion of equal pairs of letters,
  /// ignoring case. If one name, of more than three letters, begins or ends the other, the result is at least 0.7.
  static func of(_ first: String, _ second: String) -> Double {
    let (a, b) = (first.lowercased(), second.lowercased())
    guard a != b else { return 1 }
    guard !a.isEmpty, !b.isEmpty else { return 0 }
    let (pairsOfA, pairsOfB) = (pairs(a), pairs(b))
    guard !pairsOfA.isEmpty, !pairsOfB.isEmpty else { return 0 }
    var left = pairsOfB
    var common = 0
    for pair in pairsOfA {
      guard let position = left.firstIndex(of: pair) else { continue }
      left.remove(at: position)
      common += 1
    }
    let share = 2 * Double(common) / Double(pairsOfA.count + pairsOfB.count)
    let (short, long) = a.count < b.count ? (a, b) : (b, a)
    let isPart = short.count > 3 && (long.hasPrefix(short) || long.hasSuffix(short))
    return isPart ? max(share, 0.7) : share
  }

  private static func pairs(_ text: String) -> [String] {
    zip(text, text.dropFirst()).map { String([$0, $1]) }
  }
}
