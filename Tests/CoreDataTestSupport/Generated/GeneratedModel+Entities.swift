// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles

/// Changes of entities and hierarchies.
extension GeneratedModel {
  private static let entityNames = [
    "Apple", "Bear", "Car", "Door", "Egg", "Fox", "Gate", "Hat", "Ink", "Jar", "Key", "Lamp", "Map", "Net", "Oak",
    "Pen",
    "apron", "Zebra",
  ]

  private mutating func freeEntityName() -> String? {
    let taken = Set(document.entities.map { $0.name.uppercased() })
    return random.pick(Self.entityNames.filter { !taken.contains($0.uppercased()) })
  }

  mutating func addEntity(depthLimit: Int) {
    guard let name = freeEntityName() else { return }
    let index = index
    let parents = document.entities.filter { index.lineage(of: $0.name).count < depthLimit }.map(\.name)
    let parent = random.oneIn(2) ? random.pick(parents) : nil
    document.entities.append(EntityDocument(name: name, parentName: parent, isAbstract: random.oneIn(6)))
    note("add entity \(name)\(parent.map { " below \($0)" } ?? "")")
  }

  mutating func removeEntity() {
    let leaves = document.entities.filter { entity in !document.entities.contains { $0.parentName == entity.name } }
    guard document.entities.count > 1, let leaf = random.pick(leaves) else { return }
    removeRelationships { $0 == leaf.name || $1 == leaf.name }
    document.entities.removeAll { $0.name == leaf.name }
    note("remove entity \(leaf.name)")
  }

  mutating func renameEntity() {
    guard let old = random.pick(document.entities)?.name, let new = freeEntityName() else { return }
    rename([old: new])
    note("rename entity \(old) to \(new)")
  }

  mutating func swapEntityNames() {
    guard let one = random.pick(document.entities)?.name, let other = random.pick(document.entities)?.name, one != other
    else { return }
    rename([one: other, other: one])
    note("swap the names of entities \(one) and \(other)")
  }

  private mutating func rename(_ names: [String: String]) {
    for position in document.entities.indices {
      let entity = document.entities[position]
      document.entities[position].name = names[entity.name] ?? entity.name
      document.entities[position].parentName = entity.parentName.map { names[$0] ?? $0 }
      for index in entity.relationships.indices {
        let destination = entity.relationships[index].destinationEntityName ?? ""
        document.entities[position].relationships[index].destinationEntityName = names[destination] ?? destination
      }
    }
  }

  mutating func changeAbstractness() {
    guard let position = document.entities.indices.randomElement(using: &random) else { return }
    document.entities[position].isAbstract.toggle()
    note("toggle whether \(document.entities[position].name) is abstract")
  }

  /// A new root above an old one.
  mutating func addParent() {
    guard let root = random.pick(document.entities.filter { $0.parentName == nil })?.name,
      let position = position(of: root), let name = freeEntityName()
    else { return }
    document.entities.append(EntityDocument(name: name, isAbstract: random.oneIn(2)))
    document.entities[position].parentName = name
    note("put \(name) above \(root)")
    for _ in 0..<random.number(0...2) { moveAttributeUp() }
  }

  /// A new root above several old ones, which have tables of their own until then.
  mutating func addCommonParent() {
    let roots = document.entities.filter { $0.parentName == nil }.map(\.name)
    let chosen = random.some(roots, atMost: 3)
    guard chosen.count > 1, let name = freeEntityName() else { return }
    document.entities.append(EntityDocument(name: name, isAbstract: random.oneIn(2)))
    for root in chosen { position(of: root).map { document.entities[$0].parentName = name } }
    note("put \(name) above \(chosen.joined(separator: ", "))")
    for _ in 0..<random.number(0...4) { moveAttributeUp() }
    for _ in 0..<random.number(0...2) { moveRelationshipUp() }
  }

  mutating func leaveHierarchy() {
    guard let child = random.pick(document.entities.filter { $0.parentName != nil })?.name,
      let position = position(of: child)
    else { return }
    let parent = document.entities[position].parentName ?? ""
    // A constraint or an index may be over what is inherited no more.
    document.entities[position].uniquenessConstraints = []
    document.entities[position].indexes = []
    // Inverses of what was inherited lead to the parent, as before; the child has no part in them any more.
    document.entities[position].parentName = nil
    note("take \(child) from below \(parent)")
  }

  /// Another parent in the same hierarchy.
  mutating func changeParent() {
    guard let child = random.pick(document.entities.filter { $0.parentName != nil })?.name,
      let position = position(of: child), let root = index.root(of: child)?.name
    else { return }
    let own = Set(family(of: child).map(\.name))
    let names = Set(family(of: child).flatMap(\.propertyNames))
    let index = index
    let candidates = family(of: root).filter { candidate in
      !own.contains(candidate.name) && index.lineage(of: candidate.name).count < 3
        && names.isDisjoint(with: index.lineage(of: candidate.name).flatMap(\.propertyNames))
    }
    guard let parent = random.pick(candidates)?.name, parent != document.entities[position].parentName else { return }
    document.entities[position].parentName = parent
    document.entities[position].uniquenessConstraints = []
    document.entities[position].indexes = []
    note("put \(child) below \(parent)")
  }
}
