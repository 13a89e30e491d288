// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataMigration
import CoreDataModelFiles
import Foundation

/// Converts the result of a search to steps, each with its reason.
struct PathPlanner {
  let search: PathSearch
  /// The store, for error messages.
  let storeURL: URL?

  /// - Throws: 134140 for a mapping model that no longer matches, and if inference is not allowed; 134190 for a step
  ///   that cannot be inferred.
  func plan() throws -> (steps: [StoreMigration.Step], explanation: [String]) {
    let legs = try legs()
    return (try legs.map { try step($0) }, explanation(legs))
  }

  /// Returns the names of the versions on the path, both ends included.
  ///
  /// - Throws: as `plan()`.
  func names() throws -> [String] {
    [name(search.source)] + (try legs().map { name($0.destination) })
  }

  private func legs() throws -> [PathSearch.Leg] {
    guard let found = search.legs() else { throw try failure() }
    let legs = search.withoutDetours(found)
    for run in runs(of: legs) {
      if let stale = search.stale(between: run.start, and: run.end) {
        throw staleMapping(stale.pair, stale.mapping)
      }
    }
    return legs
  }

  private func name(_ version: Int) -> String { search.versions[version].name }

  /// Returns the runs of consecutive inferred steps.
  private func runs(of legs: [PathSearch.Leg]) -> [(start: Int, end: Int)] {
    var runs: [(start: Int, end: Int)] = []
    var isRunning = false
    for leg in legs {
      if leg.mapping != nil {
        isRunning = false
      } else if isRunning, let last = runs.indices.last {
        runs[last].end = leg.destination
      } else {
        runs.append((leg.source, leg.destination))
        isRunning = true
      }
    }
    return runs
  }

  // MARK: Steps

  private func step(_ leg: PathSearch.Leg) throws -> StoreMigration.Step {
    let (source, destination) = (search.versions[leg.source], search.versions[leg.destination])
    let (sourceModel, destinationModel) = (try source.model(), try destination.model())
    guard let file = leg.mapping else {
      return StoreMigration.Step(
        source: source.name, destination: destination.name, kind: .inferred, sourceModel: sourceModel,
        destinationModel: destinationModel,
        mappingModel: try search.inferred.mappingModel(from: leg.source, to: leg.destination),
        mappingURL: nil, reason: inferredReason(leg))
    }
    let files = search.mappings.fitting[.init(source: leg.source, destination: leg.destination)] ?? [file]
    let mapping = try CombinedMappingModel(files, source: sourceModel, destination: destinationModel)
    return StoreMigration.Step(
      source: source.name, destination: destination.name, kind: .mapping, sourceModel: sourceModel,
      destinationModel: destinationModel, mappingModel: mapping.model, mappingURL: file.url, reason: mapping.reason)
  }

  private func inferredReason(_ leg: PathSearch.Leg) -> String {
    var ranges: [(versions: [Int], reason: String)] = []
    for version in search.between(leg.source, leg.destination) {
      let reason = reasonToSkip(version, leg)
      if ranges.last?.reason == reason {
        ranges[ranges.count - 1].versions.append(version)
      } else {
        ranges.append((versions: [version], reason: reason))
      }
    }
    var sentences = ranges.prefix(3).map { range in "\(names(range.versions)) left out: \(range.reason)" }
    let rest = ranges.dropFirst(3).reduce(0) { $0 + $1.versions.count }
    if rest > 0 { sentences.append("\(rest == 1 ? "One more is" : "\(rest) more are") left out for similar reasons.") }
    return ([StoreMigration.Step.plainReason] + sentences).joined(separator: " ")
  }

  /// Returns the names as a phrase: `'2' is`, `'2' and '3' are` or `'2' to '20' (19 versions) are`.
  private func names(_ versions: [Int]) -> String {
    guard let first = versions.first, let last = versions.last, versions.count > 1 else {
      return versions.first.map { "'\(name($0))' is" } ?? ""
    }
    return versions.count == 2
      ? "'\(name(first))' and '\(name(last))' are"
      : "'\(name(first))' to '\(name(last))' (\(versions.count) versions) are"
  }

  private func reasonToSkip(_ version: Int, _ leg: PathSearch.Leg) -> String {
    for (source, destination, words) in [
      (leg.source, version, "to it"), (version, leg.destination, "from it"),
    ] {
      guard case .failure(let failure as InferenceFailure) = search.inferred.result(from: source, to: destination)
      else {
        continue
      }
      let first = failure.obstacles.first
      let place = [first?.entity, first?.property].compactMap { $0 }.joined(separator: ".")
      return "no mapping \(words) can be inferred\(place.isEmpty ? "." : ", because of \(place).")"
    }
    for (source, destination) in [(leg.source, version), (version, leg.destination)] {
      if let found = search.inferred.mapping(from: source, to: destination)?.attributeWithoutValue {
        return "objects would have no value for \(found.entity).\(found.attribute), which is required."
      }
    }
    if let lost = search.lost(from: leg.source, through: version, to: leg.destination) {
      return "going through it would drop \(lost), which both ends of the step have."
    }
    return "it is on no path to the destination."
  }

  private func explanation(_ legs: [PathSearch.Leg]) -> [String] {
    let ends = "from '\(name(search.source))' to '\(name(search.destination))'"
    let copies = legs.count { $0.mapping != nil }
    var sentences: [String] = []
    if copies == 1, legs.count == 1 {
      sentences.append("A mapping model exists for exactly the path \(ends).")
    } else if copies > 0 {
      sentences.append(
        "Mapping models are on the path \(ends); inferred steps lead to and from them, and none bypasses them.")
    } else if legs.count > 1 {
      sentences.append(
        "Every step \(ends) can be inferred; the renamings and default values of each version are "
          + "applied.")
    }
    let code = legs.count { $0.mapping?.needsCode == true }
    if code > 0 { sentences.append("\(code == 1 ? "One step needs" : "\(code) steps need") policies of the program.") }
    for run in runs(of: legs) {
      for (pair, mapping) in search.mappingModels(between: run.start, and: run.end) {
        sentences.append(
          "The mapping model \(mapping.name) from '\(name(pair.source))' to '\(name(pair.destination))' is not used: "
            + "no path through it leads to '\(name(search.destination))'.")
      }
    }
    return sentences + unused(legs)
  }

  /// The maximum number of mapping models for other versions that are named individually.
  private static let namedCount = 3

  /// Returns sentences about mapping models that no step uses and that do not connect two versions on the path.
  private func unused(_ legs: [PathSearch.Leg]) -> [String] {
    let passed = runs(of: legs).flatMap { search.mappingModels(between: $0.start, and: $0.end) }.map(\.pair)
    let steps = Set(legs.map { KnownMappings.Pair(source: $0.source, destination: $0.destination) } + passed)
    let others = search.mappings.fitting.filter { !steps.contains($0.key) }
      .sorted { ($0.key.source, $0.key.destination) < ($1.key.source, $1.key.destination) }
      .flatMap { pair, files in
        files.map { "\($0.name) is not used: it leads from '\(name(pair.source))' to '\(name(pair.destination))'." }
      }
    let unplaced = search.mappings.unplaced.map {
      "\($0.name) is not used: no two of the versions have all the entities that it maps."
    }
    let rest = others.count - Self.namedCount
    return (unplaced + others.prefix(Self.namedCount)).map { "The mapping model \($0)" }
      + (rest > 0 ? ["\(rest) more mapping \(rest == 1 ? "model is" : "models are") for other versions."] : [])
  }

  // MARK: Failures

  private func staleMapping(_ pair: KnownMappings.Pair, _ mapping: MappingFile) -> NSError {
    let (source, destination) = (search.versions[pair.source], search.versions[pair.destination])
    var document = mapping.document
    if document.sourceVersionName == source.name, document.destinationVersionName == destination.name {
      // The hashes in a source are not trusted. Only missing entities prevent it from being compiled.
      document.updateHashes(
        source: source.hashes, destination: destination.hashes)
    }
    let mismatches = MappingFile.mismatches(
      of: document, source: source.hashes,
      destination: destination.hashes)
    if let side = mismatches.first?.side, mismatches.allSatisfy({ $0.side == side }),
      let next = search.mappings.continuation(of: mapping, at: side)
    {
      return missingVersion(side == .destination ? (mapping, next) : (next, mapping), source, destination)
    }
    return MigrationErrors.staleMapping(
      url: storeURL, mapping: mapping.url, models: .init(source, destination), mismatches: mismatches)
  }

  /// Returns the error for two mapping models that lead to and from an unknown version.
  private func missingVersion(
    _ mappings: (first: MappingFile, second: MappingFile), _ source: ModelVersion,
    _ destination: ModelVersion
  ) -> NSError {
    MigrationErrors.missingMappingModel(
      url: storeURL, models: .init(source, destination),
      detail:
        "The mapping model \(mappings.first.name) leads to a version that is missing, and \(mappings.second.name) "
        + "starts from it, so no step can bypass it.",
      suggestion: "Keep the version between '\(source.name)' and '\(destination.name)' with the others, in the "
        + "program's .xcdatamodeld or .momd.")
  }

  /// Returns the error for a search without a result.
  private func failure() throws -> NSError {
    if let stale = search.stale(between: search.source, and: search.destination) {
      return staleMapping(stale.pair, stale.mapping)
    }
    guard search.infers else {
      return MigrationErrors.missingMappingModel(
        url: storeURL, models: .init(search.versions[search.source], search.versions[search.destination]),
        detail: missingStep(), suggestion: "Add a mapping model, or set NSInferMappingModelAutomaticallyOption.")
    }
    // Developers can fix the step between neighbours, whereas the direct step may fail for many reasons.
    let path = [search.source] + search.between(search.source, search.destination) + [search.destination]
    for (source, destination) in zip(path, path.dropFirst()) where !isPassable(source, destination) {
      if let error = obstacle(source, destination) { return error }
    }
    return obstacle(search.source, search.destination)
      ?? MigrationErrors.missingMappingModel(
        url: storeURL, models: .init(search.versions[search.source], search.versions[search.destination]))
  }

  /// Returns a sentence about the one step that has no mapping model; nil if no step has one.
  private func missingStep() -> String? {
    let path = [search.source] + search.between(search.source, search.destination) + [search.destination]
    let steps = Array(zip(path, path.dropFirst()))
    guard steps.count > 1, steps.contains(where: { isPassable($0, $1) }),
      let missing = steps.first(where: { !isPassable($0, $1) })
    else { return nil }
    return "No mapping model leads from '\(name(missing.0))' to '\(name(missing.1))'."
  }

  private func isPassable(_ source: Int, _ destination: Int) -> Bool {
    search.mappings.fitting[.init(source: source, destination: destination)] != nil
  }

  private func obstacle(_ source: Int, _ destination: Int) -> NSError? {
    guard case .failure(let failure as InferenceFailure) = search.inferred.result(from: source, to: destination) else {
      return nil
    }
    return MigrationErrors.cannotInfer(failure.obstacles)
  }
}

extension InferredSteps {
  /// Returns the mapping model between two versions.
  ///
  /// - Throws: 134190 if none can be inferred.
  func mappingModel(from source: Int, to destination: Int) throws -> NSMappingModel {
    do {
      return NSMappingModel(
        try result(from: source, to: destination).get(), from: side(source), to: side(destination))
    } catch let failure as InferenceFailure {
      throw MigrationErrors.cannotInfer(failure.obstacles)
    }
  }
}

/// The mapping model of a step, combined from all that match: the best one, and the entity mappings it lacks from the
/// others.
///
/// Programs with large stores split the mapping between two versions into several mapping models, each for some of the
/// entities, and run them one after another. Using one of them alone would leave the objects of the others behind.
struct CombinedMappingModel {
  let model: NSMappingModel
  /// The reason for using these mapping models, in sentences.
  let reason: String

  /// - Parameter files: the matching mapping models, best first; not empty.
  /// - Throws: the errors of reading mapping models.
  init(_ files: [MappingFile], source: NSManagedObjectModel, destination: NSManagedObjectModel) throws {
    let models = try files.map { try $0.mappingModel(source: source, destination: destination) }
    var mappings = models.first?.entityMappings ?? []
    var sentences = ["The mapping model \(files.first?.name ?? "") is for these two versions."]
    for (file, other) in zip(files, models).dropFirst() {
      let sources = Set(mappings.compactMap(\.sourceEntityName))
      let names = Set(mappings.map(\.name))
      let more = (other.entityMappings ?? []).filter { mapping in
        mapping.sourceEntityName.map { !sources.contains($0) } == true && !names.contains(mapping.name)
      }
      mappings += more
      let entities = Set(more.compactMap(\.sourceEntityName)).sorted().map { "'\($0)'" }.joined(separator: ", ")
      sentences.append(
        more.isEmpty
          ? "\(file.name) is for them too, and is not used: it maps no other entities."
          : "\(file.name) is for them too, and maps \(entities).")
    }
    let joined = NSMappingModel()
    joined.entityMappings = mappings
    model = files.count == 1 ? models[0] : joined
    reason = sentences.joined(separator: " ")
  }
}
