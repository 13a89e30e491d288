// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation
import SystemPostgreSQL

/// The work of `PostgreSQLWorkloads` over libpq, on the tables of the same stores.
enum PostgreSQLByHand {
  /// A connection, with its results in binary format.
  private final class Connection {
    let handle: OpaquePointer

    init(_ store: PostgreSQLWorkloads.Store) throws {
      handle = PQconnectdb(PostgreSQLWorkloads.server ?? "")
      guard PQstatus(handle) == CONNECTION_OK else { throw Failure(text: String(cString: PQerrorMessage(handle))) }
      try run("SET search_path = \(store.schema)")
    }

    deinit { PQfinish(handle) }

    func run(_ sql: String) throws { PQclear(try checked(PQexec(handle, sql))) }

    func checked(_ result: OpaquePointer?) throws -> OpaquePointer {
      guard let result, [PGRES_COMMAND_OK, PGRES_TUPLES_OK, PGRES_COPY_IN].contains(PQresultStatus(result)) else {
        throw Failure(text: String(cString: PQerrorMessage(handle)))
      }
      return result
    }

    func prepare(_ sql: String) throws { PQclear(try checked(PQprepare(handle, "s", sql, 0, nil))) }

    /// Runs the prepared statement with a `bigint`.
    func row(_ key: Int64) throws -> OpaquePointer {
      var bytes = key.bigEndian
      return try withUnsafeBytes(of: &bytes) { bytes in
        var value: UnsafePointer<CChar>? = bytes.baseAddress?.assumingMemoryBound(to: CChar.self)
        var (length, format): (Int32, Int32) = (8, 1)
        return try checked(PQexecPrepared(handle, "s", 1, &value, &length, &format, 1))
      }
    }

    /// Runs a statement whose parameter is an array of keys as text.
    func rows(_ sql: String, _ keys: [Int64] = []) throws -> OpaquePointer {
      guard !keys.isEmpty else { return try checked(PQexecParams(handle, sql, 0, nil, nil, nil, nil, 1)) }
      let text = "{\(keys.map(String.init).joined(separator: ","))}"
      return try text.withCString { text in
        var value: UnsafePointer<CChar>? = text
        return try checked(PQexecParams(handle, sql, 1, nil, &value, nil, nil, 1))
      }
    }
  }

  private static func integer(_ result: OpaquePointer, _ row: Int32, _ column: Int32) -> Int64 {
    guard let start = PQgetvalue(result, row, column) else { return 0 }
    return Int64(bigEndian: UnsafeRawPointer(start).loadUnaligned(as: Int64.self))
  }

  private static func text(_ result: OpaquePointer, _ row: Int32, _ column: Int32) -> String {
    let bytes = UnsafeRawBufferPointer(
      start: PQgetvalue(result, row, column), count: Int(PQgetlength(result, row, column)))
    return String(decoding: bytes, as: UTF8.self)
  }

  /// A row of `columns`.
  private static func note(_ result: OpaquePointer, _ row: Int32) -> ObjectWorkByHand.Note {
    ObjectWorkByHand.Note(
      key: integer(result, row, 0), title: text(result, row, 8), body: text(result, row, 3),
      fullName: text(result, row, 7), dateCreated: Double(integer(result, row, 4)) / 1e6,
      displayIndex: integer(result, row, 6))
  }

  private static func notes(_ result: OpaquePointer) -> [ObjectWorkByHand.Note] {
    (0..<PQntuples(result)).map { note(result, $0) }
  }

  private static func store(notes: Int = 0, attachments: Int = 0) throws -> PostgreSQLWorkloads.Store {
    try PostgreSQLWorkloads.Store(noteCount: notes, attachments: attachments)
  }

  @Sendable static func insert(_ place: Workload.Place) throws -> Measurement {
    let notes = ObjectWorkloads.notes(place)
    let connection = try Connection(store())
    return try Measurement.of {
      try connection.run("BEGIN")
      try connection.run(
        "COPY znote (z_pk, z_ent, z_opt, zbody, zdatecreated, zdatecreated_sub, zdisplayindex, zfullname, ztitle) "
          + "FROM STDIN (FORMAT binary)")
      var buffer = Array("PGCOPY\n".utf8) + [0xFF, 0x0D, 0x0A, 0] + Array(repeating: 0, count: 8)
      func put<Number: FixedWidthInteger>(_ number: Number) {
        withUnsafeBytes(of: number.bigEndian) { buffer.append(contentsOf: $0) }
      }
      func put(_ text: String) {
        put(Int32(text.utf8.count))
        buffer.append(contentsOf: text.utf8)
      }
      func send() {
        buffer.withUnsafeBytes {
          _ = PQputCopyData(connection.handle, $0.baseAddress?.assumingMemoryBound(to: CChar.self), Int32($0.count))
        }
        buffer.removeAll(keepingCapacity: true)
      }
      for (number, note) in notes.enumerated() {
        put(Int16(9))
        put(Int32(8))
        put(Int64(number + 1))
        put(Int32(4))
        put(Int32(2))
        put(Int32(4))
        put(Int32(1))
        put(note.body)
        put(Int32(8))
        put(Int64(note.dateCreated * 1e6) + 31_622_400_000_000)
        put(Int32(-1))
        put(Int32(8))
        put(note.displayIndex)
        put(note.fullName)
        put(note.title)
        if buffer.count > 256 << 10 { send() }
      }
      put(Int16(-1))
      send()
      PQputCopyEnd(connection.handle, nil)
      while let result = PQgetResult(connection.handle) { PQclear(try connection.checked(result)) }
      try connection.run("COMMIT")
    }
  }

  private static let columns =
    "z_pk, z_ent, z_opt, zbody, zdatecreated, zdatecreated_sub, zdisplayindex, zfullname, ztitle"

  @Sendable static func fetchAll(_ place: Workload.Place) throws -> Measurement {
    let connection = try Connection(store(notes: place.noteCount))
    return try Measurement.of {
      let result = try connection.rows("SELECT \(columns) FROM znote ORDER BY z_pk")
      let notes = notes(result)
      PQclear(result)
      try ObjectWorkloads.check(notes.reduce(0) { $0 + $1.title.utf8.count } > 0)
    }
  }

  @Sendable static func faults(_ place: Workload.Place) throws -> Measurement {
    let connection = try Connection(store(notes: ObjectWorkloads.count))
    return try Measurement.of {
      let keys = try connection.rows("SELECT z_pk FROM znote ORDER BY z_pk")
      try connection.prepare("SELECT \(columns) FROM znote WHERE z_pk = $1")
      var length = 0
      for row in 0..<PQntuples(keys) {
        let found = try connection.row(integer(keys, row, 0))
        length += note(found, 0).title.utf8.count
        PQclear(found)
      }
      PQclear(keys)
      try ObjectWorkloads.check(length > 0)
    }
  }

  @Sendable static func prefetched(_ place: Workload.Place) throws -> Measurement {
    let connection = try Connection(store(notes: ObjectWorkloads.count, attachments: ObjectWorkloads.count))
    return try Measurement.of {
      let attachments = try connection.rows(
        "SELECT znote, z_pk, z_ent, z_opt, zcaption, zheight, zwidth FROM zattachment ORDER BY z_pk")
      let keys = (0..<PQntuples(attachments)).map { integer(attachments, $0, 0) }
      PQclear(attachments)
      let result = try connection.rows("SELECT \(columns) FROM znote WHERE z_pk = ANY ($1::bigint[])", keys)
      let notes = Dictionary(notes(result).map { ($0.key, $0) }) { first, _ in first }
      PQclear(result)
      try ObjectWorkloads.check(keys.reduce(0) { $0 + (notes[$1]?.title.utf8.count ?? 0) } > 0)
    }
  }

  @Sendable static func open(_ place: Workload.Place) throws -> Measurement {
    let store = try store()
    return try Measurement.of { PQclear(try Connection(store).rows("SELECT z_uuid, z_plist FROM z_metadata")) }
  }

  static func addAttribute(noteCount: Int) throws -> Measurement {
    let connection = try Connection(store(notes: noteCount))
    return try Measurement.of {
      try connection.run("BEGIN; ALTER TABLE znote ADD COLUMN zrating bigint DEFAULT 3; COMMIT")
    }
  }
}
