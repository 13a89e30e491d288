// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataSQLite

/// A problem at one place of a store: an entity's property, a table, or the whole file.
package struct StoreDefect: Sendable {
  /// The rules for verifying a store. The raw values are used in JSON.
  package enum Kind: String, CaseIterable, Sendable {
    /// The write-ahead log beside the store belongs to another database.
    case foreignLog = "foreign-log"
    /// The store's write-ahead log, with the last rows, is probably missing.
    case missingLog = "missing-log"
    /// SQLite finds contradictory pages in the file.
    case pages
    /// An index does not match its table.
    case index
    /// The metadata or the cached model is missing, or contradicts the store.
    case metadata
    /// The tables are not those of the model.
    case layout
    /// `Z_MAX` is less than the greatest key, so that the next object would get a key in use.
    case greatestKey = "greatest-key"
    /// `Z_ENT` is not the number of an entity in the table.
    case entityNumber = "entity-number"
    /// A value does not have its attribute's type.
    case type
    /// A required attribute or to-one relationship has no value.
    case requiredValue = "required-value"
    /// A validation rule, or the range of its type, rejects a value.
    case validation
    /// A uniqueness constraint is violated.
    case uniqueness
    /// A to-one relationship refers to a row that does not exist.
    case danglingKey = "dangling-key"
    /// A relationship refers to a row of an entity that cannot be its destination.
    case wrongEntity = "wrong-entity"
    /// The entity number beside a foreign key differs from that of the referenced row.
    case entityKey = "entity-key"
    /// A row of a join table refers to a row that does not exist.
    case joinRow = "join-row"
    /// The two sides of a one-to-one relationship disagree.
    case inverse
    /// Members of an ordered relationship have no order key, or share one.
    case orderKey = "order-key"
    /// A to-many relationship has too few or too many members.
    case count
    /// An external data file is missing or cannot be read.
    case missingFile = "missing-file"
    /// A change in persistent history belongs to no transaction.
    case history
    /// The write-ahead log may be missing.
    case uncertainLog = "uncertain-log"
    /// The file lacks an index that Core Data would have created.
    case missingIndex = "missing-index"
    /// A part of the file belongs to no entity of the model.
    case unknownContent = "unknown-content"
    /// A file beside the store is referenced by no value.
    case orphanedFile = "orphaned-file"
    /// The role of the connection lacks a privilege on a table of a server.
    case privilege
    /// A trigger or a rule of somebody else runs in a server when rows are written.
    case trigger
    /// One side of a one-to-one relationship has no value in any row.
    case oneSidedInverse = "one-sided-inverse"

    /// Whether the defect is only worth knowing: nothing is lost, and reading and writing work.
    package var isRemark: Bool {
      switch self {
      case .uncertainLog, .missingIndex, .unknownContent, .orphanedFile, .oneSidedInverse, .trigger: true
      default: false
      }
    }
  }

  /// One of the affected rows or other objects.
  package struct Example: Hashable, Sendable {
    /// The primary key of the row; nil if the example is not a row of an entity.
    package let key: Int64?
    /// A description in one sentence.
    package let text: String
  }

  package let kind: Kind
  package let entity: String?
  package let property: String?
  /// The number of affected rows or other objects.
  package let count: Int
  /// The first affected rows or objects.
  package let examples: [Example]
  /// The statements that repair all of them without guessing; empty if there are none.
  package let repair: [String]
  /// The effect of the repair as a sentence, or else what the user can do.
  package let cure: String

  init(
    _ kind: Kind, entity: String? = nil, property: String? = nil, count: Int, examples: [Example],
    repair: [String] = [], cure: String
  ) {
    self.kind = kind
    self.entity = entity
    self.property = property
    self.count = count
    self.examples = examples
    self.repair = repair
    self.cure = cure
  }

  /// Creates a defect described by one sentence.
  init(_ kind: Kind, entity: String? = nil, _ text: String, repair: [String] = [], cure: String) {
    self.init(kind, entity: entity, count: 1, examples: [.init(key: nil, text: text)], repair: repair, cure: cure)
  }

  /// Creates the defect for a problem with the store's log.
  init(_ problem: LogProblem) {
    let kind: Kind =
      switch problem.kind {
      case .foreign: .foreignLog
      case .missing: .missingLog
      case .uncertain: .uncertainLog
      }
    self.init(kind, problem.finding, cure: problem.cure)
  }

  /// Creates a defect found by a server.
  ///
  /// - Parameter isRefused: whether the rows did not allow the repair.
  package init(_ problem: ServerStoreProblem, isRefused: Bool = false) {
    let kind: Kind =
      switch problem.kind {
      case .metadata: .metadata
      case .constraint, .column: .layout
      case .index: .missingIndex
      case .keys: .greatestKey
      case .entityNumber: .entityNumber
      case .privilege: .privilege
      case .trigger: .trigger
      }
    self.init(
      kind, entity: problem.entity, problem.text, repair: isRefused ? [] : problem.repair,
      cure: isRefused ? "Rows violate it. Correct them first, and repair again. \(problem.cure)" : problem.cure)
  }

  /// The same defect without its repair, which is for another file than the store.
  package var withoutRepair: StoreDefect {
    StoreDefect(kind, entity: entity, property: property, count: count, examples: examples, cure: cure)
  }

  /// Returns the same defect with other advice.
  func with(cure: String) -> StoreDefect {
    StoreDefect(
      kind, entity: entity, property: property, count: count, examples: examples, repair: repair, cure: cure)
  }

  package var isRepairable: Bool { !repair.isEmpty }

  /// `Entity.property`, `Entity`, or nothing.
  package var place: String { [entity, property].compactMap { $0 }.joined(separator: ".") }
}

/// The result of verifying a store.
package struct StoreVerdict: Sendable {
  /// The defects in the order of their kinds, then by entity and property.
  package let defects: [StoreDefect]
  /// The number of rows by entity, except entities whose table cannot be read.
  package let rows: [String: Int]
  /// The number of external data files referenced by rows.
  package let fileCount: Int
  /// The parts that were not checked, and the reasons, as sentences.
  package let gaps: [String]

  /// The result for a store in a server whose rows could not be read.
  ///
  /// - Parameter gap: the reason, as a sentence.
  package init(ofServer defects: [StoreDefect], gap: String) {
    self.init(defects: StoreVerifier.sorted(defects), rows: [:], fileCount: 0, gaps: [gap])
  }

  init(defects: [StoreDefect], rows: [String: Int], fileCount: Int, gaps: [String]) {
    (self.defects, self.rows, self.fileCount, self.gaps) = (defects, rows, fileCount, gaps)
  }

  /// How many problems there are, as a sentence: "No problems, 2 notes."
  package var conclusion: String {
    let count = defects.count { !$0.kind.isRemark }
    let notes = defects.count - count
    let problems = count > 0 ? CountText.counted(count, "problem") : "No problems"
    return problems + (notes > 0 ? ", \(CountText.counted(notes, "note"))" : "")
      + (gaps.isEmpty ? "." : " in what was checked.")
  }

  /// The same result for a store of which a private copy was verified: repairs of the copy would be of no use.
  package var withoutRepairs: StoreVerdict {
    StoreVerdict(defects: defects.map(\.withoutRepair), rows: rows, fileCount: fileCount, gaps: gaps)
  }

  /// Returns the verdict with additional defects.
  package func adding(_ more: [StoreDefect]) -> StoreVerdict {
    StoreVerdict(
      defects: StoreVerifier.sorted(defects + more), rows: rows, fileCount: fileCount, gaps: gaps)
  }

  /// The defects that are more than remarks.
  package var problems: [StoreDefect] { defects.filter { !$0.kind.isRemark } }
  package var isSound: Bool { problems.isEmpty }
}
