// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataFileSystem
import CoreDataMigration
import CoreDataModelFiles
import CoreDataSQLite
import CoreDataStoreFiles
import Foundation

/// A plan of a store's migration: its steps with their changes, findings based on the store's rows, and the disk space
/// that it needs. Planning does not change a byte of the store or of the files beside it.
package struct MigrationPlan {
  /// The migration from one version to the next.
  package struct Step {
    package let from: String
    package let to: String
    /// `inferred` or `mapping`.
    package let kind: String
    /// The file of the mapping model; nil for an inferred one.
    package let mapping: URL?
    /// The reason this kind of step was chosen.
    package let reason: String
    package let isInPlace: Bool
    package let difference: ModelDifference
    /// The findings of this step, worst first, including ST601 if the step needs a copy.
    package fileprivate(set) var findings: [Finding]
    /// The number of rows of entities whose version hash changes.
    package let rowsTouched: Int

    /// Whether external data files may be rewritten, instead of being kept or linked.
    fileprivate var mayWriteValues: Bool {
      !isInPlace
        || difference.changes.contains {
          if case .changed(.externalStorage, _, _) = $0.kind { true } else { false }
        }
    }
  }

  package let store: URL
  /// The allowances.
  package let allowances: FindingAllowances
  /// The planned migration.
  package let migration: StoreMigration
  /// Remarks about the store.
  package let remarks: [String]
  package let from: String
  package let to: String
  /// Whether the destination precedes the store's version, and lacks some of its content.
  package let isDowngrade: Bool
  package let steps: [Step]
  /// Findings about the store's files and disk, worst first; empty if no migration is needed.
  package let storeFindings: [Finding]
  /// The reasons for choosing this path, as sentences.
  package let explanation: [String]
  /// The number of rows of exactly each entity before the migration.
  package let rows: [String: Int]
  /// The disk space that a backup and the migration need beside the store; nil for a store on a server.
  package let space: StoreSpace?

  /// Whether none of the known versions has written the store, so that the path begins with its cached model.
  package var beginsWithOwnModel: Bool { migration.beginsWithOwnModel }

  /// All findings, worst first, with the destination version of their step, or with the store's version.
  package var findings: [(version: String, finding: Finding)] {
    let all =
      steps.flatMap { step in step.findings.map { (version: step.to, finding: $0) } }
      + storeFindings.map { (version: from, finding: $0) }
    return all.enumerated().sorted { left, right in
      let (a, b) = (left.element.finding.level, right.element.finding.level)
      return a == b ? left.offset < right.offset : a > b
    }.map(\.element)
  }

  /// The allowances that match no finding.
  package var unmatchedAllowances: [FindingAllowance] { allowances.unmatched(in: findings.map(\.finding)) }

  /// The allowances that match only findings of a migration that would fail.
  package var powerlessAllowances: [FindingAllowance] { allowances.powerless(in: findings.map(\.finding)) }

  /// Returns the number of findings of a level.
  package func count(of level: Finding.Level) -> Int { findings.count { $0.finding.level == level } }

  /// - Parameters:
  ///   - url: the location of the store.
  ///   - server: the server that contains the rows, if the store is a private copy without rows; the rows are counted
  ///     there, and the copy's disk does not matter.
  ///   - version: the destination version; nil for the current one.
  ///   - mappings: mapping models, or directories of them.
  ///   - allowances: findings that are allowed, which must include everything that the migration drops.
  /// - Throws: `StoreProblem`; the errors of `StoreMigration`; `ServerRows.Changed`; the errors of the server.
  package init(
    storeAt url: URL, rowsIn server: ServerRows? = nil, known: ModelVersions, version: String? = nil,
    mappings: [URL] = [], allowances: FindingAllowances = []
  ) throws {
    if let server {
      let plain = try StoreReader(url: url)
      self = try server.reading(plain) {
        try Self(plain, $0, known, version: version, mappings: mappings, allowances: allowances)
      }
      return
    }
    let end = Date().addingTimeInterval(Self.patience)
    while true {
      let before = StoreFile.stamps(of: url)
      do {
        let plain = try StoreReader(url: url)
        self = try Self(
          plain, nil, known, version: version, mappings: mappings, allowances: allowances)
        return
      } catch let problem as StoreProblem where problem.kind == .locked && Date() < end {
        usleep(50_000)
      } catch {
        // The store is read more than once, and possibly without locks. If another process has migrated it meanwhile,
        // two different states were read, and planning starts again.
        guard Date() < end, StoreFile.stamps(of: url) != before else { throw error }
      }
    }
  }

  /// Returns a remark about another process that has the store open; nil if there is none.
  private static func remark(onUsersOf url: URL) -> String? {
    DatabaseUser.other(of: url.path).map {
      "\($0.text) has \(url.lastPathComponent) open. After the migration it can neither read nor save (134100) until it "
        + "has opened the store again with the new version. Close it first, if that matters."
    }
  }

  /// How long to wait for another process that writes to the store, in seconds.
  private static let patience: TimeInterval = 5

  /// - Parameter contents: the rows of a store on a server; nil for those of the file.
  private init(
    _ plain: StoreReader, _ contents: (any ServerContents)?, _ known: ModelVersions, version: String?, mappings: [URL],
    allowances: FindingAllowances
  ) throws {
    func counter(_ reader: StoreReader) throws -> any StoreCounting {
      try contents.map { try ServerCounter($0, of: reader) } ?? reader
    }
    let url = plain.url
    let migration = try plain.planningMigration(
      counting: counter(plain), known: known, version: version, mappings: mappings, allowsLoss: allowances.losses)
    self.migration = StoreMigration(migration, at: url)
    self.allowances = allowances
    store = url
    remarks =
      StoreReader.remarks(onTriggersOf: plain.catalog, store: url.lastPathComponent)
      + [plain.metadata.unfinishedStage.map { "\($0.text) \($0.cure)" }].compactMap { $0 }
      + (contents == nil && migration.isNeeded ? [Self.remark(onUsersOf: url)].compactMap { $0 } : [])
    from = migration.source
    to = migration.destination
    explanation = migration.explanation
    isDowngrade = Self.isDowngrade(migration, known)
    // Hashes identify the version, and even an old store without a model has them.
    let reader = try migration.steps.first.map { try StoreReader(plain, model: $0.sourceModel.document) } ?? plain
    let counting = try counter(reader)
    var counts = try counting.counts()
    rows = counts.rows
    var steps: [Step] = []
    var last: (model: NSManagedObjectModel, document: ModelDocument)?
    for step in migration.steps {
      // Most steps begin with the model that the last one ended with.
      let carried = last?.model === step.sourceModel ? last?.document : nil
      let (old, new) = (carried ?? step.sourceModel.document, step.destinationModel.document)
      last = (step.destinationModel, new)
      let difference = ModelDifference(from: old, to: new)
      try counting.count(for: difference, from: old, to: new, into: &counts)
      steps.append(
        Step(
          from: step.source, to: step.destination, kind: step.kind.rawValue, mapping: step.mappingURL,
          reason: step.reason,
          isInPlace: step.isInPlace,
          difference: difference,
          findings: Self.findings(step, difference, from: old, to: new, counts).map(allowances.applied)
            .sorted(by: Finding.areInOrder),
          rowsTouched: Self.rowsTouched(from: step.sourceModel, to: step.destinationModel, counts)))
      counts = counts.after(difference, from: old, to: new, isMapped: step.kind == .mapping)
      // The results of expressions and policies are unknown.
      if step.kind == .mapping { counts.origins = [:] }
    }
    if contents == nil, let first = steps.firstIndex(where: { !$0.isInPlace }) {
      let tables = try reader.droppedTables().map(allowances.applied)
      steps[first].findings = (steps[first].findings + tables).sorted(by: Finding.areInOrder)
    }
    self.steps = steps
    var space = contents == nil ? reader.space : nil
    space?.writesValues = steps.contains(where: \.mayWriteValues)
    self.space = space
    let ofStore =
      reader.findings(isVersionKnown: !migration.beginsWithOwnModel)
      + (space.flatMap(reader.finding).map { [$0] } ?? [])
    storeFindings = steps.isEmpty ? [] : ofStore.map(allowances.applied).sorted(by: Finding.areInOrder)
  }

  private static func findings(
    _ step: StoreMigration.Step, _ difference: ModelDifference, from old: ModelDocument, to new: ModelDocument,
    _ counts: StoreCounts
  ) -> [Finding] {
    let findings =
      step.kind == .mapping
      ? MappingFindings(step.mappingModel, from: step.sourceModel, to: step.destinationModel, counts: counts).findings
      : MigrationFindings(difference, from: old, to: new, counts: counts).findings
    guard !step.isInPlace else { return findings }
    return findings + [copyFinding(step, counts.rows.values.reduce(0, +))]
  }

  /// Returns ST601 for a step that rewrites every row.
  private static func copyFinding(_ step: StoreMigration.Step, _ rows: Int) -> Finding {
    let mapping = step.mappingURL.map { "the mapping model \($0.lastPathComponent)" } ?? "a mapping model"
    let words =
      rows == 0
      ? "makes a copy of the store, which has no rows"
      : rows == 1
        ? "writes the only row into a copy of the store"
        : "writes all \(CountText.counted(rows, "row")) into a copy of the store"
    return Finding(
      .stepNeedsCopy, rows == 0 ? .information : .warning, entity: nil, property: nil, sourceEntity: nil,
      sourceProperty: nil, "\(mapping) \(words)"
    ).allowed(by: .inModel(.stepNeedsCopy, anywhereIn: step.destinationModel.document))
  }

  private static func isDowngrade(_ migration: StoreMigration, _ known: ModelVersions) -> Bool {
    let names = known.names
    guard let first = migration.steps.first, let last = migration.steps.last,
      let source = names.firstIndex(of: migration.source),
      let destination = names.firstIndex(of: migration.destination),
      destination < source
    else { return false }
    let difference = ModelDifference(from: first.sourceModel.document, to: last.destinationModel.document)
    return difference.changes.contains { $0.kind == .removed && $0.changesVersionHash }
  }

  private static func rowsTouched(
    from old: NSManagedObjectModel, to new: NSManagedObjectModel, _ counts: StoreCounts
  ) -> Int {
    let hashes = Set(new.entityVersionHashesByName.values)
    return old.entityVersionHashesByName.reduce(0) { sum, entry in
      hashes.contains(entry.value) ? sum : sum + (counts.rows[entry.key] ?? 0)
    }
  }
}

extension StoreCounts {
  /// Returns the counts after a step, as far as the models determine them.
  ///
  /// - Parameter isMapped: whether a mapping model sets new properties.
  func after(
    _ difference: ModelDifference, from old: ModelDocument, to new: ModelDocument, isMapped: Bool = false
  ) -> StoreCounts {
    let (oldIndex, newIndex) = (EntityIndex(old), EntityIndex(new))
    let pairs = Pairing(old.entities, new.entities, name: \.name, declared: \.renamingIdentifier).matched
    var result = StoreCounts(rows: [:])
    for entity in new.entities { result.rows[entity.name] = 0 }
    for (before, after) in pairs {
      result.rows[after.name] = rows[before.name] ?? 0
      result.origins[after.name] = origins[before.name]
      guard let known = values[before.name] else { continue }
      // The changes of the entity and of its ancestors, before and after the step.
      let lines = Set(oldIndex.lineage(of: before.name).map(\.name) + newIndex.lineage(of: after.name).map(\.name))
      var next = known
      for change in difference.changes where change.property != nil && lines.contains(change.sourceEntity ?? "") {
        apply(change, known, rows: rows[before.name] ?? 0, newIndex, isMapped: isMapped, to: &next)
        Self.move(change, origins[before.name] ?? [:], to: &result.origins[after.name, default: [:]])
      }
      result.values[after.name] = next
    }
    return result
  }

  private func apply(
    _ change: ModelChange, _ known: [String: Int], rows: Int, _ index: EntityIndex, isMapped: Bool,
    to next: inout [String: Int]
  ) {
    guard let property = change.property else { return }
    let attribute = change.entity.flatMap { index[$0]?.attributes.first { $0.name == property } }
    switch change.kind {
    case .removed:
      next[property] = nil
    case .renamed(let old):
      next[old] = nil
      next[property] = known[old]
    case .added:
      // A new relationship may take over the links of an existing inverse, whose number is unknown.
      let isUnknown = change.subject == .relationship || isMapped
      next[property] = isUnknown ? nil : attribute?.defaultValue == nil ? 0 : rows
    case .changed(.optional, _, "no"):
      if attribute?.defaultValue != nil { next[property] = rows }
    case .moved, .changed: break
    }
  }

  /// Tracks the origin of an attribute's values, or of a relationship's members, over a step.
  private static func move(
    _ change: ModelChange, _ known: [String: AttributeOrigin], to next: inout [String: AttributeOrigin]
  ) {
    guard let property = change.property else { return }
    switch change.kind {
    case .removed, .added, .changed(.toMany, _, _), .changed(.destination, _, _): next[property] = nil
    case .renamed(let old):
      next[old] = nil
      next[property] = known[old]
    case .moved, .changed: break
    }
  }
}

extension StoreReader {
  /// Returns the tables that do not belong to the model, with their rows; empty if the store's layout is unknown.
  package func otherTables() throws -> [OtherTables.Table] {
    guard let schema else { return [] }
    return try reading { try OtherTables.counted(connection, in: catalog, besides: schema) }
  }

  /// Returns DS109 for tables that do not belong to the model, which are dropped by a step that creates a new store.
  fileprivate func droppedTables() throws -> [Finding] {
    try otherTables().map { table in
      let rows = table.rows == 1 ? "its only row" : "its \(CountText.counted(table.rows, "row"))"
      return Finding(
        .otherTableDropped, table.rows == 0 ? .information : .error, entity: table.name, property: nil,
        sourceEntity: nil, sourceProperty: nil,
        "the table is not part of the model" + (table.rows == 0 ? ", and is empty" : "; \(rows) would be dropped"))
    }
  }

  /// Plans the migration of this store without opening the store's own file. A plan needs the store's metadata and its
  /// model, but no rows. Both are put into a temporary database, so that no `-wal` or `-shm` file appears beside a
  /// store that is only inspected.
  ///
  /// - Parameter counter: counts the rows that would be dropped.
  /// - Throws: the same errors as `StoreMigration.init(storeAt:modelsAt:version:mappings:isProgressive:allowsLoss:)`.
  func planningMigration(
    counting counter: any StoreCounting, known: ModelVersions, version: String?, mappings: [URL] = [],
    allowsLoss: AllowedLosses = .none
  ) throws -> StoreMigration {
    try withPrivateDirectory(holdsRows: false) { folder in
      let standIn = folder.appendingPathComponent(url.lastPathComponent)
      try reading {
        let target = try SQLiteConnection(url: standIn, mode: .create)
        // The database is temporary and need not be synced.
        try target.execute("PRAGMA synchronous = OFF")
        for name in ["Z_METADATA", "Z_PRIMARYKEY", "Z_MODELCACHE"] {
          guard let table = catalog.table(named: name) else { continue }
          try target.execute(table.sql)
          let places = table.columns.map { _ in "?" }.joined(separator: ", ")
          for row in try connection.rows("SELECT * FROM \(SQLName.quoted(name))") {
            try target.run("INSERT INTO \(SQLName.quoted(name)) VALUES (\(places))", row.values)
          }
        }
        try target.close()
      }
      return try ErrorLocation.naming(url, insteadOf: standIn) {
        try StoreMigration(
          storeAt: standIn, known: known, version: version, mappings: mappings, allowsLoss: allowsLoss
        ) { items in
          // If the tables do not match the model cached in the store, its contents are unknown.
          guard let schema = counter.schema else { return items }
          return try counter.reading { try StoreContents(counter.database, schema: schema).counted(items) }
        }
      }
    }
  }

  /// Returns the SQL of a migration, recorded while migrating a copy.
  ///
  /// - Throws: the same errors as `StoreMigration.run(progress:)`.
  package func migrationStatements(
    known: ModelVersions, version: String?, mappings: [URL] = [], allowsLoss: AllowedLosses = .none
  ) throws -> [String] {
    try withCopy { copy in
      try StoreMigration(
        storeAt: copy, known: known, version: version, mappings: mappings, allowsLoss: allowsLoss
      ).statements()
    }
  }

  /// Calls a closure with a private copy of the store, which is then removed.
  package func withCopy<Result>(_ body: (URL) throws -> Result) throws -> Result {
    try withPrivateDirectory(holdsRows: true) { folder in
      let copy = folder.appendingPathComponent(url.lastPathComponent)
      try FileCalls.makePrivateFile(copy)
      try reading { try connection.backup(toPath: copy.path) }
      try StoreFiles.linkValues(of: url, to: copy)
      return try body(copy)
    }
  }

  private func withPrivateDirectory<Result>(holdsRows: Bool, _ body: (URL) throws -> Result) throws -> Result {
    let directory = try CopyDirectory.make(for: url, holdsRows: holdsRows)
    defer {
      // A leftover copy is private, and the next copy of the store removes it.
      try? directory.remove()
    }
    return try body(directory.url)
  }
}
