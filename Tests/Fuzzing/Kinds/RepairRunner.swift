// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataAnalysis
import CoreDataModelFiles
import CoreDataStoreFiles
import Foundation

/// Verifies and repairs stores: verifying changes no byte, a repair loses nothing that can be read, a second verification
/// does not find what was repaired, and a repair that failed has changed nothing.
struct RepairRunner: FuzzRunner {
  private let makers: [StoreMaker]
  private let documents: [[[ModelDocument]]]

  init(_ lab: FuzzLab) throws {
    makers = try [.related, .plain, .history].map { try StoreMaker(lab, $0) }
    documents = try makers.map { try $0.documents() }
  }

  func input(_ random: inout FuzzRandom) throws -> FuzzInput {
    let number = random.pick([0, 0, 0, 1, 1, 2])
    let maker = makers[number]
    var input: FuzzInput
    if random.oneIn(4) {
      input = try maker.input(.everything, &random)
    } else {
      input = maker.base(&random)
      try maker.alter(&input, &random, RelationshipMutation.damage)
      if random.oneIn(5) { try maker.alter(&input, &random, StoreMutation.cells) }
    }
    // The file tells the group when an input is run again.
    input.files["group"] = Data("\(number)".utf8)
    return input
  }

  func run(_ input: FuzzInput, _ random: inout FuzzRandom) throws -> String {
    let group = Int(String(decoding: input.files["group"] ?? Data("0".utf8), as: UTF8.self)) ?? 0
    let folder = try makers[group].lab.fresh()
    try FuzzInput(files: input.files.filter { $0.key.hasPrefix(Sample.store) }).write(to: folder)
    let store = folder.appendingPathComponent(Sample.store)
    let model = random.oneIn(2) ? documents[group][input.sample].first : nil

    let untouched = try DirectoryContent(folder)
    var schema: StoreSchema?
    let found = try ErrorText.result("verify") {
      let reader = try StoreReader(url: store, model: model)
      schema = reader.schema
      return Self.summary(try StoreVerifier(reader, limit: 3).run())
    }
    let verified = try DirectoryContent(folder)
    guard untouched == verified else {
      throw Broken("Verifying has changed files: \(verified.differences(from: untouched)).")
    }
    let before = try Self.content(input, schema, makers[group].lab)
    var repair: StoreRepair?
    let result = try ErrorText.result("repair") {
      let done = try StoreRepair(of: store, model: model, limit: 3)
      repair = done
      return "\(done.repaired.count) \(Self.summary(done.after))"
    }
    let now = try Self.content(FuzzInput(contentsOf: folder), schema, makers[group].lab)
    if let before, let now, let lost = before.lost(in: now) {
      throw Broken("\(repair == nil ? "A repair that failed" : "The repair") has changed \(lost).")
    }
    guard let repair else {
      if let before, before.everything != now?.everything {
        throw Broken("A repair that failed (\(result)) has changed the store.")
      }
      return "\(found); \(result)"
    }
    guard !repair.repaired.isEmpty else {
      if let before, before.everything != now?.everything {
        throw Broken("Nothing was repaired, and the store changed.")
      }
      return "\(found); \(result)"
    }
    try check(repair, store, model)
    return "\(found); \(result)"
  }

  /// Verifies a store again that was repaired.
  private func check(_ repair: StoreRepair, _ store: URL, _ model: ModelDocument?) throws {
    guard let backup = repair.backup, FileManager.default.fileExists(atPath: backup.path) else {
      throw Broken("A store was repaired without a backup.")
    }
    let again: StoreVerdict
    do {
      again = try StoreVerifier(StoreReader(url: store, model: model), limit: 3).run()
    } catch {
      throw Broken("A store that was repaired cannot be verified: \(error)")
    }
    // Several defects can be at no place, such as those of the metadata: each is cured in a way of its own.
    for defect in repair.repaired
    where again.defects.contains(where: { Self.name($0) == Self.name(defect) && $0.cure == defect.cure }) {
      throw Broken("\(Self.name(defect)) was repaired, and is found again.")
    }
    if let left = again.defects.first(where: \.isRepairable) {
      throw Broken("\(Self.name(left)) could be repaired after the repair.")
    }
    guard Self.summary(again) == Self.summary(repair.after) else {
      throw Broken("The repair reports \(Self.summary(repair.after)); a verification, \(Self.summary(again)).")
    }
  }

  private static func name(_ defect: StoreDefect) -> String { "\(defect.kind.rawValue) \(defect.place)" }

  private static func summary(_ verdict: StoreVerdict) -> String {
    verdict.problems.map { name($0) }.joined(separator: ", ")
  }

  // MARK: Contents

  /// What of a store a repair may not change, read through SQLite alone.
  private struct Content {
    /// Every value of every table.
    var everything: [String: [String]] = [:]
    /// The values of attributes, and the keys and pairs that lead to rows that exist, by what they are.
    var kept: [String: Set<String>] = [:]

    /// Returns what a later state lacks; nil if it has everything.
    func lost(in later: Content) -> String? {
      for (place, rows) in kept.sorted(by: { $0.key < $1.key }) {
        guard let row = rows.subtracting(later.kept[place] ?? []).sorted().first else { continue }
        return "\(place): \(row.prefix(300)) is missing"
      }
      return nil
    }
  }

  /// Reads a copy of a store; nil if SQLite cannot read all of it.
  private static func content(_ input: FuzzInput, _ schema: StoreSchema?, _ lab: FuzzLab) throws -> Content? {
    let folder = try lab.copies()
    try FuzzInput(files: input.files.filter { $0.key.hasPrefix(Sample.store) }).write(to: folder)
    do {
      let raw = try RawStore(folder.appendingPathComponent(Sample.store))
      defer { raw.close() }
      return try content(raw, schema)
    } catch let error where error is RawStore.Failure {
      return nil
    }
  }

  private static func content(_ raw: RawStore, _ schema: StoreSchema?) throws -> Content {
    var content = Content()
    let tables = try raw.texts("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")
    func columns(_ table: String) throws -> [String] {
      try raw.rows("SELECT name FROM pragma_table_info('\(table)')").compactMap { $0[0] }
    }
    func list(_ columns: [String], _ prefix: String = "") -> String {
      columns.map { "quote(\(prefix)\"\($0)\")" }.joined(separator: " || '|' || ")
    }
    for table in tables {
      content.everything[table] = try raw.texts("SELECT \(list(try columns(table))) FROM \"\(table)\" NOT INDEXED")
        .sorted()
    }
    for entity in schema?.entities ?? [] where tables.contains(entity.table) {
      let present = Set(try columns(entity.table))
      let values = ["Z_PK"] + entity.attributes.values.flatMap(\.columns).filter(present.contains).sorted()
      content.kept["rows of \(entity.name)"] = Set(
        try raw.texts("SELECT \(list(values)) FROM \"\(entity.table)\" NOT INDEXED"))
      for relationship in entity.relationships.values where !relationship.isToMany {
        guard case .foreignKey(let key) = relationship.storage, present.contains(key.column),
          let target = schema?[relationship.destinationEntity]?.table, tables.contains(target)
        else { continue }
        content.kept["keys of \(entity.name).\(relationship.name)"] = Set(
          try raw.texts(
            "SELECT \(list(["Z_PK", key.column], "o.")) FROM \"\(entity.table)\" o NOT INDEXED WHERE EXISTS "
              + "(SELECT 1 FROM \"\(target)\" d NOT INDEXED WHERE d.Z_PK = o.\"\(key.column)\")"))
      }
    }
    for join in schema?.joinTables ?? [] where tables.contains(join.name) {
      guard let near = schema?[join.ownerEntity]?.table, let far = schema?[join.inverseEntity]?.table,
        tables.contains(near), tables.contains(far)
      else { continue }
      content.kept["pairs of \(join.name)"] = Set(
        try raw.texts(
          "SELECT \(list([join.ownerColumn, join.destinationColumn], "j.")) FROM \"\(join.name)\" j NOT INDEXED WHERE "
            + "EXISTS (SELECT 1 FROM \"\(near)\" d NOT INDEXED WHERE d.Z_PK = j.\"\(join.ownerColumn)\") AND "
            + "EXISTS (SELECT 1 FROM \"\(far)\" d NOT INDEXED WHERE d.Z_PK = j.\"\(join.destinationColumn)\")"))
    }
    return content
  }
}
