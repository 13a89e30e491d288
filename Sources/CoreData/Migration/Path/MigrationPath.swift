// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataMigration
import CoreDataModelFiles
import Foundation

/// The way over the versions of a model, from the one that a store has to the one that it is to have. An addition to Apple's
/// interface.
///
/// These are the rules by which it is chosen, the first that decides:
///
/// 1. A mapping model that somebody wrote for exactly the two versions is used. It is what Core Data would use, and it was
///    written on purpose: also where all steps in between could be inferred.
/// 2. Inferred steps do not pass over a mapping model. Where one leads from a version on the way to a later one, the two were
///    not meant to be connected by inference, and what the mapping model carries over would be lost: so the way is one that
///    uses it, even where the direct way could be inferred. Only where no such way leads to the destination it is passed
///    over; then the explanation says so.
/// 3. As few steps as possible need code of the program (a policy), and then as few as possible make a copy of the store: one
///    mapping model over three versions is better than three of them.
/// 4. Inferred steps go through all versions in between, so that renamings and default values of each come to bear. A version
///    is left out where no mapping to it or from it can be inferred, and where going through it would drop what both ends
///    have: the order of versions, by their names or by what they have in common, need not be that of their making.
///
/// A mapping model that was meant for two versions on the way and does not fit them any more is an error: it is never left
/// out in silence.
///
/// The way back to an earlier version is found by the same rules. It may drop what only later versions have, as it does with
/// Apple's inference.
///
/// A store that none of the versions has written, and that carries its own model, is taken first to the version to which an
/// inferred step drops the least of what the store holds, and among these to the one that is most like the store's model.
/// Such a way must not drop anything that the store holds, unless `StoreMigration` is told to allow it.
public struct MigrationPath {
  /// The name of the version that the way begins with.
  public let source: String
  /// The name of the version that the way ends with.
  public let destination: String
  /// What is to be done, in order; empty where the two versions are the same to the hash.
  public let steps: [StoreMigration.Step]
  /// Why this way was chosen, in sentences; the reason of each step is with the step.
  public let explanation: [String]

  /// Finds the way between two versions of a model.
  ///
  /// - Parameters:
  ///   - modelURL: an `.xcdatamodeld` or `.momd` with the versions.
  ///   - source: the name of the version to begin with.
  ///   - destination: the name of the version to end with; nil for the current one.
  ///   - mappings: mapping models (`.cdm`, `.xcmappingmodel`), and folders of such.
  ///   - isProgressive: false for Core Data's own way: one step, by a mapping model for exactly the two versions, or else
  ///     inferred.
  /// - Throws: the errors of reading models and mapping models; 134060 for an unknown version; 134140 for a mapping model that
  ///   does not fit any more; 134190 where a step cannot be inferred.
  public init(
    modelsAt modelURL: URL, from source: String, to destination: String? = nil, mappings: [URL] = [],
    isProgressive: Bool = true
  ) throws {
    let known = try ModelVersions(contentsOf: modelURL)
    try self.init(
      known: known, from: known.version(named: source), to: known.version(named: destination),
      rules: Rules(mappings: MappingPlaces(urls: mappings), isProgressive: isProgressive))
  }

  /// What a way may consist of.
  struct Rules {
    var mappings = MappingPlaces.none
    var infers = true
    var isProgressive = true
  }

  /// Finds the way between two versions.
  ///
  /// - Parameters:
  ///   - nearest: the known version that comes first on the way from a source that is none of those known.
  ///   - storeURL: the store that the errors are about.
  init(
    known: ModelVersions, from source: ModelVersion, to destination: ModelVersion, rules: Rules,
    nearest: ModelVersion? = nil, storeURL: URL? = nil
  ) throws {
    self.source = source.name
    self.destination = destination.name
    guard source.hashes != destination.hashes else {
      (steps, explanation) = ([], [])
      return
    }
    let files = try rules.mappings.mappings()
    // A mapping model may be for any two versions; inferred steps lead over those in between.
    let versions =
      files.isEmpty && nearest == nil ? known.versions(between: source, and: destination) : known.versions
    let order = VersionOrder(known: versions, source: source, destination: destination, nearest: nearest)
    var mappings = KnownMappings(files, versions: order.versions, names: order.names)
    if !rules.isProgressive { mappings.keep(files, from: order.source, to: order.destination) }
    let search = PathSearch(
      versions: order.versions, source: order.source, destination: order.destination, mappings: mappings,
      inferred: InferredSteps(order.versions), infers: rules.infers, isProgressive: rules.isProgressive)
    let planner = PathPlanner(search: search, storeURL: storeURL)
    (steps, explanation) = try planner.plan()
  }
}
