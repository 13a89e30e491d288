// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation
import SwiftData

/// A store that keeps models in a JSON file, which it reads for each fetch and writes for each save.
final class JSONStore: DataStore {
  typealias Configuration = JSONStoreConfiguration
  typealias Snapshot = DefaultSnapshot

  let configuration: JSONStoreConfiguration
  let identifier: String
  let schema: Schema

  init(_ configuration: JSONStoreConfiguration, migrationPlan: (any SchemaMigrationPlan.Type)?) throws {
    guard let schema = configuration.schema else { throw DataStoreError.unsupportedFeature }
    self.configuration = configuration
    self.schema = schema
    identifier = configuration.url.lastPathComponent
  }

  func fetch<T: PersistentModel>(
    _ request: DataStoreFetchRequest<T>
  ) throws -> DataStoreFetchResult<T, DefaultSnapshot> {
    configuration.probe.note("fetch \(Schema.entityName(for: T.self))")
    try configuration.probe.onFetch?()
    if request.descriptor.predicate != nil { throw DataStoreError.preferInMemoryFilter }
    if !request.descriptor.sortBy.isEmpty { throw DataStoreError.preferInMemorySort }
    let all = try read()
    var found = all.values.filter { $0.persistentIdentifier.entityName == Schema.entityName(for: T.self) }
      .sorted { $0.persistentIdentifier < $1.persistentIdentifier }
    found = Array(found.dropFirst(request.descriptor.fetchOffset ?? 0).prefix(request.descriptor.fetchLimit ?? .max))
    return DataStoreFetchResult(descriptor: request.descriptor, fetchedSnapshots: found, relatedSnapshots: all)
  }

  func save(
    _ request: DataStoreSaveChangesRequest<DefaultSnapshot>
  ) throws -> DataStoreSaveChangesResult<DefaultSnapshot> {
    configuration.probe.note(
      "save \(request.inserted.count) \(request.updated.count) \(request.deleted.count)"
        + (request.editingState.author.map { " by \($0)" } ?? ""))
    var all = try read()
    var remapped: [PersistentIdentifier: PersistentIdentifier] = [:]
    for snapshot in request.inserted {
      remapped[snapshot.persistentIdentifier] = try .identifier(
        for: identifier, entityName: snapshot.persistentIdentifier.entityName, primaryKey: UUID())
    }
    for snapshot in request.inserted + request.updated {
      let final = remapped[snapshot.persistentIdentifier] ?? snapshot.persistentIdentifier
      all[final] = snapshot.copy(persistentIdentifier: final, remappedIdentifiers: remapped)
    }
    for snapshot in request.deleted { all[snapshot.persistentIdentifier] = nil }
    try configuration.probe.onSave?()
    try write(all)
    return DataStoreSaveChangesResult(
      for: identifier, remappedIdentifiers: configuration.probe.remap?(remapped) ?? remapped)
  }

  func erase() throws { try write([:]) }
  func initializeState(for editingState: EditingState) { configuration.probe.note("begin") }
  func invalidateState(for editingState: EditingState) { configuration.probe.ended.signal() }

  private func read() throws -> [PersistentIdentifier: DefaultSnapshot] {
    guard FileManager.default.fileExists(atPath: configuration.url.path) else { return [:] }
    let decoder = JSONDecoder()
    decoder.dateDecodingStrategy = .iso8601
    decoder.userInfo[DefaultSnapshot.schemaKey] = schema
    let snapshots = try decoder.decode([DefaultSnapshot].self, from: Data(contentsOf: configuration.url))
    return Dictionary(snapshots.map { ($0.persistentIdentifier, $0) }) { first, _ in first }
  }

  private func write(_ snapshots: [PersistentIdentifier: DefaultSnapshot]) throws {
    let encoder = JSONEncoder()
    encoder.dateEncodingStrategy = .iso8601
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
    let sorted = snapshots.values.sorted { $0.persistentIdentifier < $1.persistentIdentifier }
    try encoder.encode(sorted).write(to: configuration.url, options: .atomic)
  }
}

struct JSONStoreConfiguration: DataStoreConfiguration {
  typealias Store = JSONStore

  var name: String
  var schema: Schema?
  var url: URL
  var probe = StoreProbe()

  init(_ name: String = "json", schema: Schema? = nil, url: URL) {
    (self.name, self.schema, self.url) = (name, schema, url)
  }
}

/// Records the calls of a store, and makes it fail.
final class StoreProbe: Hashable, @unchecked Sendable {
  private let lock = NSLock()
  private var noted: [String] = []
  /// Signalled when a context has been deallocated.
  let ended = DispatchSemaphore(value: 0)
  // Set before the store is used.
  var onFetch: (() throws -> Void)?
  var onSave: (() throws -> Void)?
  var remap: (([PersistentIdentifier: PersistentIdentifier]) -> [PersistentIdentifier: PersistentIdentifier])?

  func note(_ call: String) { lock.withLock { noted.append(call) } }

  /// Returns the calls since the last time.
  func calls() -> [String] {
    lock.withLock {
      defer { noted = [] }
      return noted
    }
  }

  static func == (left: StoreProbe, right: StoreProbe) -> Bool { left === right }
  func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}

struct StoreFailure: Error, Equatable {}

/// A JSON store in a temporary directory, with containers of the tests' models.
final class JSONFixture {
  let url: URL
  let configuration: JSONStoreConfiguration
  var probe: StoreProbe { configuration.probe }

  init() throws {
    let directory = FileManager.default.temporaryDirectory.appendingPathComponent("JSONStore \(UUID().uuidString)")
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    url = directory.appendingPathComponent("trips.json")
    configuration = JSONStoreConfiguration(url: url)
  }

  deinit {
    // The system empties the directory of temporary files too.
    try? FileManager.default.removeItem(at: url.deletingLastPathComponent())
  }

  func container() throws -> ModelContainer {
    try ModelContainer(for: Trip.self, Folder.self, configurations: configuration)
  }
}
