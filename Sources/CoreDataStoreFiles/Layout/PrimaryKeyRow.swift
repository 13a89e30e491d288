// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataSQLite

/// A row of `Z_PRIMARYKEY`.
package struct PrimaryKeyRow: Hashable, Sendable {
  /// The greatest entity number of a model's own entities; those of persistent history are above it.
  package static let maxEntityNumber = 16_000

  package var number: Int
  package var name: String
  package var parentNumber: Int
  /// The greatest primary key ever assigned; kept only in rows of root entities.
  package var maximum: Int64

  package init(number: Int, name: String, parentNumber: Int, maximum: Int64 = 0) {
    self.number = number
    self.name = name
    self.parentNumber = parentNumber
    self.maximum = maximum
  }

  /// Reads the rows of a store by entity number.
  ///
  /// All code that uses entity numbers relies on these checks. `Z_MAX` is only a hint: stores made by Apple's framework
  /// may contain -1, and a key is assigned only after querying the table.
  ///
  /// - Throws: `PrimaryKeyProblem` if rows contradict each other.
  package static func read(_ connection: any SQLDatabase) throws -> [PrimaryKeyRow] {
    let rows = try connection.rows("SELECT Z_ENT, Z_NAME, Z_SUPER, Z_MAX FROM Z_PRIMARYKEY ORDER BY Z_ENT").map { row in
      let name = row[1].text ?? ""
      guard let number = row[0].integer.flatMap({ Int32(exactly: $0) }), number > 0 else {
        throw PrimaryKeyProblem.unusableNumber(row[0].shortLiteral, entity: name)
      }
      guard let parent = row[2].isNull ? 0 : row[2].integer.flatMap({ Int32(exactly: $0) }) else {
        throw PrimaryKeyProblem.unusableParent(row[2].shortLiteral, entity: name)
      }
      return PrimaryKeyRow(
        number: Int(number), name: name, parentNumber: Int(parent), maximum: max(row[3].integer ?? 0, 0))
    }
    try check(rows)
    return rows
  }

  private static func check(_ rows: [PrimaryKeyRow]) throws {
    var byNumber: [Int: PrimaryKeyRow] = [:]
    var names: Set<String> = []
    for row in rows {
      if let other = byNumber.updateValue(row, forKey: row.number) {
        throw PrimaryKeyProblem.sharedNumber(row.number, entities: [other.name, row.name])
      }
      if row.number <= maxEntityNumber, !row.name.isEmpty, !names.insert(row.name).inserted {
        throw PrimaryKeyProblem.repeatedName(row.name)
      }
    }
    // A number is valid once its chain of parents is known to end.
    var settled: Set<Int> = []
    for row in rows {
      var path: Set<Int> = []
      var current: PrimaryKeyRow? = row
      while let entity = current, !settled.contains(entity.number) {
        guard path.insert(entity.number).inserted else { throw PrimaryKeyProblem.ownAncestor(entity.name) }
        current = byNumber[entity.parentNumber]
      }
      settled.formUnion(path)
    }
  }
}

/// A contradiction in `Z_PRIMARYKEY`.
package enum PrimaryKeyProblem: Error, Hashable, Sendable {
  case unusableNumber(String, entity: String)
  case unusableParent(String, entity: String)
  case sharedNumber(Int, entities: [String])
  case repeatedName(String)
  case ownAncestor(String)
}

extension PrimaryKeyProblem: CustomStringConvertible {
  package var description: String {
    switch self {
    case .unusableNumber(let found, let entity):
      "The table Z_PRIMARYKEY gives the entity “\(entity)” the number \(found); it must be a whole number "
        + "from 1 to \(PrimaryKeyRow.maxEntityNumber)."
    case .unusableParent(let found, let entity):
      "The table Z_PRIMARYKEY gives the entity “\(entity)” the parent number \(found); it must be 0 or the "
        + "number of an entity."
    case .sharedNumber(let number, let entities):
      "The table Z_PRIMARYKEY gives the number \(number) to the entities “\(entities[0])” and “\(entities[1])”; each must "
        + "have its own."
    case .repeatedName(let name):
      "The table Z_PRIMARYKEY lists the entity “\(name)” twice; each must have one row."
    case .ownAncestor(let name):
      "The table Z_PRIMARYKEY makes the entity “\(name)” its own ancestor."
    }
  }
}
