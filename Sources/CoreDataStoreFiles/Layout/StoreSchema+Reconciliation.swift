// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import CoreDataSQLite

extension StoreSchema {
  /// The layout of an existing store.
  ///
  /// A store that has been migrated in place keeps columns where they were added, may have other entity numbers than its
  /// model alone would give, and names that no rule predicts. The file wins: every table and column is looked up in it.
  ///
  /// - Parameter allowsMissing: whether what the file does not have is called as in a new store, instead of an error.
  /// - Throws: `SchemaProblem` naming what the model needs and the file does not have.
  package init(
    document: ModelDocument, configuration: String? = nil, catalog: DatabaseCatalog, primaryKeys: [PrimaryKeyRow],
    allowsMissing: Bool = false
  ) throws {
    let selection = try SchemaSelection(
      document: document, configuration: configuration, stored: Set(primaryKeys.map(\.name)))
    let numbers = try EntityNumbers(selection: selection, rows: primaryKeys, allowsMissing: allowsMissing).resolved()
    var builder = SchemaBuilder(selection: selection, numbers: numbers)
    let expected = try builder.build()
    let oldNames = Dictionary(primaryKeys.map { ($0.number, $0.name) }, uniquingKeysWith: { first, _ in first })
    self = try SchemaReconciler(
      expected: expected, catalog: catalog, storedNames: oldNames, allowsMissing: allowsMissing
    ).reconciled()
  }
}

/// Finds the number of every entity in the rows of `Z_PRIMARYKEY`.
private struct EntityNumbers {
  let selection: SchemaSelection
  let rows: [PrimaryKeyRow]
  let allowsMissing: Bool

  /// By name; else by renaming identifier; else, among the sub-entities of one parent, by elimination: a rename in place
  /// leaves the old name in the row, and a later version of the model need not remember it.
  func resolved() throws -> [String: Int] {
    var numbers: [String: Int] = [:]
    var free = rows
    func take(_ entity: EntityDocument, where matches: (PrimaryKeyRow) -> Bool) {
      guard numbers[entity.name] == nil, let position = free.firstIndex(where: matches) else { return }
      numbers[entity.name] = free.remove(at: position).number
    }
    for entity in selection.entities { take(entity) { $0.name == entity.name } }
    for entity in selection.entities {
      if let old = entity.renamingIdentifier { take(entity) { $0.name == old } }
    }
    // Ends because every round takes a row or is the last.
    var unresolved = selection.entities.filter { numbers[$0.name] == nil }
    while !unresolved.isEmpty {
      let before = unresolved.count
      for entity in unresolved {
        guard let parent = parentNumber(of: entity, in: numbers) else { continue }
        let rivals = unresolved.filter { parentNumber(of: $0, in: numbers) == parent }
        let candidates = free.filter { $0.parentNumber == parent && $0.number <= PrimaryKeyRow.greatestNumber }
        if rivals.count == 1, candidates.count == 1 { take(entity) { $0.number == candidates[0].number } }
      }
      unresolved = unresolved.filter { numbers[$0.name] == nil }
      guard unresolved.count == before else { continue }
      guard allowsMissing else { throw SchemaProblem.entityNotInStore(entity: unresolved[0].name) }
      numbers[unresolved[0].name] = max(rows.map(\.number).max() ?? 0, numbers.values.max() ?? 0) + 1
      unresolved.removeFirst()
    }
    for (entity, number) in numbers.sorted(by: { $0.key < $1.key }) where number > PrimaryKeyRow.greatestNumber {
      throw SchemaProblem.unusableNumber(entity: entity, number: number)
    }
    return numbers
  }

  private func parentNumber(of entity: EntityDocument, in numbers: [String: Int]) -> Int? {
    guard let parent = entity.parentName else { return 0 }
    return numbers[parent]
  }
}
