// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataMigration
import CoreDataModelFiles
import Foundation

/// The destinations of the stores of each version when every version is rehearsed.
///
/// If there are few versions, all stores are migrated to the wanted version. If there are many, only those of the
/// oldest and of the newest versions are, and those whose refusal is expected. The others are migrated to the next
/// version on their path: from there they continue like the stores of that version, whose path is the remainder of
/// theirs. So the number of steps is linear rather than quadratic in the number of versions.
struct RehearsalRoutes {
  /// A version, and the destination of its stores.
  struct Route: Equatable {
    let source: String
    let destination: String
  }

  /// The routes, oldest version first.
  private(set) var routes: [Route]
  private let destination: String

  /// The limits that determine which stores are migrated to the wanted version.
  struct Limits {
    /// The number of steps up to which all stores are.
    var maxStepCount = 500
    /// The number of newest versions whose stores always are.
    var newestCount = 8
  }

  /// - Parameters:
  ///   - names: the versions before the wanted one, oldest first.
  ///   - destination: the wanted version.
  ///   - mappings: mapping models, or directories of them.
  ///   - whole: versions whose stores are always migrated to the wanted one.
  ///   - limits: the limits for all other versions.
  /// - Throws: the errors of reading mapping models, and 134060 for an unknown version.
  init(
    _ known: ModelVersions, from names: [String], to destination: String, mappings: [URL], whole: Set<String>,
    limits: Limits = Limits()
  ) throws {
    self.destination = destination
    guard names.count * (names.count + 1) / 2 > limits.maxStepCount else {
      routes = names.map { Route(source: $0, destination: destination) }
      return
    }
    let versions = try (names + [destination]).map(known.version(named:))
    let paths = RehearsalPaths(
      known, versions, mappings: try MappingFile.files(at: mappings),
      areDistinct: known.versions.prefix { $0.name != destination }.count == names.count)
    routes = names.enumerated().map { position, name in
      let isWhole =
        position == 0 || position >= names.count - limits.newestCount || whole.contains(name)
      let next = isWhole ? nil : paths.next(after: position)
      return Route(source: name, destination: next.map { versions[$0].name } ?? destination)
    }
  }

  /// Returns the versions whose paths lead through one of `stops`, whose own stores get no further, with that stop.
  func blocked(by stops: Set<String>) -> [String: String] {
    guard !stops.isEmpty else { return [:] }
    var result: [String: String] = [:]
    for route in routes.reversed() where route.destination != destination {
      result[route.source] = stops.contains(route.destination) ? route.destination : result[route.destination]
    }
    return result
  }
}

/// The paths from many versions to the last one.
private final class RehearsalPaths {
  private let known: ModelVersions
  private let versions: [ModelVersion]
  private let mappings: [MappingFile]
  private let arePlain: [Bool]
  private let positions: [String: Int]
  /// The names on computed paths; nil for a version without a path.
  private var paths: [Int: [String]?] = [:]

  /// - Parameter areDistinct: whether no two versions have the same hashes.
  init(_ known: ModelVersions, _ versions: [ModelVersion], mappings: [MappingFile], areDistinct: Bool) {
    self.known = known
    self.versions = versions
    self.mappings = mappings
    positions = Dictionary(versions.enumerated().map { ($0.element.name, $0.offset) }) { first, _ in first }
    arePlain =
      mappings.isEmpty && areDistinct
      ? known.plainPaths(versions) : versions.map { _ in false }
  }

  /// Returns the next version on a version's path if that version's own path is the remainder; nil otherwise.
  func next(after position: Int) -> Int? {
    if arePlain[position], arePlain[position + 1] { return position + 1 }
    guard let path = path(from: position), path.count > 1, let next = positions[path[1]], next > position,
      self.path(from: next) == Array(path.dropFirst())
    else { return nil }
    return next
  }

  private func path(from position: Int) -> [String]? {
    if arePlain[position] { return versions[position...].map(\.name) }
    if let found = paths[position] { return found }
    // If there is no path, migrating the stores reports the reason.
    let found = try? MigrationPath.names(
      known: known, from: versions[position], to: versions[versions.count - 1], mappings: mappings)
    paths[position] = .some(found)
    return found
  }
}
