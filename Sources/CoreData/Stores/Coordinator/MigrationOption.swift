// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Keys of options, beside Apple's, that say how a store is migrated when it is opened. An addition to Apple's interface.
///
/// Core Data looks through all bundles of the program for models and mapping models. In tests, and in programs with many
/// bundles, that finds the wrong ones now and then; the first two keys say where to look instead.
public enum MigrationOption {
  /// An array of `URL`s: the only files with models, beside the destination model's own file and the model that the store
  /// carries, among which the model of the store is looked for.
  public static let models = "OpenCoreDataMigrationModels"
  /// An array of `URL`s of mapping models or of folders of such, and of `NSMappingModel`s: the only ones that are used.
  public static let mappings = "OpenCoreDataMigrationMappings"
  /// A Bool, true unless given: whether a store may be taken over several versions, as `MigrationPath` tells. With false one
  /// step must lead to the destination, as with Core Data.
  public static let isProgressive = "OpenCoreDataMigrationIsProgressive"
  /// A Bool, true unless given: whether a store that a migration by mapping models has replaced stays beside the new one,
  /// as `Data~.sqlite` for `Data.sqlite`.
  public static let keepsReplacedStore = "OpenCoreDataMigrationKeepsReplacedStore"
  /// A `MigrationManagerFactory`: makes the migration manager of each step by a mapping model, a subclass of the program's.
  public static let managerFactory = "OpenCoreDataMigrationManagerFactory"
  /// A `StoreIntegrityCheck`, or its raw value; `automatic` unless given: when SQLite checks the store's file before it is
  /// migrated.
  public static let integrityCheck = "OpenCoreDataMigrationIntegrityCheck"
  /// A Bool, an `AllowedLosses`, or an array of places as `Legacy` and `Order.note`; false unless given: what a migration may
  /// drop of the rows of entities that a mapping model leaves out (134110 otherwise), and of what a store holds that only the
  /// model it carries has, where no known version has written it (134130).
  public static let allowsLoss = "OpenCoreDataMigrationAllowsLoss"
}

extension StoreOptions {
  /// The files that `MigrationOption.models` gives; nil where it is not given.
  ///
  /// - Throws: 134080 for a value of another type.
  func migrationModels() throws -> [URL]? {
    guard let value = self[MigrationOption.models] else { return nil }
    guard let list = value as? [Any], case let urls = list.compactMap({ $0 as? URL }), urls.count == list.count else {
      throw StoreErrors.invalidOption(MigrationOption.models, wanted: "an array of URLs")
    }
    return urls
  }

  /// What `MigrationOption.mappings` gives; nil where it is not given.
  ///
  /// - Throws: 134080 for a value of another type.
  func migrationMappings() throws -> MappingPlaces? {
    guard let value = self[MigrationOption.mappings] else { return nil }
    let wanted = "an array of URLs and NSMappingModels"
    guard let list = value as? [Any] else {
      throw StoreErrors.invalidOption(MigrationOption.mappings, wanted: wanted)
    }
    var places = MappingPlaces()
    for element in list {
      switch element {
      case let url as URL: places.urls.append(url)
      case let model as NSMappingModel: places.models.append(model)
      default: throw StoreErrors.invalidOption(MigrationOption.mappings, wanted: wanted)
      }
    }
    return places
  }

  /// What `MigrationOption.managerFactory` gives; nil where it is not given.
  ///
  /// - Throws: 134080 for a value of another type.
  func managerFactory() throws -> MigrationManagerFactory? {
    guard let value = self[MigrationOption.managerFactory] else { return nil }
    guard let factory = value as? MigrationManagerFactory else {
      throw StoreErrors.invalidOption(MigrationOption.managerFactory, wanted: "a MigrationManagerFactory")
    }
    return factory
  }

  /// What `MigrationOption.integrityCheck` gives.
  ///
  /// - Throws: 134080 for a value of another type.
  func integrityCheck() throws -> StoreIntegrityCheck {
    switch self[MigrationOption.integrityCheck] {
    case nil: return .automatic
    case let check as StoreIntegrityCheck: return check
    case let name as String:
      if let check = StoreIntegrityCheck(rawValue: name) { return check }
    default: break
    }
    throw StoreErrors.invalidOption(
      MigrationOption.integrityCheck, wanted: "a StoreIntegrityCheck, or 'automatic', 'always' or 'never'")
  }

  /// What `MigrationOption.allowsLoss` gives.
  ///
  /// - Throws: 134080 for a value of another type.
  func allowedLosses() throws -> AllowedLosses {
    switch self[MigrationOption.allowsLoss] {
    case nil: return .none
    case let losses as AllowedLosses: return losses
    case let flag as Bool: return flag ? .all : .none
    case let number as NSNumber: return number.boolValue ? .all : .none
    case let places as [String]: return AllowedLosses(places: places)
    default:
      throw StoreErrors.invalidOption(
        MigrationOption.allowsLoss, wanted: "true, false, an AllowedLosses, or an array of places as 'Order.note'")
    }
  }

  var isProgressive: Bool { flag(MigrationOption.isProgressive, default: true) }
  var keepsReplacedStore: Bool { flag(MigrationOption.keepsReplacedStore, default: true) }
}
