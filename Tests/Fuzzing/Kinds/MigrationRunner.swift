// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataAnalysis
import CoreDataModelFiles
import Foundation

/// Migrates stores: planning must not change them, and rows are counted before and after the migration.
struct MigrationRunner: FuzzRunner {
  private let maker: StoreMaker

  init(_ lab: FuzzLab, _ group: Sample.Group = .plain) throws { maker = try StoreMaker(lab, group) }

  func input(_ random: inout FuzzRandom) throws -> FuzzInput { try maker.input(.everything, &random) }

  func run(_ input: FuzzInput, _ random: inout FuzzRandom) throws -> String {
    let rows = try maker.rowCount(input)
    let folder = try maker.lab.fresh()
    try input.write(to: folder)
    let store = folder.appendingPathComponent(Sample.store)
    let model = folder.appendingPathComponent(Sample.model)
    let mappings = input.files.keys.contains { $0.hasPrefix(Sample.mappings) }
    let places = mappings ? [folder.appendingPathComponent(Sample.mappings)] : []

    let before = try DirectoryContent(folder)
    var results: [String] = []
    do {
      let plan = try MigrationPlan(storeAt: store, known: ModelVersions(contentsOf: model), mappings: places)
      results.append("plan \(plan.steps.count)")
    } catch {
      results.append("plan: \(ErrorText.of(error))")
    }
    let planned = try DirectoryContent(folder)
    guard before == planned else { throw Broken("Planning has changed files: \(planned.differences(from: before)).") }

    do {
      var migration = try StoreMigration(storeAt: store, modelsAt: model, mappings: places)
      migration.keepsReplacedStore = random.oneIn(2)
      let steps = migration.steps.count
      _ = try migration.run()
      results.append("run \(steps)")
      try check(store, rows, "The migration ended well")
    } catch let error as Broken {
      throw error
    } catch {
      results.append("run: \(ErrorText.of(error))")
      try check(store, rows, "The migration failed (\(ErrorText.of(error)))")
    }
    return results.joined(separator: "; ")
  }

  private func check(_ store: URL, _ before: RowCount?, _ what: String) throws {
    guard let before else { return }
    let after = RowCount(store)
    guard !before.isWhole || after?.isWhole == true else {
      throw Broken("\(what), and SQLite does not find the store whole that was whole before.")
    }
    guard let after, after.rows < before.rows else { return }
    throw Broken("\(what) with \(after.rows) of \(before.rows) rows\(before.isWhole ? "" : " of a damaged store").")
  }
}
