// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Options, besides Apple's, of the migration when a store is opened. An addition to Apple's API.
///
/// Core Data searches all bundles of the program for models and mapping models. In tests, and in programs with many
/// bundles, it may find the wrong ones; the first two options name the files to use instead.
public enum MigrationOption {
  /// An array of `URL`s: the files to search for the store's model, besides the destination model's own file and the
  /// model cached in the store.
  public static let models = "OpenCoreDataMigrationModels"
  /// An array of `URL`s of mapping models or directories of them, and of `NSMappingModel`s: the only ones to use.
  public static let mappings = "OpenCoreDataMigrationMappings"
  /// A Bool, by default true: whether a migration may go through intermediate versions, by the rules of
  /// `MigrationPath`. If false, a single step must lead to the destination, as in Core Data.
  public static let isProgressive = "OpenCoreDataMigrationIsProgressive"
  /// A Bool, by default true: whether a store that a mapping-model migration replaces is kept beside the new one, as
  /// `Data~.sqlite` for `Data.sqlite`.
  public static let keepsReplacedStore = "OpenCoreDataMigrationKeepsReplacedStore"
  /// A `MigrationManagerFactory`, which makes the migration manager of each step with a mapping model.
  public static let managerFactory = "OpenCoreDataMigrationManagerFactory"
  /// A `StoreIntegrityCheck` or its raw value, by default `automatic`: when SQLite checks the store's file before a
  /// migration.
  public static let integrityCheck = "OpenCoreDataMigrationIntegrityCheck"
  /// A Bool, an `AllowedLosses`, or an array of entities and properties such as `Legacy` and `Order.note`, by default
  /// false: what a migration may drop. Otherwise rows of entities that a mapping model leaves out are an error
  /// (134110), and so is content of a store that no known version has, only the model cached in it (134130).
  public static let allowsLoss = "OpenCoreDataMigrationAllowsLoss"
}

extension StoreOptions {
  /// The value of `MigrationOption.models`, or nil.
  ///
  /// - Throws: 134080 for a value of another type.
  func migrationModels() throws -> [URL]? {
    guard let value = self[MigrationOption.models] else { return nil }
    guard let list = value as? [Any], case let urls = list.compactMap({ $0 as? URL }), urls.count == list.count else {
      throw StoreErrors.invalidOption(MigrationOption.models, wanted: "an array of URLs")
    }
    return urls
  }

  /// The value of `MigrationOption.mappings`, or nil.
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

  /// The value of `MigrationOption.managerFactory`, or nil.
  ///
  /// - Throws: 134080 for a value of another type.
  func managerFactory() throws -> MigrationManagerFactory? {
    guard let value = self[MigrationOption.managerFactory] else { return nil }
    guard let factory = value as? MigrationManagerFactory else {
      throw StoreErrors.invalidOption(MigrationOption.managerFactory, wanted: "a MigrationManagerFactory")
    }
    return factory
  }

  /// The value of `MigrationOption.integrityCheck`.
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

  /// The value of `MigrationOption.allowsLoss`.
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
        MigrationOption.allowsLoss,
        wanted: "true, false, an AllowedLosses, or an array of entities and properties such as 'Order.note'")
    }
  }

  var isProgressive: Bool { flag(MigrationOption.isProgressive, default: true) }
  var keepsReplacedStore: Bool { flag(MigrationOption.keepsReplacedStore, default: true) }
}
