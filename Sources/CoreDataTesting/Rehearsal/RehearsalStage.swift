// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataFileSystem
import CoreDataMigration
import CoreDataModelFiles
import CoreDataSQLite
import CoreDataStoreFiles
import Foundation

/// Creates stores in a temporary directory, migrates them, and compares the results.
final class RehearsalStage {
  private let known: ModelVersions
  /// The name of the wanted version.
  let destination: String
  private let mappings: [URL]
  private let seed: Int
  private let keptIn: URL?
  /// The directory of the stores. Given stores contain private data, which only the user of this process may read.
  private let directory: PrivateDirectory
  private var folder: URL { directory.url }

  /// The versions before the wanted one whose hashes differ from it.
  let names: [String]
  /// The versions before the wanted one that cannot be read.
  let unreadable: [String]

  init(_ known: ModelVersions, to version: String?, mappings: [URL], seed: Int, keptIn: URL?) throws {
    self.known = known
    self.mappings = mappings
    self.seed = seed
    self.keptIn = keptIn
    let wanted = try known.version(named: version)
    destination = wanted.name
    var seen: Set<[String: Data]> = [wanted.hashes]
    let earlier = known.versions.prefix { $0.name != wanted.name }
    names = earlier.filter { seen.insert($0.hashes).inserted }.map(\.name)
    let readable = Set(earlier.map(\.name))
    unreadable = known.names.prefix { $0 != wanted.name }.filter { !readable.contains($0) }
    directory = try PrivateDirectory.make(
      prefix: "OpenCoreData-rehearsal-", in: FileManager.default.temporaryDirectory)
  }

  /// Removes the temporary directory.
  func clear() {
    // A leftover directory is private, and the next rehearsal removes it.
    try? directory.remove()
  }

  private typealias Case = MigrationRehearsal.Case

  // MARK: Created stores

  /// Rehearses with stores of every version before the wanted one.
  ///
  /// - Returns: the cases, and the versions whose paths lead through versions that do not reach the wanted one, with
  ///   those versions.
  /// - Throws: the errors of reading mapping models.
  func rehearseAll(
    _ expected: ExpectedRefusals, limits: RehearsalRoutes.Limits = .init(),
    _ progress: (MigrationRehearsal.Case) -> Void
  ) throws -> (cases: [MigrationRehearsal.Case], blocked: [String: String]) {
    let refused = Set(expected.items.map(\.source))
    let routes = try RehearsalRoutes(
      known, from: names, to: destination, mappings: mappings, whole: refused, limits: limits)
    var found: [String: [Case]] = [:]
    for route in routes.routes { found[route.source] = rehearse(route.source, to: route.destination, progress) }
    let stops = found.filter { !$0.value.contains { $0.isReached || $0.isFailure } }
    var blocked = routes.blocked(by: Set(stops.keys))
    for name in names {
      // If a version on the path is expected to be refused, the stores of this version need not be.
      guard let stop = blocked[name], refused.contains(stop) else { continue }
      found[name] = rehearse(name, to: destination, progress)
      blocked[name] = nil
    }
    return (names.flatMap { found[$0] ?? [] }, blocked)
  }

  /// Rehearses with created and filled stores of a version.
  func rehearse(
    _ name: String, to end: String, _ progress: (MigrationRehearsal.Case) -> Void
  ) -> [MigrationRehearsal.Case] {
    ModelFilling.Kind.allCases.map { rehearse(name, $0, to: end, progress) }
  }

  private func rehearse(
    _ name: String, _ kind: ModelFilling.Kind, to end: String, _ progress: (MigrationRehearsal.Case) -> Void
  ) -> MigrationRehearsal.Case {
    var result = Case(name, end, "\(kind)")
    progress(result)
    let url = folder.appendingPathComponent(UUID().uuidString).appendingPathComponent("\(name).sqlite")
    defer { remove(url) }
    do {
      let version = try known.version(named: name)
      do {
        try fill(url, version, kind)
      } catch {
        result.outcome = .skipped(Self.sentence(error))
        return result
      }
      migrate(url, version, &result)
    } catch {
      result.outcome = .failed([Self.sentence(error)])
    }
    return result
  }

  private func fill(_ url: URL, _ version: ModelVersion, _ kind: ModelFilling.Kind) throws {
    let document = version.document
    try FileManager.default.createDirectory(at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
    // Extreme values violate rules, as the stores of old apps do.
    let keepsRules = kind != .extreme
    var filling = ModelFilling(document, kind, first: seed * 1000, keepsRules: keepsRules)
    try withContext(url, try keepsRules ? plain(version) : ModelFilling.lenient(document)) {
      try filling.fill($0)
    }
  }

  /// The models of the most recently used versions.
  private var models: [ObjectIdentifier: (version: ModelVersion, model: NSManagedObjectModel)] = [:]
  private static let modelCount = 4

  /// Returns the model of a version without the app's classes, which an old version may not match.
  private func plain(_ version: ModelVersion) throws -> NSManagedObjectModel {
    if let known = models[version.identity] { return known.model }
    var copy = version.document
    for position in copy.entities.indices { copy.entities[position].className = nil }
    let model = try NSManagedObjectModel(document: copy)
    if models.count >= Self.modelCount { models = [:] }
    models[version.identity] = (version, model)
    return model
  }

  // MARK: Given stores

  /// Rehearses with a copy of a store.
  func rehearse(_ store: URL, _ progress: (MigrationRehearsal.Case) -> Void) -> MigrationRehearsal.Case {
    var result = Case("?", destination, store.lastPathComponent)
    let url = folder.appendingPathComponent(UUID().uuidString).appendingPathComponent(store.lastPathComponent)
    defer { remove(url) }
    do {
      try FileManager.default.createDirectory(at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
      try Self.copy(store, to: url)
      let migration = try StoreMigration(
        storeAt: url, known: known, version: destination, mappings: mappings, allowsLoss: .all)
      result = Case(migration.source, destination, store.lastPathComponent)
      progress(result)
      guard !migration.beginsWithOwnModel else {
        result.outcome = .failed([
          "None of the versions of the model has written the store. Give a store of this model, or add the version that has "
            + "written it."
        ])
        return result
      }
      migrate(url, try known.version(named: migration.source), &result)
    } catch {
      result.outcome = .failed([Self.sentence(error)])
    }
    return result
  }

  // MARK: Migration

  /// The maximum number of rows for comparing them one by one, in memory.
  private static let maxComparedCount = 200_000

  private func migrate(_ url: URL, _ version: ModelVersion, _ result: inout Case) {
    let kept = url.deletingLastPathComponent().appendingPathComponent("before.sqlite")
    do {
      let count = try Self.rowCount(url)
      let before = count <= Self.maxComparedCount ? try image(url, version) : nil
      if keptIn != nil { try Self.copy(url, to: kept) }
      var migration = try StoreMigration(
        storeAt: url, known: known, version: result.destination, mappings: mappings, allowsLoss: .all)
      migration.keepsReplacedStore = false
      result.path = migration.steps.map(\.source) + [migration.destination]
      let missing = migration.missingPolicies
      guard missing.isEmpty else {
        result.outcome = .skipped(
          "This program does not have the migration policies \(missing.joined(separator: ", ")). Rehearse in a test of the "
            + "app, with CoreDataTesting, or by `swift package coredata migrate rehearse` in the app's package.")
        return
      }
      let start = Date()
      do {
        result.rows = try migration.run().rows
      } catch {
        result.seconds = Date().timeIntervalSince(start)
        result.outcome = try refusal(error, migration, url, version, before)
        if let before {
          result.rows = Dictionary(grouping: before.objects.keys, by: \.entity)
            .mapValues { .init(before: $0.count, after: $0.count) }
        }
        keep(kept, &result)
        return
      }
      result.seconds = Date().timeIntervalSince(start)
      result.outcome = try comparison(migration, url, before)
    } catch {
      result.outcome = .failed([Self.sentence(error)])
    }
    keep(kept, &result)
  }

  /// Returns the outcome of a refused migration.
  private func refusal(
    _ error: any Error, _ migration: StoreMigration, _ url: URL, _ version: ModelVersion, _ before: StoreImage?
  ) throws -> MigrationRehearsal.Outcome {
    let reason = Self.sentence(error)
    if let before {
      let differences = try image(url, version).differences(from: before)
      guard differences.isEmpty else {
        return .failed([reason, "The migration failed, and the store has changed:"] + differences)
      }
      // Only the reference can determine that the rows do not allow the migration.
      if migration.steps.allSatisfy({ $0.kind == .inferred }) {
        return reference(migration.steps[...]).refusal(reason, before)
      }
    }
    return .refused(reason)
  }

  private func comparison(_ migration: StoreMigration, _ url: URL, _ before: StoreImage?) throws
    -> MigrationRehearsal.Outcome
  {
    let problems = try Self.unsound(url)
    guard problems.isEmpty else { return .failed(problems) }
    guard let before, let last = migration.steps.last else { return .migrated }
    let after = try image(url, known.version(named: last.destination))
    guard migration.steps.allSatisfy({ $0.kind == .inferred }) else {
      let inferred = migration.steps.dropLast()
      guard inferred.allSatisfy({ $0.kind == .inferred }),
        let mapped = MappedReference(
          last.mappingModel.document, from: last.sourceModel.document, to: last.destinationModel.document)
      else { return .migrated }
      let source = self.reference(inferred).image(after: before)
      let differences = mapped.differences(before: source, after: after)
      return differences.isEmpty ? .migrated : .failed(differences)
    }
    return reference(migration.steps[...]).outcome(before: before, after: after)
  }

  private func reference(_ steps: ArraySlice<StoreMigration.Step>) -> PathReference {
    PathReference(steps: steps.map { ($0.sourceModel.document, $0.destinationModel.document) })
  }

  // MARK: Files

  private func keep(_ store: URL, _ result: inout Case) {
    guard result.isFailure, let keptIn, FileCalls.exists(store) else { return }
    let name = result.name.map { $0.isLetter || $0.isNumber ? String($0) : "-" }.joined()
    let place = keptIn.appendingPathComponent("\(name)-seed\(seed).sqlite")
    do {
      try FileManager.default.createDirectory(at: keptIn, withIntermediateDirectories: true)
      try Self.copy(store, to: place)
      result.kept = place
    } catch {
      if case .failed(let texts) = result.outcome {
        result.outcome = .failed(texts + ["The store could not be kept: \(Self.sentence(error))"])
      }
    }
  }

  private static func copy(_ store: URL, to copy: URL) throws {
    if FileCalls.exists(copy) { try FileCalls.removeFile(copy) }
    try FileCalls.makePrivateFile(copy)
    let file = try StoreFile.openUntouched(store)
    try file.connection.backup(toPath: copy.path)
    try file.close()
    try StoreFiles.linkValues(of: store, to: copy)
  }

  private func remove(_ store: URL) {
    // The whole directory is removed at the end.
    try? FileManager.default.removeItem(at: store.deletingLastPathComponent())
  }

  private static func rowCount(_ url: URL) throws -> Int {
    let connection = try SQLiteConnection(url: url, mode: .readOnly)
    let tables = try connection.rows("SELECT name FROM sqlite_master WHERE type = 'table' AND name LIKE 'Z%'")
      .compactMap { $0[0].text }
    let count = try tables.reduce(0) { sum, name in
      sum + Int(try connection.rows("SELECT count(*) FROM \(SQLName.quoted(name))").first?[0].integer ?? 0)
    }
    try connection.close()
    return count
  }

  /// Returns the problems that SQLite finds in a file.
  private static func unsound(_ url: URL) throws -> [String] {
    let connection = try SQLiteConnection(url: url, mode: .readOnly)
    let lines = try connection.rows("PRAGMA integrity_check(20)").compactMap { $0[0].text }
    try connection.close()
    return lines == ["ok"] ? [] : lines
  }

  private func image(_ url: URL, _ version: ModelVersion) throws -> StoreImage {
    try withContext(url, plain(version)) { try StoreImage($0, version.document) }
  }

  private func withContext<Result>(
    _ url: URL, _ model: NSManagedObjectModel, _ work: (NSManagedObjectContext) throws -> Result
  ) throws -> Result {
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
    let store = try coordinator.addPersistentStore(
      ofType: NSSQLiteStoreType, configurationName: nil, at: url, options: nil)
    let context = NSManagedObjectContext(concurrencyType: .privateQueueConcurrencyType)
    context.persistentStoreCoordinator = coordinator
    let result = try context.performAndWait { try work(context) }
    try coordinator.remove(store)
    return result
  }

  private static func sentence(_ error: any Error) -> String {
    if let unfound = error as? ValidValues.Unfound { return unfound.description }
    if let file = error as? ModelFileError { return file.description }
    let error = error as NSError
    // The name of the store is omitted: it is a copy, or was created for the rehearsal.
    let parts = [error.localizedDescription, error.reasonWithoutStore, error.localizedRecoverySuggestion]
      .compactMap { $0 }
    return parts.reduce(into: [String]()) { if !$0.contains($1) { $0.append($1) } }.joined(separator: " ")
  }
}
