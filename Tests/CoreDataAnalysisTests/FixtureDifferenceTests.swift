// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataModelFiles
import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreDataAnalysis
@testable import CoreDataMigration

@Suite("Differences and matches over models and stores of other projects", .serialized)
struct FixtureDifferenceTests {
  /// All bundles of several versions that can be read; some fixtures are folders without a model in them.
  private static let bundles = (Fixtures.modelBundles + Fixtures.compiledBundles).compactMap { url -> ModelBundle? in
    guard let bundle = try? ModelBundle(contentsOf: url), bundle.versions.count > 1 else { return nil }
    return bundle
  }

  /// Every version with those that are near, forwards and backwards.
  private static func pairs(of bundle: ModelBundle) -> [(ModelBundle.Version, ModelBundle.Version)] {
    let positions = bundle.versions.indices
    return positions.flatMap { old in
      positions.filter { $0 != old && abs($0 - old) <= 2 }.map { (bundle.versions[old], bundle.versions[$0]) }
    }
  }

  @Test(
    "A difference says that an entity's hash changes exactly where it does",
    .enabled(if: Fixtures.isPresent, "The fixtures are not beside the repository"))
  func hashes() {
    var pairs = 0
    for bundle in Self.bundles {
      for (old, new) in Self.pairs(of: bundle) {
        pairs += 1
        let difference = ModelDifference(from: old.document, to: new.document)
        let before = VersionHashes(old.document).entities
        let after = VersionHashes(new.document).entities
        #expect(difference.changesVersionHashes == (before != after), "\(bundle.url.path) \(new.name)")
        let index = EntityIndex(new.document)
        for (name, hash) in after where before[name] != nil {
          let line = Set(index.lineage(of: name).map(\.name))
          let told = difference.changes.contains { $0.changesVersionHash && line.contains($0.entity ?? "") }
          // Not the reverse: a parent may gain what a child has already.
          if before[name] != hash { #expect(told, "\(bundle.url.path) \(new.name) \(name)") }
        }
      }
    }
    #expect(pairs > 150)
  }

  @Test(
    "A difference asks for custom work exactly where a mapping cannot be inferred",
    .enabled(if: Fixtures.isPresent, "The fixtures are not beside the repository"))
  func inference() throws {
    var inferred = 0
    for bundle in Self.bundles {
      for (old, new) in Self.pairs(of: bundle) {
        let difference = ModelDifference(from: old.document, to: new.document)
        do {
          _ = try InferredMapping(source: old.document, destination: new.document)
          inferred += 1
          #expect(difference.migration != .custom, "\(bundle.url.path) \(new.name)")
        } catch let failure as InferenceFailure {
          #expect(difference.migration == .custom, "\(bundle.url.path) \(new.name): \(failure)")
        }
      }
    }
    #expect(inferred > 100)
  }

  @Test(
    "Every store that carries a model matches that model, and no file changes by reading",
    .enabled(if: Fixtures.isPresent, "The fixtures are not beside the repository"))
  func stores() throws {
    var read = 0
    for url in Fixtures.stores {
      let siblings = ["", "-wal", "-shm", "-journal"].map { url.path + $0 }
      let before = siblings.map { FileManager.default.contents(atPath: $0) }
      let reader = try StoreReader(url: url)
      var objects = 0
      try reader.forEachObject { _ in objects += 1 }
      #expect(try reader.rowCounts().values.reduce(0, +) == objects, "\(Fixtures.name(of: url))")
      if let model = reader.metadata.model {
        let match = StoreMatch(storeHashes: reader.metadata.hashes, storeModel: model, versions: [("own", model)])
        #expect(match.version == "own", "\(Fixtures.name(of: url))")
        #expect(reader.origin == .cache, "\(Fixtures.name(of: url))")
      }
      #expect(siblings.map { FileManager.default.contents(atPath: $0) } == before, "\(Fixtures.name(of: url))")
      read += 1
    }
    #expect(read == 41)
  }
}
