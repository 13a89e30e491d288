// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

extension NSManagedObjectModel {
  /// The name that Core Data gives the configuration of all entities.
  internal static let defaultConfigurationName = "PF_DEFAULT_CONFIGURATION_NAME"

  /// The names of all configurations, sorted.
  public var configurations: [String] { configurationMembers.keys.sorted() }

  /// The entities of a configuration; all entities for nil; nil for a name that the model does not know.
  public func entities(forConfigurationName configuration: String?) -> [NSEntityDescription]? {
    guard let configuration, configuration != Self.defaultConfigurationName else { return entities }
    return configurationMembers[configuration]
  }

  /// Makes a configuration, or changes its entities. Traps when an entity is not one of the model's.
  public func setEntities(_ entities: [NSEntityDescription], forConfigurationName configuration: String) {
    willEdit("setEntities(_:forConfigurationName:)")
    for entity in entities {
      precondition(
        entity.owningModel === self,
        "Entity '\(entity.name ?? "")' cannot be in configuration '\(configuration)': it is not in the model.")
    }
    configurationMembers[configuration] = entities
  }
}
