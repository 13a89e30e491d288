// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import Foundation

/// Makes steps, and reasons for them, of what a search finds.
struct PathPlanner {
  let search: PathSearch
  /// The store that the errors are about.
  let storeURL: URL?

  /// - Throws: 134140 for a mapping model that does not fit any more, and where nothing may be inferred; 134190 of the step
  ///   that cannot be inferred.
  func plan() throws -> (steps: [StoreMigration.Step], explanation: [String]) {
    guard let found = search.legs() else { throw try failure() }
    let legs = search.withoutDetours(found)
    for run in runs(of: legs) {
      if let stale = search.stale(between: run.start, and: run.end) {
        throw staleMapping(stale.pair, stale.mapping)
      }
    }
    return (try legs.map { try step($0) }, explanation(legs))
  }

  private func name(_ version: Int) -> String { search.versions[version].name }

  /// The stretches of inferred steps.
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
    guard let file = leg.mapping else {
      return StoreMigration.Step(
        source: source.name, destination: destination.name, kind: .inferred, sourceModel: source.model,
        destinationModel: destination.model,
        mappingModel: try .inferredMappingModel(forSourceModel: source.model, destinationModel: destination.model),
        mappingURL: nil, reason: inferredReason(leg))
    }
    let files = search.mappings.fitting[.init(source: leg.source, destination: leg.destination)] ?? [file]
    let mapping = try JoinedMapping(files, source: source.model, destination: destination.model)
    return StoreMigration.Step(
      source: source.name, destination: destination.name, kind: .mapping, sourceModel: source.model,
      destinationModel: destination.model, mappingModel: mapping.model, mappingURL: file.url, reason: mapping.reason)
  }

  private func inferredReason(_ leg: PathSearch.Leg) -> String {
    let skipped = search.between(leg.source, leg.destination)
    let sentences = skipped.map { version in
      let leads =
        search.inferred.mapping(from: leg.source, to: version) != nil
        && search.inferred.mapping(from: version, to: leg.destination) != nil
      return "'\(name(version))' is left out: "
        + (leads ? "going through it would drop what both ends have." : "it lies on no way that can be inferred.")
    }
    return ([StoreMigration.Step.plainReason] + sentences).joined(separator: " ")
  }

  private func explanation(_ legs: [PathSearch.Leg]) -> [String] {
    let ends = "from '\(name(search.source))' to '\(name(search.destination))'"
    let copies = legs.count { $0.mapping != nil }
    var sentences: [String] = []
    if copies == 1, legs.count == 1 {
      sentences.append("A mapping model was written for exactly the way \(ends).")
    } else if copies > 0 {
      sentences.append(
        "Mapping models lie on the way \(ends); inferred steps lead to and from them, and none passes over them.")
    } else if legs.count > 1 {
      sentences.append("Every step \(ends) can be inferred; each version's renamings and default values come to bear.")
    }
    let code = legs.count { $0.mapping?.needsCode == true }
    if code > 0 { sentences.append("\(code == 1 ? "One step needs" : "\(code) steps need") policies of the program.") }
    for run in runs(of: legs) {
      for (pair, mapping) in search.passed(between: run.start, and: run.end) {
        sentences.append(
          "The mapping model \(mapping.name) from '\(name(pair.source))' to '\(name(pair.destination))' is not used: no way "
            + "over it leads to '\(name(search.destination))'.")
      }
    }
    return sentences
  }

  // MARK: Failures

  private func staleMapping(_ pair: KnownMappings.Pair, _ mapping: MappingFile) -> NSError {
    let (source, destination) = (search.versions[pair.source], search.versions[pair.destination])
    var document = mapping.document
    if document.sourceVersionName == source.name, document.destinationVersionName == destination.name {
      // What a source holds of the hashes is not believed: only entities that are not there keep it from being compiled.
      document.takeHashes(
        source: source.model.entityVersionHashesByName, destination: destination.model.entityVersionHashesByName)
    }
    return MigrationErrors.staleMapping(
      url: storeURL, mapping: mapping.url, source: source.name, destination: destination.name,
      mismatches: MappingFile.mismatches(
        of: document, source: source.model.entityVersionHashesByName,
        destination: destination.model.entityVersionHashesByName))
  }

  /// Why there is no way.
  private func failure() throws -> NSError {
    if let stale = search.stale(between: search.source, and: search.destination) {
      return staleMapping(stale.pair, stale.mapping)
    }
    guard search.infers else {
      return MigrationErrors.missingMappingModel(
        url: storeURL, source: name(search.source), destination: name(search.destination),
        suggestion: "Add a mapping model, or set NSInferMappingModelAutomaticallyOption.")
    }
    // The step between neighbours is the one that a person can mend; what fails directly is beside the point.
    let path = [search.source] + search.between(search.source, search.destination) + [search.destination]
    for (source, destination) in zip(path, path.dropFirst()) where !isPassable(source, destination) {
      if let error = obstacle(source, destination) { return error }
    }
    return obstacle(search.source, search.destination)
      ?? MigrationErrors.missingMappingModel(
        url: storeURL, source: name(search.source), destination: name(search.destination))
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
