// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataPredicates

extension NSMappingModel {
  /// The source entities whose rows some entity mapping takes: to make objects of them, to hand them to a policy, or to
  /// remove them.
  package func takenEntities(of source: NSManagedObjectModel) -> Set<String> {
    (entityMappings ?? []).reduce(into: []) { taken, mapping in
      guard mapping.mappingType != .addEntityMappingType else { return }
      if let name = mapping.sourceEntityName { taken.insert(name) }
      guard case .fetch(let request, _, _)? = mapping.sourceSyntax else { return }
      switch request {
      case .function(.variable("manager"), "fetchRequestForSourceEntityNamed:predicateString:", let arguments):
        if case .constant(.string(let name))? = arguments.first { taken.insert(name) }
      default:
        // A request of another kind may take sub-entities along.
        let entity = mapping.sourceEntityName.flatMap { source.entitiesByName[$0] }
        taken.formUnion((entity?.descendants ?? []).compactMap(\.name))
      }
    }
  }
}

extension NSEntityDescription {
  /// All sub-entities, down to the last.
  fileprivate var descendants: [NSEntityDescription] { subentities.flatMap { [$0] + $0.descendants } }
}
