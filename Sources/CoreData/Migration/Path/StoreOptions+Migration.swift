// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Migration options with values of this target's own types.
extension StoreOptions {
  /// Returns the value of `MigrationOption.mappings`, or nil.
  ///
  /// - Throws: 134080 for a value of another type.
  func migrationMappings() throws -> MappingLocations? {
    guard let value = self[MigrationOption.mappings] else { return nil }
    let wanted = "an array of URLs and NSMappingModels"
    guard let list = value as? [Any] else {
      throw StoreErrors.invalidOption(MigrationOption.mappings, value, wanted: wanted)
    }
    var locations = MappingLocations()
    for element in list {
      switch element {
      case let url as URL: locations.urls.append(url)
      case let model as NSMappingModel: locations.models.append(model)
      default: throw StoreErrors.invalidOption(MigrationOption.mappings, element, wanted: wanted)
      }
    }
    return locations
  }

  /// Returns the value of `MigrationOption.managerFactory`, or nil.
  ///
  /// - Throws: 134080 for a value of another type.
  package func managerFactory() throws -> MigrationManagerFactory? {
    guard let value = self[MigrationOption.managerFactory] else { return nil }
    guard let factory = value as? MigrationManagerFactory else {
      throw StoreErrors.invalidOption(MigrationOption.managerFactory, value, wanted: "a MigrationManagerFactory")
    }
    return factory
  }

  /// Returns the value of `MigrationOption.integrityCheck`.
  ///
  /// - Throws: 134080 for a value of another type.
  package func integrityCheck() throws -> StoreIntegrityCheck {
    guard let value = self[MigrationOption.integrityCheck] else { return .automatic }
    switch value {
    case let check as StoreIntegrityCheck: return check
    case let name as String:
      if let check = StoreIntegrityCheck(rawValue: name) { return check }
    default: break
    }
    throw StoreErrors.invalidOption(
      MigrationOption.integrityCheck, value, wanted: "a StoreIntegrityCheck, or 'automatic', 'always' or 'never'")
  }

  /// Returns the value of `MigrationOption.allowsLoss`.
  ///
  /// - Throws: 134080 for a value of another type.
  package func allowedLosses() throws -> AllowedLosses {
    guard let value = self[MigrationOption.allowsLoss] else { return .none }
    switch value {
    case let losses as AllowedLosses: return losses
    case let flag as Bool: return flag ? .all : .none
    case let number as NSNumber: return number.boolValue ? .all : .none
    case let places as [String]: return AllowedLosses(places: places)
    default:
      throw StoreErrors.invalidOption(
        MigrationOption.allowsLoss, value,
        wanted: "true, false, an AllowedLosses, or an array of entities and properties such as 'Order.note'")
    }
  }
}
