// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataPredicates

extension NSMappingModel {
  /// The source entities whose rows some entity mapping takes: to make objects of them, to hand them to a policy, or to
  /// remove them.
  package func takenEntities(of source: NSManagedObjectModel) -> Set<String> {
    (entityMappings ?? []).reduce(into: []) { $0.formUnion($1.takenEntities(of: source)) }
  }
}

extension NSEntityMapping {
  /// The source entities whose rows the mapping takes.
  package func takenEntities(of source: NSManagedObjectModel) -> Set<String> {
    guard mappingType != .addEntityMappingType else { return [] }
    var taken = Set([sourceEntityName].compactMap { $0 })
    guard case .fetch(let request, _, _)? = sourceSyntax else { return taken }
    switch request {
    case .function(.variable("manager"), "fetchRequestForSourceEntityNamed:predicateString:", let arguments):
      if case .constant(.string(let name))? = arguments.first { taken.insert(name) }
    default:
      // A request of another kind may take sub-entities along.
      let entity = sourceEntityName.flatMap { source.entitiesByName[$0] }
      taken.formUnion((entity?.descendants ?? []).compactMap(\.name))
    }
    return taken
  }
}

extension NSEntityDescription {
  /// All sub-entities, down to the last.
  fileprivate var descendants: [NSEntityDescription] { subentities.flatMap { [$0] + $0.descendants } }
}
