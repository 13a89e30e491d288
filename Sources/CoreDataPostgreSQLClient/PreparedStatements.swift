// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

/// A cache of prepared statements, by SQL text and parameter types.
///
/// Keeps the most recently used texts. The names of evicted statements are listed in `obsolete` until the connection
/// can deallocate them on the server.
final class PreparedStatements {
  /// A statement with specific parameter types.
  final class Statement {
    let name: String
    /// The OID of each parameter's type; 0 if the server infers it because only null has been passed so far.
    let types: [UInt32]
    /// Whether the statement is prepared on the server.
    var isPrepared = false

    init(name: String, types: [UInt32]) { (self.name, self.types) = (name, types) }

    /// Returns whether the statement can be run with the values. Null fits every type.
    func accepts(_ values: [PostgreSQLValue]) -> Bool {
      if values.count != types.count { return false }
      for position in values.indices {
        if let type = values[position].type, type.rawValue != types[position] { return false }
      }
      return true
    }

    /// Returns whether this statement accepts all values that the other one accepts.
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

  /// The maximum number of texts to keep.
  let limit: Int
  private var entries: [String: Entry] = [:]
  /// The entry of the last statement, because the next one is often the same.
  private var last: Entry?
  private var uses: UInt64 = 0
  private var lastNumber = 0
  /// The beginning of all names. No two connections have the same one, so that a server process that a pooler gives to
  /// several of them never runs the statement of another.
  private let prefix = "s" + String(UInt64.random(in: 0...UInt64.max), radix: 36)
  /// The names of statements to deallocate on the server.
  private(set) var obsolete: [String] = []

  init(limit: Int) { self.limit = limit }

  /// The number of cached texts.
  var count: Int { entries.count }

  /// Returns whether a text is in the cache.
  func knows(_ sql: String) -> Bool { last?.sql == sql || entries[sql] != nil }

  /// Returns the statement for a text that accepts the values, creating one if necessary.
  func statement(_ sql: String, _ values: [PostgreSQLValue]) -> Statement {
    uses += 1
    let entry = entry(sql)
    entry.lastUse = uses
    if let known = entry.statements.first(where: { $0.accepts(values) }) { return known }
    lastNumber += 1
    // For null, use the type of an earlier value, so that one statement suffices for values with and without nulls.
    let similar = entry.statements.first { statement in
      statement.types.count == values.count
        && zip(statement.types, values).allSatisfy { type, value in
          type == 0 || value.type.map { $0.rawValue == type } ?? true
        }
    }
    let types = values.indices.map { values[$0].type?.rawValue ?? similar?.types[$0] ?? 0 }
    let new = Statement(name: "\(prefix)_\(lastNumber)", types: types)
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

  /// Evicts the least recently used tenth of the texts. Evicting several at once makes evictions rare.
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

  /// Records that the obsolete statements have been deallocated.
  func obsoleteForgotten() { obsolete = [] }

  private func discard(_ statements: [Statement]) {
    for statement in statements where statement.isPrepared { obsolete.append(statement.name) }
  }
}
