// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import Foundation

extension PlannedStages.Stage {
  /// Checks that the step can be inferred, and that `didMigrate` finds the rows of the old version by their identifiers.
  ///
  /// - Parameters:
  ///   - plan: the name of the plan.
  ///   - state: a sentence about the store, for the error.
  /// - Throws: `SwiftDataError.loadIssueModelContainer` with what to do.
  func checkStep(_ plan: String, _ state: String = "") throws {
    let ending = state.isEmpty ? "" : " \(state)"
    do {
      _ = try NSMappingModel.inferredMappingModel(
        forSourceModel: source.model, destinationModel: destination.model)
    } catch {
      throw SwiftDataError(
        .loadIssueModelContainer,
        "The stage \(label) of the migration plan \(plan) cannot be inferred. \(advice(about: error))\(ending)",
        cause: error, isAdvised: true)
    }
    guard readsSource, let merged = mergedEntities else { return }
    throw SwiftDataError(
      .loadIssueModelContainer,
      "The stage \(label) of the migration plan \(plan) gives \(merged.entities.joined(separator: ", ")) the common "
        + "superclass \(merged.root), so that rows get other identifiers, and its didMigrate reads the old rows, which it "
        + "would not find by their identifiers. Put a version in between: one stage for the superclass, and one for the "
        + "code.\(ending)")
  }

  /// Entities that had tables of their own and share one now, with the root of their hierarchy; nil if there are none.
  private var mergedEntities: (entities: [String], root: String)? {
    var roots: [String: [String: String]] = [:]
    for entity in destination.model.entities.sorted(by: { ($0.name ?? "") < ($1.name ?? "") }) {
      let name = entity.name ?? ""
      guard let old = source.model.entitiesByName[entity.renamingIdentifier ?? name] else { continue }
      roots[entity.root.name ?? "", default: [:]][old.root.name ?? ""] = old.name ?? ""
    }
    guard let found = roots.filter({ $0.value.count > 1 }).min(by: { $0.key < $1.key }) else { return nil }
    return (found.value.keys.sorted(), found.key)
  }

  /// What to do about a step that cannot be inferred.
  private func advice(about error: any Error) -> String {
    let info = (error as NSError).userInfo
    let between = "Add a version in between whose two steps can be inferred."
    guard let entity = info[ErrorDetail.entity] as? String, let property = info[ErrorDetail.property] as? String,
      let new = destination.model.entitiesByName[entity]
    else { return between }
    switch new.propertiesByName[property] {
    case let relationship as NSRelationshipDescription:
      if let old = former(relationship, of: new), old.isToMany, !relationship.isToMany {
        return anotherName(for: "the new relationship", "set it to the model to keep")
      }
      return "An initial value is for new models alone. Make '\(entity).\(property)' optional in \(destination.name), "
        + "connect the old rows in the didMigrate of a custom stage, and require it in the version after that."
    case .some: return anotherName(for: "the new property", "set it from the old property")
    case nil:
      // A part of a struct.
      guard let (whole, part) = new.composite(with: property) else { return between }
      guard part.isOptional || part.defaultValue != nil || formerPart(property, of: whole, new) != nil else {
        return
          "Make the part '\(property)' of '\(entity).\(whole.name)' optional, or give '\(entity).\(whole.name)' an "
          + "initial value in \(destination.name), whose part the old rows then get."
      }
      return anotherName(for: "'\(entity).\(whole.name)'", "set it from the old property")
    }
  }

  private func anotherName(for subject: String, _ action: String) -> String {
    "Give \(subject) a name of its own, or keep the name with an originalName that \(source.name) does not have, and "
      + "\(action) in a custom stage whose didMigrate has two contexts, source and destination."
  }

  private func formerPart(
    _ name: String, of whole: NSCompositeAttributeDescription, _ entity: NSEntityDescription
  ) -> NSAttributeDescription? {
    let old = former(entity)?.attributesByName[whole.renamingIdentifier ?? whole.name]
    return (old as? NSCompositeAttributeDescription)?.elements.first { $0.name == name }
  }

  private func former(_ entity: NSEntityDescription) -> NSEntityDescription? {
    source.model.entitiesByName[entity.renamingIdentifier ?? entity.name ?? ""]
  }

  private func former(
    _ relationship: NSRelationshipDescription, of entity: NSEntityDescription
  ) -> NSRelationshipDescription? {
    former(entity)?.relationshipsByName[relationship.renamingIdentifier ?? relationship.name]
  }
}

extension NSEntityDescription {
  fileprivate var root: NSEntityDescription { superentity?.root ?? self }

  /// The composite attribute that has a part, with the part.
  fileprivate func composite(with part: String) -> (NSCompositeAttributeDescription, NSAttributeDescription)? {
    let composites = attributesByName.values.sorted { $0.name < $1.name }
      .compactMap { $0 as? NSCompositeAttributeDescription }
    return composites.lazy.compactMap { whole in
      whole.elements.first { $0.name == part }.map { (whole, $0) }
    }.first
  }
}
