// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataPredicates

/// A version of a model as plain values, the common form of all file formats.
public struct ModelDocument: Hashable, Sendable {
  /// The entities in source order. `EntityDocument.parentName` relates them.
  public var entities: [EntityDocument]
  /// The configurations.
  public var configurations: [ConfigurationDocument]
  /// The fetch request templates.
  public var fetchRequestTemplates: [FetchRequestDocument]
  /// The version identifiers. An empty one is kept, because Core Data writes it to stores.
  public var versionIdentifiers: [String]

  /// Creates a document.
  public init(
    entities: [EntityDocument] = [], configurations: [ConfigurationDocument] = [],
    fetchRequestTemplates: [FetchRequestDocument] = [], versionIdentifiers: [String] = []
  ) {
    self.entities = entities
    self.configurations = configurations
    self.fetchRequestTemplates = fetchRequestTemplates
    self.versionIdentifiers = versionIdentifiers
  }
}

/// A configuration: a named subset of a model's entities.
public struct ConfigurationDocument: Hashable, Sendable {
  /// The name.
  public var name: String
  /// The names of its entities.
  public var entityNames: [String]

  /// Creates a configuration.
  public init(name: String, entityNames: [String]) {
    self.name = name
    self.entityNames = entityNames
  }
}

/// A fetch request template, or the request of a fetched property.
public struct FetchRequestDocument: Hashable, Sendable {
  /// The name of the template.
  public var name: String
  /// The name of the fetched entity.
  public var entityName: String
  /// The predicate; nil for all objects.
  public var predicate: PredicateSyntax?
  /// The sort keys.
  public var sortKeys: [SortKeyDocument]
  /// The maximum number of results; 0 for no limit.
  public var fetchLimit: Int
  /// The number of results read at a time; 0 for all.
  public var fetchBatchSize: Int
  /// The raw value of `NSFetchRequestResultType`.
  public var resultType: UInt
  /// Whether objects of subentities are fetched too.
  public var includesSubentities: Bool
  /// Whether values are fetched along with the identifiers.
  public var includesPropertyValues: Bool
  /// Whether results are faults.
  public var returnsObjectsAsFaults: Bool
  /// Whether duplicate results are omitted.
  public var returnsDistinctResults: Bool
  /// Whether unsaved changes are taken into account.
  public var includesPendingChanges: Bool

  /// Creates a request with Core Data's defaults.
  public init(name: String, entityName: String, predicate: PredicateSyntax? = nil) {
    self.name = name
    self.entityName = entityName
    self.predicate = predicate
    sortKeys = []
    fetchLimit = 0
    fetchBatchSize = 0
    resultType = 0
    includesSubentities = true
    includesPropertyValues = true
    returnsObjectsAsFaults = true
    returnsDistinctResults = false
    includesPendingChanges = true
  }
}

/// A sort descriptor of a fetch request template.
public struct SortKeyDocument: Hashable, Sendable {
  /// The key path of the values to compare.
  public var keyPath: String
  /// Whether the order is ascending.
  public var ascending: Bool

  /// Creates a sort key.
  public init(keyPath: String, ascending: Bool) {
    self.keyPath = keyPath
    self.ascending = ascending
  }
}

extension ModelDocument {
  /// Returns the name if the model has a configuration with that name, otherwise nil for all entities.
  package func configuration(_ name: String?) -> String? {
    configurations.contains { $0.name == name } ? name : nil
  }
}
