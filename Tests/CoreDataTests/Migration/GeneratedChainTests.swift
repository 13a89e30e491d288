// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreData
@testable import CoreDataStoreFiles

/// Random models that change three to four times, migrated in one go, against one step after another and the reference.
///
/// `COREDATA_CHAINS=500` runs more.
@Suite("Generated chains of versions")
struct GeneratedChainTests {
  private static let count = UInt64(TortureSize.number("COREDATA_CHAINS", 6, full: 15))

  @Test("Several steps in one go leave what single steps leave", arguments: 1...count)
  func chain(_ seed: UInt64) throws {
    let chain = try Chain(seed: seed &+ 40_000)
    let migration = try StoreMigration(storeAt: chain.store.url, modelsAt: chain.models, version: nil)
    let path = try migration.steps.map { step in try #require(chain.versions[step.destination]) }
    let steps = try chain.singleSteps(path)
    var events: [MigrationProgress] = []
    do {
      try migration.run { events.append($0) }
    } catch let error as NSError {
      #expect(steps == nil, "\(seed): \(error.localizedFailureReason ?? "\(error)")")
      #expect(
        try chain.image(chain.store, chain.first) == chain.before, "\(seed): a refused migration has changed the store")
      return
    }
    let expected = try #require(steps, "\(seed): migrated in one go what single steps refuse")
    let last = try #require(path.last)
    let after = try chain.image(chain.store, last)
    #expect(after.differences(from: expected) == [], "\(seed)")
    #expect(events.map(\.fractionCompleted) == events.map(\.fractionCompleted).sorted())
    #expect(events.last?.fractionCompleted == 1)
    // The file's model, whose order of entities and properties is not the generator's.
    let model = try NSManagedObjectModel.load(contentsOf: chain.models)
    try StoreChecks.check(chain.store.url, model)
    try StoreChecks.checkJoins(chain.store.url, model)
    try StoreChecks.checkFiles(chain.store.url, model)
    try StoreChecks.checkLikeNew(chain.store.url, model)
  }
}

/// A model in several versions, and a store of the first.
private struct Chain {
  let store: TemporaryStore
  let first: ModelDocument
  let versions: [String: ModelDocument]
  let models: URL
  let before: StoreImage

  init(seed: UInt64) throws {
    store = try TemporaryStore()
    var model = GeneratedModel(seed: seed)
    var documents = [model.document]
    for _ in 0..<(3 + Int(seed % 2)) {
      guard let next = model.next() else { break }
      model = next
      documents.append(next.document)
    }
    first = documents[0]
    let named = documents.enumerated().map { ModelBundle.Version("Version \($0.offset + 1)", $0.element) }
    versions = Dictionary(uniqueKeysWithValues: named.map { ($0.name, $0.document) })
    models = store.folder.appendingPathComponent("Model.momd")
    try ModelBundle.writeCompiled(named, current: "Version \(documents.count)", to: models)
    var rows = GeneratedRows(first, seed: seed)
    try rows.fill(try store.context(try NSManagedObjectModel(document: first)))
    try store.close()
    before = try StoreImage(try store.context(try NSManagedObjectModel(document: first)), first)
    try store.close()
  }

  func image(_ store: TemporaryStore, _ document: ModelDocument) throws -> StoreImage {
    let image = try StoreImage(try store.context(try NSManagedObjectModel(document: document)), document)
    try store.close()
    return image
  }

  /// Takes a copy of the store through versions one by one, each compared with the reference.
  ///
  /// - Returns: what the copy holds in the end; nil where a step is refused.
  func singleSteps(_ path: [ModelDocument]) throws -> StoreImage? {
    let copy = try TemporaryStore()
    try StoreFiles.copy(from: store.url, to: copy.url)
    var (old, image) = (first, before)
    for new in path {
      let reference = MigrationReference(from: old, to: new)
      guard reference.expected(after: image).obstacles.isEmpty else { return nil }
      _ = try copy.context(
        try NSManagedObjectModel(document: new),
        options: [
          NSMigratePersistentStoresAutomaticallyOption: true, NSInferMappingModelAutomaticallyOption: true,
          MigrationOption.allowsLoss: true,
        ])
      try copy.close()
      let after = try self.image(copy, new)
      let distances = reference.distances(from: image, to: after)
      let expected = reference.expected(after: image.moved(distances, in: old)).image
      #expect(after.differences(from: expected) == [])
      (old, image) = (new, after)
    }
    return image
  }
}
