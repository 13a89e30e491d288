// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import CoreDataTestSupport
import Foundation

/// The versions of a model among the fixtures, each once.
struct VersionFamily: CustomStringConvertible, Sendable {
  let name: String
  var versions: [(name: String, document: ModelDocument)] = []

  var description: String { name }

  /// All families with more than one version.
  static let all: [VersionFamily] = (Fixtures.modelBundles + Fixtures.compiledBundles).compactMap { url in
    // Models that cannot be read are counted by the tests of model files.
    guard let bundle = try? ModelBundle(contentsOf: url) else { return nil }
    var family = VersionFamily(name: Fixtures.name(of: url))
    var known: Set<[String: Data]> = []
    for version in bundle.versions where known.insert(VersionHashes(version.document).entities).inserted {
      family.versions.append(version)
    }
    return family.versions.count > 1 ? family : nil
  }

  /// Every third family, for what takes long; with `make torture` all.
  static var some: [VersionFamily] {
    TortureSize.isFull ? all : all.enumerated().filter { $0.offset % 3 == 0 }.map(\.element)
  }

  /// Each version with each other one.
  var pairs: [(source: Int, destination: Int)] {
    versions.indices.flatMap { source in versions.indices.filter { $0 != source }.map { (source, $0) } }
  }
}
