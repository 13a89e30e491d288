// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

/// The statements of a connection that are known to the server, by text and types of parameters.
///
/// The most recently used are kept. The names of others wait until the connection can have the server forget them.
final class PreparedStatements {
  /// A statement for parameters of certain types.
  final class Statement {
    let name: String
    /// The OID of each parameter's type; 0 where the server inferred it, because only null has been passed so far.
    let types: [UInt32]
    /// Whether the server knows the statement.
    var isPrepared = false

    init(name: String, types: [UInt32]) { (self.name, self.types) = (name, types) }

    /// Whether values can be passed. Null fits every type.
    func accepts(_ values: [PostgreSQLValue]) -> Bool {
      if values.count != types.count { return false }
      for position in values.indices {
        if let type = values[position].type, type.rawValue != types[position] { return false }
      }
      return true
    }

    /// Whether every list of values that the other accepts is accepted.
    fileprivate func covers(_ other: Statement) -> Bool {
      types.count == other.types.count && zip(types, other.types).allSatisfy { $0 == $1 || $1 == 0 }
    }
  }

  private final class Entry {
    let sql: String
    var statements: [Statement] = []
    var lastUse: UInt64 = 0

    init(_ sql: String) { self.sql = sql }
  }

  /// How many texts are kept.
  let limit: Int
  private var entries: [String: Entry] = [:]
  /// The entry of the last statement: the next is often the same.
  private var last: Entry?
  private var uses: UInt64 = 0
  private var lastNumber = 0
  /// The names of statements that the server shall forget.
  private(set) var obsolete: [String] = []

  init(limit: Int) { self.limit = limit }

  /// The number of texts that are known.
  var count: Int { entries.count }

  /// Whether a statement with the text has been used.
  func knows(_ sql: String) -> Bool { last?.sql == sql || entries[sql] != nil }

  /// Returns the statement of a text that accepts the values; a new one if there is none.
  func statement(_ sql: String, _ values: [PostgreSQLValue]) -> Statement {
    uses += 1
    let entry = entry(sql)
    entry.lastUse = uses
    if let known = entry.statements.first(where: { $0.accepts(values) }) { return known }
    lastNumber += 1
    // Types of earlier values take the place of null, so that one statement suffices for all lists with some nulls.
    let similar = entry.statements.first { statement in
      statement.types.count == values.count
        && zip(statement.types, values).allSatisfy { type, value in
          type == 0 || value.type.map { $0.rawValue == type } ?? true
        }
    }
    let types = values.indices.map { values[$0].type?.rawValue ?? similar?.types[$0] ?? 0 }
    let new = Statement(name: "s\(lastNumber)", types: types)
    let replaced = entry.statements.filter { new.covers($0) }
    entry.statements.removeAll { new.covers($0) }
    discard(replaced)
    entry.statements.append(new)
    return new
  }

  private func entry(_ sql: String) -> Entry {
    if let last, last.sql == sql { return last }
    let entry: Entry
    if let known = entries[sql] {
      entry = known
    } else {
      entry = Entry(sql)
      if entries.count >= limit { evict() }
      entries[sql] = entry
    }
    last = entry
    return entry
  }

  /// Drops a tenth of the texts, so that this is done seldom.
  private func evict() {
    for entry in entries.values.sorted(by: { $0.lastUse < $1.lastUse }).prefix(max(1, limit / 10)) { forget(entry.sql) }
  }

  func forget(_ sql: String) {
    if last?.sql == sql { last = nil }
    if let entry = entries.removeValue(forKey: sql) { discard(entry.statements) }
  }

  func forgetAll() {
    for entry in entries.values { discard(entry.statements) }
    (entries, last) = ([:], nil)
  }

  /// Notes that the server knows none of the statements to be forgotten any more.
  func obsoleteForgotten() { obsolete = [] }

  private func discard(_ statements: [Statement]) {
    for statement in statements where statement.isPrepared { obsolete.append(statement.name) }
  }
}
