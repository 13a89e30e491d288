// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataSQLite
import CoreDataStoreFiles

/// The rows of one entity mapping as two statements: one reads rows of the source with the values of all expressions, on the
/// source's own connection, and the other puts what comes out into the destination, on the destination's.
///
/// Unlike a statement over both files, this leaves to each store the transaction that it is in: what is read is what the
/// objects of the same migration see, whoever writes to the source meanwhile, and what is written is part of what they write.
/// Relationships are not among the columns.
final class RowTransfer {
  let copy: EntityCopy
  private let plan: CopyPlan
  private let selection: BoundSQL
  private let insertion: String
  private let columnCount: Int
  private let derivations: [BoundSQL]

  /// - Parameter plan: of one mapping, whose keys are assigned.
  /// - Throws: `CopyBarrier` for what SQL cannot do; `CopyProblem` for what makes no sense.
  init(_ copy: EntityCopy, _ plan: CopyPlan) throws {
    self.copy = copy
    self.plan = plan
    if copy.destination.isAbstract {
      throw CopyBarrier(mapping: copy.name, reason: "makes objects of an abstract entity")
    }
    let made = try plan.selection(copy, links: nil)
    selection = "SELECT \(made.values) FROM \(made.rows)"
    columnCount = made.columns.count
    let places = made.columns.indices.map { "?\($0 + 1)" }.joined(separator: ", ")
    insertion =
      "INSERT INTO \(plan.target.table(copy.destination.table)) (\(made.columns.joined(separator: ", "))) "
      + "VALUES (\(places))"
    derivations = try CopyDerivations(plan: plan).statements(for: copy)
  }

  /// Whether rows of the destination are looked for by anything but their keys.
  var isSearching: Bool { !derivations.isEmpty }

  /// Makes the rows.
  ///
  /// - Parameters:
  ///   - source: the connection of the source; has the functions of conditions, as that of an open store has.
  ///   - destination: the connection of the destination; the caller sees to it that a failure leaves no rows there.
  ///   - batchSize: after how many rows the caller is told of them.
  ///   - progress: gets a number of rows; may throw to cancel.
  func run(
    from source: SQLiteConnection, to destination: SQLiteConnection, batchSize: Int, progress: (Int) throws -> Void
  ) throws {
    try copy.rows.writeKeys(of: plan, source)
    try plan.functions.calling(on: source) {
      let reading = try source.prepare(selection.sql)
      try reading.bind(selection.values)
      try destination.cached(insertion) { writing in
        var count = 0
        while try reading.step() {
          for column in 0..<columnCount { try writing.bind(column: column, of: reading, at: column + 1) }
          while try writing.step() {}
          writing.reset()
          count += 1
          guard count == batchSize else { continue }
          try progress(count)
          count = 0
        }
        try progress(count)
      }
    }
    try plan.functions.calling(on: destination) {
      for statement in derivations { try destination.run(statement.sql, statement.values) }
    }
  }
}
