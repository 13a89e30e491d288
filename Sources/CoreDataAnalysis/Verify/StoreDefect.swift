// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataSQLite

/// What is wrong at one place of a store: an entity's property, a table, or the file as a whole.
package struct StoreDefect: Sendable {
  /// The rules that a store is verified by. The raw values are those of JSON.
  package enum Kind: String, CaseIterable, Sendable {
    /// The write-ahead log beside the store belongs to another database.
    case foreignLog = "foreign-log"
    /// The write-ahead log of the store is probably missing, with the last rows.
    case missingLog = "missing-log"
    /// SQLite finds the pages of the file contradictory.
    case pages
    /// An index does not agree with its table.
    case index
    /// The metadata, or the model that the store carries, are missing or contradict the store.
    case metadata
    /// The tables are not those of the model.
    case layout
    /// `Z_MAX` is below the greatest key, so that the next object would get a key that is taken.
    case greatestKey = "greatest-key"
    /// `Z_ENT` names no entity whose rows the table has.
    case entityNumber = "entity-number"
    /// A value is not of its attribute's type.
    case type
    /// A required attribute or to-one relationship has no value.
    case requiredValue = "required-value"
    /// A value is refused by a validation rule, or by the range of its type.
    case validation
    /// A uniqueness constraint is violated.
    case uniqueness
    /// A to-one relationship leads to a row that does not exist.
    case danglingKey = "dangling-key"
    /// A relationship leads to a row of an entity that it cannot lead to.
    case wrongEntity = "wrong-entity"
    /// The entity number beside a foreign key is not that of the row that the key leads to.
    case entityKey = "entity-key"
    /// A row of a join table names a row that does not exist.
    case joinRow = "join-row"
    /// The two sides of a one-to-one relationship disagree.
    case inverse
    /// Members of an ordered relationship have no place, or share one.
    case orderKey = "order-key"
    /// A to-many relationship has too few or too many members.
    case count
    /// The file of a large value is missing or cannot be read.
    case missingFile = "missing-file"
    /// A change of persistent history belongs to no transaction.
    case history
    /// The write-ahead log may be missing.
    case uncertainLog = "uncertain-log"
    /// The file lacks an index that Core Data would have made.
    case missingIndex = "missing-index"
    /// Something in the file belongs to no entity of the model.
    case unknownContent = "unknown-content"
    /// A file beside the store belongs to no value.
    case orphanedFile = "orphaned-file"
    /// One side of a one-to-one relationship has no value in any row.
    case oneSidedInverse = "one-sided-inverse"

    /// Whether it is only worth knowing: nothing is lost, and reading and writing work.
    package var isRemark: Bool {
      switch self {
      case .uncertainLog, .missingIndex, .unknownContent, .orphanedFile, .oneSidedInverse: true
      default: false
      }
    }
  }

  /// One of the rows or things that are concerned.
  package struct Example: Hashable, Sendable {
    /// The primary key of the row; nil for what is no row of an entity.
    package let key: Int64?
    /// A sentence.
    package let text: String
  }

  package let kind: Kind
  package let entity: String?
  package let property: String?
  /// How many rows, or other things, are concerned.
  package let count: Int
  /// The first of them.
  package let examples: [Example]
  /// The statements that repair all of them without a guess; empty where there are none.
  package let repair: [String]
  /// What the repair does, in a sentence; or else what the user can do.
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

  /// A defect that is told in one sentence.
  init(_ kind: Kind, entity: String? = nil, _ text: String, repair: [String] = [], cure: String) {
    self.init(kind, entity: entity, count: 1, examples: [.init(key: nil, text: text)], repair: repair, cure: cure)
  }

  /// What the log of the store is suspected of.
  init(_ problem: LogProblem) {
    let kind: Kind =
      switch problem.kind {
      case .foreign: .foreignLog
      case .missing: .missingLog
      case .uncertain: .uncertainLog
      }
    self.init(kind, problem.finding, cure: problem.cure)
  }

  /// What a server has found.
  package init(_ problem: ServerStoreProblem) {
    let kind: Kind =
      switch problem.kind {
      case .metadata: .metadata
      case .constraint: .layout
      case .index: .missingIndex
      case .keys: .greatestKey
      case .entityNumber: .entityNumber
      }
    self.init(kind, entity: problem.entity, problem.text, cure: problem.cure)
  }

  /// The same defect with another advice.
  func with(cure: String) -> StoreDefect {
    StoreDefect(
      kind, entity: entity, property: property, count: count, examples: examples, repair: repair, cure: cure)
  }

  package var isRepairable: Bool { !repair.isEmpty }

  /// `Entity.property`, `Entity`, or nothing.
  package var place: String { [entity, property].compactMap { $0 }.joined(separator: ".") }
}

/// What a verification of a store has found.
package struct StoreVerdict: Sendable {
  /// In the order of their kinds, then by entity and property.
  package let defects: [StoreDefect]
  /// The rows by entity; entities whose table cannot be read are missing.
  package let rows: [String: Int]
  /// The files of large values that rows name.
  package let fileCount: Int
  /// What was not checked, and why, in sentences.
  package let gaps: [String]

  /// The verdict with further defects.
  package func adding(_ more: [StoreDefect]) -> StoreVerdict {
    StoreVerdict(
      defects: StoreVerifier.sorted(defects + more), rows: rows, fileCount: fileCount, gaps: gaps)
  }

  /// The defects that are more than remarks.
  package var problems: [StoreDefect] { defects.filter { !$0.kind.isRemark } }
  package var isSound: Bool { problems.isEmpty }
}
