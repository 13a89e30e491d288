// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles

/// Changes of relationships, and the choice among all changes.
extension GeneratedModel {
  private static let relationshipNames = [
    "links", "peers", "owner", "home", "parts", "kin", "boss", "zone", "Links", "near",
  ]

  mutating func mutate() {
    let steps: [(inout GeneratedModel) -> Void] = [
      { $0.addEntity(depthLimit: 3) }, { $0.removeEntity() }, { $0.renameEntity() }, { $0.swapEntityNames() },
      { $0.addParent() }, { $0.addCommonParent() }, { $0.leaveHierarchy() }, { $0.changeParent() },
      { $0.changeAbstractness() },
      { $0.addAttribute() }, { $0.removeAttribute() }, { $0.renameAttribute() }, { $0.swapAttributeNames() },
      { $0.changeOptionality() }, { $0.changeNumericKind() }, { $0.changeTransience() }, { $0.changeExternalStorage() },
      { $0.moveAttributeUp() }, { $0.moveAttributeDown() }, { $0.changeConstraint() }, { $0.changeIndex() },
      { $0.addRelationship() }, { $0.removeRelationship() }, { $0.renameRelationship() },
      { $0.swapRelationshipNames() },
      { $0.makeToMany() }, { $0.makeToMany() }, { $0.changeOrder() }, { $0.changeOrder() }, { $0.dropInverse() },
      { $0.addInverse() }, { $0.moveRelationshipUp() }, { $0.moveRelationshipDown() }, { $0.widenDestination() },
      { $0.makeOneToMany() }, { $0.makeOneToMany() }, { $0.couple() }, { $0.narrowDestination() }, { $0.uncouple() },
    ]
    random.pick(steps)?(&self)
  }

  mutating func addRelationship() {
    guard let one = random.pick(document.entities)?.name, let other = random.pick(document.entities)?.name,
      let name = freeName(Self.relationshipNames, around: one), let position = position(of: one)
    else { return }
    var forward = RelationshipDocument(name: name, destinationEntityName: other, isToMany: random.oneIn(2))
    forward.isOrdered = forward.isToMany && random.oneIn(3)
    note("add relationship \(one).\(name) to \(other)")
    switch random.number(1...6) {
    case 1: break
    case 2 where one == other:
      forward.inverseName = name
      forward.isOrdered = false
    default:
      document.entities[position].relationships.append(forward)
      guard let back = freeName(Self.relationshipNames, around: other), let target = self.position(of: other) else {
        return
      }
      var backward = RelationshipDocument(
        name: back, destinationEntityName: one, inverseName: name, isToMany: random.oneIn(2))
      backward.isOrdered = backward.isToMany && random.oneIn(3)
      document.entities[target].relationships.append(backward)
      setInverse(of: name, in: one, to: back)
      return
    }
    document.entities[position].relationships.append(forward)
  }

  private mutating func setInverse(of name: String, in entity: String, to inverse: String?) {
    edit(name, in: entity) { $0.inverseName = inverse }
  }

  private mutating func edit(_ name: String, in entity: String, _ body: (inout RelationshipDocument) -> Void) {
    guard let position = position(of: entity),
      let index = document.entities[position].relationships.firstIndex(where: { $0.name == name })
    else { return }
    body(&document.entities[position].relationships[index])
  }

  /// A relationship, with the entity that declares it and the entity that declares its inverse.
  struct Place {
    let entity: String
    let relationship: RelationshipDocument
    let inverseEntity: String?

    var isOwnInverse: Bool { inverseEntity == entity && relationship.inverseName == relationship.name }
  }

  private func places(_ fits: (Place) -> Bool = { _ in true }) -> [Place] {
    let index = index
    return document.entities.flatMap { entity in
      entity.relationships.map { relationship in
        let declaring = index.lineage(of: relationship.destinationEntityName ?? "").first { ancestor in
          ancestor.relationships.contains { $0.name == relationship.inverseName }
        }
        return Place(
          entity: entity.name, relationship: relationship,
          inverseEntity: relationship.inverseName == nil ? nil : declaring?.name)
      }
    }.filter(fits)
  }

  mutating func removeRelationships(where matches: (_ entity: String, _ destination: String) -> Bool) {
    for place in places() where matches(place.entity, place.relationship.destinationEntityName ?? "") { remove(place) }
  }

  private mutating func remove(_ place: Place) {
    func take(_ name: String, from entity: String) {
      guard let position = position(of: entity) else { return }
      document.entities[position].relationships.removeAll { $0.name == name }
    }
    take(place.relationship.name, from: place.entity)
    if let inverse = place.relationship.inverseName, let entity = place.inverseEntity { take(inverse, from: entity) }
  }

  mutating func removeRelationship() {
    guard let place = random.pick(places()) else { return }
    remove(place)
    note("remove relationship \(place.entity).\(place.relationship.name) and its inverse")
  }

  mutating func renameRelationship() {
    guard let place = random.pick(places()), let name = freeName(Self.relationshipNames, around: place.entity) else {
      return
    }
    rename(place, to: name)
    note("rename relationship \(place.entity).\(place.relationship.name) to \(name)")
  }

  private mutating func rename(_ place: Place, to name: String) {
    if let inverse = place.relationship.inverseName, let entity = place.inverseEntity {
      setInverse(of: inverse, in: entity, to: name)
    }
    edit(place.relationship.name, in: place.entity) { $0.name = name }
  }

  /// Names of two relationships of one entity that are not each other's inverse.
  mutating func swapRelationshipNames() {
    guard let one = random.pick(places { !$0.isOwnInverse }),
      let other = random.pick(
        places {
          $0.entity == one.entity && $0.relationship.name != one.relationship.name && !$0.isOwnInverse
            && $0.relationship.inverseName != one.relationship.name
        })
    else { return }
    let (left, right) = (one.relationship.name, other.relationship.name)
    if let inverse = one.relationship.inverseName, let entity = one.inverseEntity {
      setInverse(of: inverse, in: entity, to: right)
    }
    if let inverse = other.relationship.inverseName, let entity = other.inverseEntity {
      setInverse(of: inverse, in: entity, to: left)
    }
    edit(left, in: one.entity) { $0.name = "swapping" }
    edit(right, in: one.entity) { $0.name = left }
    edit("swapping", in: one.entity) { $0.name = right }
    note("swap the names of relationships \(one.entity).\(left) and \(right)")
  }

  mutating func makeToMany() {
    guard let place = random.pick(places { !$0.relationship.isToMany }) else { return }
    let ordered = random.oneIn(3) && !place.isOwnInverse
    edit(place.relationship.name, in: place.entity) {
      $0.maxCount = 0
      $0.isOrdered = ordered
    }
    note("make \(place.entity).\(place.relationship.name) to-many\(ordered ? " and ordered" : "")")
  }

  /// Of a many-to-many pair one end stays, and the other becomes a new to-one relationship.
  mutating func makeOneToMany() {
    let index = index
    guard
      let place = random.pick(
        places { place in
          place.relationship.isToMany && !place.isOwnInverse
            && index[place.inverseEntity ?? ""]?.relationships.contains {
              $0.name == place.relationship.inverseName && $0.isToMany
            } == true
        })
    else { return }
    edit(place.relationship.name, in: place.entity) {
      $0.maxCount = 1
      $0.isOrdered = false
      $0.userInfo[Self.origin] = nil
    }
    note("make \(place.entity).\(place.relationship.name) a new relationship, and to-one")
  }

  mutating func changeOrder() {
    guard let place = random.pick(places { $0.relationship.isToMany && !$0.isOwnInverse }) else { return }
    edit(place.relationship.name, in: place.entity) { $0.isOrdered.toggle() }
    note("toggle the order of \(place.entity).\(place.relationship.name)")
  }

  /// The relationship goes, and the one that was its inverse stays.
  mutating func dropInverse() {
    guard let place = random.pick(places { $0.inverseEntity != nil && !$0.isOwnInverse }),
      let entity = place.inverseEntity, let inverse = place.relationship.inverseName,
      let position = position(of: place.entity)
    else { return }
    document.entities[position].relationships.removeAll { $0.name == place.relationship.name }
    setInverse(of: inverse, in: entity, to: nil)
    note("remove \(place.entity).\(place.relationship.name) alone")
  }

  mutating func addInverse() {
    guard let place = random.pick(places { $0.relationship.inverseName == nil }),
      let target = place.relationship.destinationEntityName, let position = position(of: target),
      let name = freeName(Self.relationshipNames, around: target)
    else { return }
    var inverse = RelationshipDocument(
      name: name, destinationEntityName: place.entity, inverseName: place.relationship.name, isToMany: !random.oneIn(3))
    inverse.isOrdered = inverse.isToMany && random.oneIn(3)
    document.entities[position].relationships.append(inverse)
    setInverse(of: place.relationship.name, in: place.entity, to: name)
    note("add \(target).\(name) as the inverse of \(place.entity).\(place.relationship.name)")
  }

  /// Two relationships without inverse become each other's.
  mutating func couple() {
    let alone = places { $0.relationship.inverseName == nil }
    let pairs = alone.flatMap { one in
      alone.filter { other in
        one.relationship.destinationEntityName == other.entity && other.relationship.destinationEntityName == one.entity
          && (one.entity, one.relationship.name) < (other.entity, other.relationship.name)
      }.map { (one, $0) }
    }
    guard let (one, other) = random.pick(pairs) else { return }
    setInverse(of: one.relationship.name, in: one.entity, to: other.relationship.name)
    setInverse(of: other.relationship.name, in: other.entity, to: one.relationship.name)
    note("couple \(one.entity).\(one.relationship.name) and \(other.entity).\(other.relationship.name)")
  }

  /// Two relationships that are each other's inverse become two without.
  mutating func uncouple() {
    guard let place = random.pick(places { $0.inverseEntity != nil && !$0.isOwnInverse }),
      let entity = place.inverseEntity, let inverse = place.relationship.inverseName
    else { return }
    setInverse(of: inverse, in: entity, to: nil)
    setInverse(of: place.relationship.name, in: place.entity, to: nil)
    note("uncouple \(place.entity).\(place.relationship.name) and \(entity).\(inverse)")
  }

  private mutating func move(_ place: Place, to entity: String) {
    guard let old = position(of: place.entity), let new = position(of: entity) else { return }
    document.entities[old].relationships.removeAll { $0.name == place.relationship.name }
    document.entities[new].relationships.append(place.relationship)
    if let inverse = place.relationship.inverseName, let other = place.inverseEntity {
      edit(inverse, in: other) { $0.destinationEntityName = entity }
    }
    note("move relationship \(place.entity).\(place.relationship.name) to \(entity)")
  }

  mutating func moveRelationshipUp() {
    guard let place = random.pick(places { !$0.isOwnInverse }), let position = position(of: place.entity),
      let parent = document.entities[position].parentName
    else { return }
    let others = family(of: parent).filter { $0.name != place.entity }
    guard !others.flatMap(\.propertyNames).contains(place.relationship.name) else { return }
    move(place, to: parent)
  }

  mutating func moveRelationshipDown() {
    guard let place = random.pick(places { !$0.isOwnInverse }),
      let child = random.pick(document.entities.filter { $0.parentName == place.entity })?.name
    else { return }
    move(place, to: child)
  }

  /// Leads a relationship without inverse to a child of its destination.
  mutating func narrowDestination() {
    guard let place = random.pick(places { $0.relationship.inverseName == nil }),
      let child = random.pick(
        document.entities.filter { $0.parentName == place.relationship.destinationEntityName })?.name
    else { return }
    edit(place.relationship.name, in: place.entity) { $0.destinationEntityName = child }
    note("lead \(place.entity).\(place.relationship.name) to \(child)")
  }

  /// Leads a relationship without inverse to the parent of its destination.
  mutating func widenDestination() {
    guard let place = random.pick(places { $0.relationship.inverseName == nil }),
      let position = position(of: place.relationship.destinationEntityName ?? ""),
      let parent = document.entities[position].parentName
    else { return }
    edit(place.relationship.name, in: place.entity) { $0.destinationEntityName = parent }
    note("lead \(place.entity).\(place.relationship.name) to \(parent)")
  }
}
