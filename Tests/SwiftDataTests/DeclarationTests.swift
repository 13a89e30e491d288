// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import Foundation
import SwiftData
import Testing

/// Names the public declarations of SwiftData, so that one that is missing or has another shape does not compile. What is
/// not declared is in DEVIATIONS.md.
@Suite("Public declarations")
struct DeclarationTests {
  @Test("Models, backing data and identifiers have Apple's declarations")
  func models() throws {
    func model<T: PersistentModel>(_ model: T, _ data: any BackingData<T>) throws {
      _ = T(backingData: model.persistentBackingData)
      model.persistentBackingData = data
      let metadata: [Schema.PropertyMetadata] = T.schemaMetadata
      let ids: [PersistentIdentifier] = [model.persistentModelID, model.id]
      let context: ModelContext? = model.modelContext
      let flags: [Bool] = [model.hasChanges, model.isDeleted, model == model]
      let created: any BackingData<T> = T.createBackingData()
      _ = (metadata, ids, context, flags, created.metadata as Any, created.persistentModelID, model.hashValue)
    }
    func values(_ stop: Stop, _ trip: Trip, _ data: any BackingData<Trip>) {
      let title: String = stop.getValue(forKey: \.title)
      let destination: Trip? = stop.getValue(forKey: \.trip)
      let stops: [Stop] = trip.getValue(forKey: \.stops)
      stop.setValue(forKey: \.title, to: title)
      stop.setValue(forKey: \.trip, to: destination)
      trip.setValue(forKey: \.stops, to: stops)
      trip.setTransformableValue(forKey: \.name, to: trip.getTransformableValue(forKey: \.name))
      data.setValue(forKey: \.name, to: data.getValue(forKey: \.name))
      data.setTransformableValue(forKey: \.name, to: data.getTransformableValue(forKey: \.name))
    }
    func collection<C: RelationshipCollection>(_: C.Type) -> any PersistentModel.Type { C.PersistentElement.self }
    #expect(ObjectIdentifier(collection([Stop]?.self)) == ObjectIdentifier(Stop.self))
    let id = try PersistentIdentifier.identifier(for: "store", entityName: "Trip", primaryKey: "1")
    let key: PersistentIdentifier.ID = id.id
    #expect(!id.isTemporary && id.entityName == "Trip" && id.storeIdentifier == "store" && key == id.id)
    _ = (model(_:_:) as (Trip, any BackingData<Trip>) throws -> Void, values(_:_:_:))
    func identifiers<T: Hashable & Codable & Comparable & Identifiable & Sendable>(_: T.Type)
    where T.ID: Hashable & Codable & Comparable {}
    identifiers(PersistentIdentifier.self)
  }

  @Test("Schemas, their properties and versions have Apple's declarations")
  func schema() throws {
    let version = Schema.Version(1, 2, 3)
    let schema = Schema([Trip.self], version: version)
    _ = [
      Schema(), Schema(Schema.Entity("A"), version: version), Schema(Trip.self, version: version),
      Schema(versionedSchema: DeclaredVersion.self),
    ]
    let entities: [Schema.Entity] = schema.entities
    let byName: [String: Schema.Entity] = schema.entitiesByName
    #expect(entities.count == byName.count && schema.version == version)
    #expect(schema.encodingVersion == Schema.schemaEncodingVersion)
    #expect(version.major == 1 && version.minor == 2 && version.patch == 3)
    #expect(schema.entity(for: Trip.self) != nil && Schema.entityName(for: Trip.self) == "Trip")
    let files: (Schema) -> (URL) throws -> Void = { $0.save(to:) }
    let load: (URL) throws -> Schema = Schema.load(from:)
    let metadata = Schema.PropertyMetadata(name: "a", keypath: \Trip.name, defaultValue: nil, metadata: nil)

    let attribute = Schema.Attribute(
      .unique, .externalStorage, .spotlight, .preserveValueOnDeletion, .ephemeral, .allowsCloudEncryption, .codable,
      .transformable(by: "x"), .transformable(by: ValueTransformer.self), originalName: nil, hashModifier: nil)
    let named = Schema.Attribute(
      name: "a", originalName: nil, options: [.unique], valueType: String.self, defaultValue: nil, hashModifier: nil)
    let names: [String] = [named.name, named.originalName]
    let options: [Schema.Attribute.Option] = named.options
    let flags: [Bool] = [
      named.isOptional, named.isUnique, named.isTransient, named.isTransformable, named.isAttribute,
      named.isRelationship, named.isCodable,
    ]
    let composite: (Schema.CompositeAttribute) -> [Schema.Attribute] = { $0.properties }
    let relationship = Schema.Relationship(
      .unique, deleteRule: .nullify, minimumModelCount: 0, maximumModelCount: 0, originalName: nil, inverse: nil,
      hashModifier: nil)
    let rules: [Schema.Relationship.DeleteRule] = [.noAction, .nullify, .cascade, .deny, relationship.deleteRule]
    let relationshipTexts: [String?] = [
      relationship.name, relationship.originalName, relationship.destination, relationship.inverseName,
      relationship.hashModifier,
    ]
    let paths: [AnyKeyPath?] = [relationship.keypath, relationship.inverseKeyPath]
    let counts: [Int?] = [relationship.minimumModelCount, relationship.maximumModelCount]
    let relationshipOptions: [Schema.Relationship.Option] = relationship.options
    let more: [Any.Type] = [named.valueType, relationship.valueType]
    let unique = Schema.Unique<Trip>([\.name], [\.days, \.start])
    let constraints: [[PartialKeyPath<Trip>]] = unique.constraints
    let indexes = [Schema.Index<Trip>([\.name]), Schema.Index<Trip>(.binary([\.name]), .rtree([\.days]))]
    let kinds: [Schema.Index<Trip>.Types<Trip>] = indexes[0].indices
    _ = (Schema.Unique<Trip>.CodingKeys.constraints, Schema.Index<Trip>.CodingKeys.indices)

    let entity = Schema.Entity("A", subentities: Schema.Entity("B"), properties: named, relationship)
    _ = Schema.Entity("A", properties: named)
    let attributes: (Set<Schema.Attribute>, [String: Schema.Attribute]) = (entity.attributes, entity.attributesByName)
    let relationships: (Set<Schema.Relationship>, [String: Schema.Relationship]) = (
      entity.relationships, entity.relationshipsByName
    )
    let properties: [[any SchemaProperty]] = [entity.properties, entity.storedProperties, entity.inheritedProperties]
    let propertiesByName: [[String: any SchemaProperty]] = [
      entity.storedPropertiesByName, entity.inheritedPropertiesByName,
    ]
    let groups: [[[String]]] = [entity.uniquenessConstraints, entity.indices]
    let family: (Schema.Entity?, String?, Set<Schema.Entity>) = (
      entity.superentity, entity.superentityName, entity.subentities
    )
    _ = (
      files, load, metadata, attribute, names, options, flags, composite, rules, relationshipTexts, paths, counts,
      relationshipOptions, more, constraints, kinds
    )
    _ = (attributes, relationships, properties, propertiesByName, groups, family, schema.debugDescription)
    func property<P: SchemaProperty>(_ property: inout P, _ other: P) -> [Bool] {
      (property.name, property.originalName, property.valueType) = (other.name, other.originalName, other.valueType)
      return [
        property.isAttribute, property.isRelationship, property.isTransient, property.isOptional, property.isUnique,
      ]
    }
    func coded<T: Codable & Hashable>(_: T.Type) {}
    coded(Schema.Version.self)
    coded(Schema.Entity.self)
    coded(Schema.Attribute.self)
    coded(Schema.Relationship.self)
    var changed = named
    #expect(property(&changed, named) == [true, false, false, false, true])
  }

  @Test("Migration plans, configurations and containers have Apple's declarations")
  @MainActor func containers() throws {
    let stages: [MigrationStage] = [
      .lightweight(fromVersion: DeclaredVersion.self, toVersion: DeclaredVersion.self),
      .custom(
        fromVersion: DeclaredVersion.self, toVersion: DeclaredVersion.self, willMigrate: { (_: ModelContext) in },
        didMigrate: nil),
    ]
    let plan: (any SchemaMigrationPlan.Type) -> ([any VersionedSchema.Type], [MigrationStage]) = {
      ($0.schemas, $0.stages)
    }
    let configuration = ModelConfiguration(
      "name", schema: nil, isStoredInMemoryOnly: true, allowsSave: true, groupContainer: .automatic,
      cloudKitDatabase: .automatic)
    _ = [
      ModelConfiguration(), ModelConfiguration(isStoredInMemoryOnly: true),
      ModelConfiguration(for: Trip.self, isStoredInMemoryOnly: true),
      ModelConfiguration(
        nil, schema: nil, url: URL(fileURLWithPath: "/dev/null"), allowsSave: true, cloudKitDatabase: .none),
    ]
    let databases: [ModelConfiguration.CloudKitDatabase] = [.automatic, .none, .private("a")]
    let groups: [ModelConfiguration.GroupContainer] = [.automatic, .none, .identifier("a")]
    let texts: [String?] = [
      configuration.name, configuration.groupAppContainerIdentifier, configuration.cloudKitContainerIdentifier,
    ]
    let urls: [ModelConfiguration.ID] = [configuration.url, configuration.id]
    #expect(configuration.isStoredInMemoryOnly && configuration.allowsSave && configuration.schema == nil)
    #expect(ModelConfiguration.Store.self == DefaultStore.self)
    try configuration.validate()
    let schema = Schema([Trip.self])
    let container = try ModelContainer(for: schema, migrationPlan: nil, configurations: [configuration])
    _ = try ModelContainer(for: schema, migrationPlan: nil, configurations: configuration)
    _ = try ModelContainer(for: Trip.self, migrationPlan: nil, configurations: configuration)
    let any: [any DataStoreConfiguration] = [configuration]
    _ = try ModelContainer(for: schema, configurations: any)
    let variadic: (any DataStoreConfiguration) throws -> ModelContainer = {
      try ModelContainer(for: Trip.self, configurations: $0)
    }
    let configurations: Set<ModelConfiguration> = container.configurations
    let context: ModelContext = container.mainContext
    #expect(container.schema == schema && container.migrationPlan == nil && configurations.count == 1)
    container.deleteAllData()
    try container.erase()
    _ = (stages, plan, databases, groups, texts, urls, variadic, context.container == container)
    _ = NSManagedObjectModel.makeManagedObjectModel(for: schema, mergedWith: nil)
    _ = NSManagedObjectModel.makeManagedObjectModel(for: [Trip.self], mergedWith: nil)
    _ = NSManagedObjectModel.makeManagedObjectModel(for: Trip.self, mergedWith: nil)
  }

  @Test("Contexts, fetches and actors have Apple's declarations")
  func contexts() async throws {
    let container = try makeContainer()
    let context = ModelContext(container)
    context.autosaveEnabled = false
    context.undoManager = nil
    context.author = "me"
    let state: EditingState = context.editingState
    let stateID: UUID = state.id
    #expect(state.author == "me" && !context.hasChanges && stateID == context.editingState.id)
    let arrays: [[any PersistentModel]] = [
      context.insertedModelsArray, context.changedModelsArray, context.deletedModelsArray,
    ]
    var descriptor = FetchDescriptor<Trip>(predicate: nil, sortBy: [SortDescriptor(\.name)])
    (descriptor.fetchLimit, descriptor.fetchOffset, descriptor.includePendingChanges) = (1, 0, true)
    (descriptor.propertiesToFetch, descriptor.relationshipKeyPathsForPrefetching) = ([\.name], [\.stops])
    let trip = Trip(name: "Rome")
    context.insert(trip)
    try context.save()
    let id = trip.persistentModelID
    let model: any PersistentModel = context.model(for: id)
    let registered: Trip? = context.registeredModel(for: id)
    #expect(model === trip && registered === trip)
    let models: [Trip] = try context.fetch(descriptor)
    let batched: FetchResultsCollection<Trip> = try context.fetch(descriptor, batchSize: 1)
    let identifiers: [PersistentIdentifier] = try context.fetchIdentifiers(descriptor)
    let batchedIdentifiers: FetchResultsCollection<PersistentIdentifier> = try context.fetchIdentifiers(
      descriptor, batchSize: 1)
    #expect(try context.fetchCount(descriptor) == 1 && models.count == batched.count)
    #expect(identifiers == Array(batchedIdentifiers) && batched.startIndex == 0)
    try context.enumerate(descriptor, batchSize: 5000, allowEscapingMutations: false) { (_: Trip) in }
    let history: [DefaultHistoryTransaction] = try context.fetchHistory(HistoryDescriptor())
    try context.deleteHistory(HistoryDescriptor<DefaultHistoryTransaction>())
    try context.transaction {}
    context.delete(trip)
    context.processPendingChanges()
    context.rollback()
    try context.delete(model: Trip.self, where: nil, includeSubclasses: true)
    let names: [Notification.Name] = [ModelContext.willSave, ModelContext.didSave]
    let keys: [ModelContext.NotificationKey] = [
      .insertedIdentifiers, .updatedIdentifiers, .deletedIdentifiers, .invalidatedAllIdentifiers, .queryGeneration,
      .historyTokens,
    ]
    _ = (arrays, history, names, keys.map(\.rawValue), context == context, context.debugDescription)

    let executor: any SerialModelExecutor = DefaultSerialModelExecutor(modelContext: ModelContext(container))
    let erased: any ModelExecutor = executor
    let unowned: UnownedSerialExecutor = executor.asUnownedSerialExecutor()
    let concrete = DefaultSerialModelExecutor(modelContext: ModelContext(container))
    #expect(concrete.isSameExclusiveExecutionContext(other: concrete))
    let enqueue: (consuming ExecutorJob) -> Void = concrete.enqueue
    let check: () -> Void = concrete.checkIsolated
    _ = (enqueue, check)
    let actor = TripWriter(modelContainer: container)
    let owner: any ModelActor = actor
    _ = (owner.modelContainer, owner.modelExecutor, owner.unownedExecutor, erased.modelContext, unowned)
    #expect(await actor.has(id) == false)
  }

  @Test("Data stores and their requests have Apple's declarations")
  func stores() throws {
    func store<S: DataStore>(_ type: S.Type, _ configuration: S.Configuration) throws {
      let store = try S(configuration, migrationPlan: nil)
      let context = ModelContext(try ModelContainer(for: store.schema, configurations: []))
      let state = context.editingState
      let request = DataStoreFetchRequest<Trip>(descriptor: FetchDescriptor(), editingState: state)
      let result: DataStoreFetchResult<Trip, S.Snapshot> = try store.fetch(request)
      let found: ([S.Snapshot], [PersistentIdentifier: S.Snapshot]) = (
        result.fetchedSnapshots, result.relatedSnapshots
      )
      let count: Int = try store.fetchCount(request)
      let identifiers: [PersistentIdentifier] = try store.fetchIdentifiers(request)
      let changes = DataStoreSaveChangesRequest<S.Snapshot>(inserted: [], updated: [], deleted: [], editingState: state)
      let saved: DataStoreSaveChangesResult<S.Snapshot> = try store.save(changes)
      let tokens: [(any HistoryToken)?] = [saved.historyToken]
      _ = DataStoreSaveChangesResult<S.Snapshot>(
        for: saved.storeIdentifier, remappedIdentifiers: saved.remappedIdentifiers,
        snapshotsToReregister: saved.snapshotsToReregister, historyToken: nil)
      store.initializeState(for: state)
      store.invalidateState(for: state)
      let cached: [PersistentIdentifier: S.Snapshot] = try store.cachedSnapshots(for: [], editingState: state)
      try store.erase()
      try configuration.validate()
      _ = (found, count, identifiers, tokens, cached, store.configuration.name, store.identifier, result.descriptor)
      _ = (changes.inserted, changes.updated, changes.deleted, changes.editingState, request.descriptor)
    }
    func batch<S: DataStoreBatching>(_ store: S, _ request: DataStoreBatchDeleteRequest<Trip>) throws {
      try store.delete(request)
      _ = (request.predicate, request.editingState, request.includeSubclasses)
    }
    func snapshot<S: DataStoreSnapshot>(_ type: S.Type, _ data: any BackingData) -> S {
      var related: [PersistentIdentifier: any BackingData] = [:]
      let snapshot = S(from: data, relatedBackingDatas: &related)
      return snapshot.copy(persistentIdentifier: snapshot.persistentIdentifier, remappedIdentifiers: nil)
    }
    func history<S: HistoryProviding>(_ store: S) throws -> [S.HistoryType] {
      let type: S.HistoryType.Type = S.historyType
      try store.deleteHistory(HistoryDescriptor<S.HistoryType>())
      _ = type
      return try store.fetchHistory(HistoryDescriptor())
    }
    let errors: [DataStoreError] = [.invalidPredicate, .preferInMemoryFilter, .preferInMemorySort, .unsupportedFeature]
    let keys: [DataStoreSnapshotCodingKey] = [.persistentIdentifier, .modeledProperty("a")]
    let value: any DataStoreSnapshotValue = 1
    func defaults(_ store: DefaultStore) throws {
      let state = ModelContext(try makeContainer()).editingState
      try batch(store, DataStoreBatchDeleteRequest(predicate: nil, editingState: state))
      let transactions: [DefaultHistoryTransaction] = try history(store)
      let name: String = store.name
      let token: DefaultStore.TokenType.Type = DefaultHistoryToken.self
      _ = (transactions, name, token)
    }
    _ = (errors, keys.map(\.stringValue), value, defaults)
    _ = { snapshot(DefaultSnapshot.self, $0) as DefaultSnapshot }
    _ = { try store(DefaultStore.self, ModelConfiguration()) }
    #expect(keys == ["persistentIdentifier", "a"].compactMap { DataStoreSnapshotCodingKey(stringValue: $0) })
  }

  @Test("History, errors and observers have Apple's declarations")
  func history() throws {
    func transaction(_ transaction: DefaultHistoryTransaction) {
      let texts: [String?] = [
        transaction.author, transaction.bundleIdentifier, transaction.processIdentifier, transaction.storeIdentifier,
      ]
      let numbers: [Int64] = [transaction.transactionIdentifier, transaction.id]
      let token: DefaultHistoryToken = transaction.token
      let value: [String: Int64]? = token.tokenValue
      for change in transaction.changes {
        let id: PersistentIdentifier = change.changedPersistentIdentifier
        switch change {
        case .insert(let insert as DefaultHistoryInsert<Trip>): _ = (insert.changeIdentifier, id)
        case .update(let update as DefaultHistoryUpdate<Trip>): _ = update.updatedAttributes
        case .delete(let delete as DefaultHistoryDelete<Trip>):
          let value: (any Sendable)? = delete.tombstone[\.name]
          _ = (value, delete.tombstone.map { $0 }, delete.transactionIdentifier)
        default: break
        }
      }
      _ = (texts, numbers, value, transaction.timestamp, token.id, token < token)
    }
    var descriptor = HistoryDescriptor<DefaultHistoryTransaction>(predicate: nil, sortBy: [])
    descriptor.fetchLimit = 1
    (descriptor.predicate, descriptor.sortBy) = (nil, [SortDescriptor(\.timestamp)])
    let errors: [SwiftDataError] = [
      .unsupportedPredicate, .unsupportedSortDescriptor, .unsupportedKeyPath, .includePendingChangesWithBatchSize,
      .sortingPendingChangesWithIdentifiers, .missingModelContext, .modelValidationFailure, .loadIssueModelContainer,
      .unknownSchema, .backwardMigration, .duplicateConfiguration, .configurationFileNameContainsInvalidCharacters,
      .configurationFileNameTooLong, .configurationSchemaNotFoundInContainerSchema, .historyTokenExpired,
      .invalidTransactionFetchRequest,
    ]
    #expect(Set(errors).count == 16 && SwiftDataError.unknownSchema ~= (errors[8] as any Error))

    let container = try makeContainer()
    let context = ModelContext(container)
    let plain = ResultsObserver(fetchDescriptor: FetchDescriptor<Trip>(), modelContext: context)
    _ = ResultsObserver<Trip, Never>(filterBy: nil, sortBy: [], modelContainer: container)
    _ = ResultsObserver(fetchDescriptor: FetchDescriptor<Trip>(), sectionBy: \.name, modelContext: context)
    let sectioned = ResultsObserver(sortBy: [SortDescriptor(\Trip.name)], sectionBy: \.name, modelContext: context)
    let results: FetchResultsCollection<Trip> = plain.results
    let sections: ResultsSectionCollection<Trip, String> = sectioned.sections
    let section: ResultsSection<Trip, String>? = sections[sectionName: "a"]
    let names: [String] = sections.sectionNames
    #expect(!sections.contains(sectionName: "a") && sections.index(ofSectionNamed: "a") == nil)
    let element: (IndexPath) -> Trip = plain.element(at:)
    let path: IndexPath? = plain.indexPath(for: Trip(name: "a"))
    (plain.filterBy, plain.sortBy) = (nil, [])
    plain.fetchDescriptor = FetchDescriptor()
    let by: KeyPath<Trip, String>? = sectioned.sectionBy
    let observer = HistoryObserver(
      historyTokens: [], observedModels: [Trip.self], authors: ["me"], modelContainer: container)
    let counter: Int = observer.eventCounter
    let observed: ([any PersistentModel.Type], Set<String>, ModelContainer) = (
      observer.observedModels, observer.authors, observer.modelContainer
    )
    _ = (results, section?.id, section?.name, names, element, path, by, counter, observed, plain.modelContext)
    _ = transaction(_:)
  }
}

extension TripWriter {
  /// Whether there is a model with an identifier.
  func has(_ id: PersistentIdentifier) -> Bool {
    let trip: Trip? = self[id, as: Trip.self]
    return trip.map { !$0.isDeleted && $0.modelContext == nil } ?? false
  }
}

/// A version of the models of the tests.
private enum DeclaredVersion: VersionedSchema {
  static var models: [any PersistentModel.Type] { [Trip.self] }
  static var versionIdentifier: Schema.Version { Schema.Version(1, 0, 0) }
}
