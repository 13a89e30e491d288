// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataPredicates

/// One version of a model, as plain values: what every file format of models is read into and written from.
public struct ModelDocument: Hashable, Sendable {
  /// Entities in the order of the source; `EntityDocument.parentName` says how they are related.
  public var entities: [EntityDocument]
  /// The named subsets of the entities.
  public var configurations: [ConfigurationDocument]
  /// The stored fetch requests.
  public var fetchRequestTemplates: [FetchRequestDocument]
  /// The developer's own names for this version; an empty one is kept, since Core Data writes it into stores.
  public var versionIdentifiers: [String]

  /// Makes a document, empty unless told otherwise.
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
  /// The name of the subset.
  public var name: String
  /// The names of its entities.
  public var entityNames: [String]

  /// Makes a configuration.
  public init(name: String, entityNames: [String]) {
    self.name = name
    self.entityNames = entityNames
  }
}

/// A fetch request template, or the request of a fetched property.
public struct FetchRequestDocument: Hashable, Sendable {
  /// The template's name.
  public var name: String
  /// The entity whose objects are asked for.
  public var entityName: String
  /// What the objects have to meet; nil for all.
  public var predicate: PredicateSyntax?
  /// The order of the results.
  public var sortKeys: [SortKeyDocument]
  /// The greatest number of results; 0 for no limit.
  public var fetchLimit: Int
  /// How many results are read at a time; 0 for all.
  public var fetchBatchSize: Int
  /// The raw value of `NSFetchRequestResultType`.
  public var resultType: UInt
  /// Whether objects of sub-entities are found too.
  public var includesSubentities: Bool
  /// Whether the values are read along with the identifiers.
  public var includesPropertyValues: Bool
  /// Whether results are faults.
  public var returnsObjectsAsFaults: Bool
  /// Whether equal results are given once.
  public var returnsDistinctResults: Bool
  /// Whether unsaved changes count.
  public var includesPendingChanges: Bool

  /// Makes a request with Core Data's defaults.
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

/// One sort descriptor of a fetch request template.
public struct SortKeyDocument: Hashable, Sendable {
  /// The key path of the values that are compared.
  public var keyPath: String
  /// The direction.
  public var ascending: Bool

  /// Makes a sort key.
  public init(keyPath: String, ascending: Bool) {
    self.keyPath = keyPath
    self.ascending = ascending
  }
}

extension ModelDocument {
  /// The name where the model has a configuration of that name; nil, for all entities, where it has not.
  package func configuration(_ name: String?) -> String? {
    configurations.contains { $0.name == name } ? name : nil
  }
}
