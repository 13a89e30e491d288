// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Migrates stores of old versions of a model. Throws if a migration fails or loses data that it should keep, or if a
/// version cannot be reached.
///
/// Every version must be reached by a store with rows, and every given store must be migrated. An intended refusal is
/// listed in `expecting`, and must happen. If nothing is rehearsed, that is a failure too.
///
/// In a test with Swift Testing or XCTest, with the app's classes, transformers and policies in the process:
///
/// ```swift
/// @Test func migrations() async throws {
///   try await expectMigration(of: url, from: .everyVersion)
/// }
/// ```
///
/// - Parameters:
///   - model: an `.xcdatamodeld` or `.momd` with the versions.
///   - version: the wanted version; nil for the current one.
///   - source: the stores to migrate.
///   - mappings: mapping models, or directories of them.
///   - expected: versions whose stores should be refused, such as `.refusal(from: "Model 1")`.
///   - seed: the seed of the values; the same seed gives the same stores.
///   - keptIn: a directory for the stores of failing migrations; nil for the temporary directory.
/// - Returns: the rehearsal, with its cases.
/// - Throws: `MigrationExpectationFailure` with the failures, the seed and the kept stores; the errors of
///   `MigrationRehearsal`.
@discardableResult
public func expectMigration(
  of model: URL, to version: String? = nil, from source: MigrationRehearsal.Source = .everyVersion,
  mappings: [URL] = [], expecting expected: ExpectedRefusals = [], seed: Int = 1, keptIn: URL? = nil
) async throws -> MigrationRehearsal {
  let place =
    keptIn ?? FileManager.default.temporaryDirectory.appendingPathComponent("FailedMigrations", isDirectory: true)
  let rehearsal = try MigrationRehearsal(
    modelsAt: model, to: version, from: source, mappings: mappings, expecting: expected, seed: seed, keptIn: place)
  guard rehearsal.isSuccess else { throw MigrationExpectationFailure(rehearsal: rehearsal) }
  return rehearsal
}

/// The error for migrations that failed, lost data, or did not reach the wanted version.
public struct MigrationExpectationFailure: LocalizedError, CustomStringConvertible, Sendable {
  /// The rehearsal with all its cases, including those that did not fail.
  public let rehearsal: MigrationRehearsal

  /// The failed cases, with a line for each difference, and the problems of the rehearsal as a whole.
  public var description: String {
    let failures = rehearsal.failures.map { item in
      var lines = ["\(item.name) (seed \(rehearsal.seed)):"]
      if case .failed(let texts) = item.outcome { lines += texts.prefix(20).map { "  \($0)" } }
      if let kept = item.kept { lines.append("  The store is kept: \(kept.path)") }
      return lines.joined(separator: "\n")
    }
    let problems = rehearsal.problems.map { problem in
      let advice = "\n  If this is intended, name it: expecting: .refusal(from: \"\(problem.version ?? "")\")"
      return problem.text + (problem.isRefusal ? advice : "")
    }
    return (failures + problems).joined(separator: "\n")
  }

  /// The description.
  public var errorDescription: String? { description }
}
