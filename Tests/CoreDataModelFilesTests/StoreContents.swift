// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CSQLite
import CoreDataTestSupport
import Foundation

/// What a store says about its model, read without this package's own SQLite layer.
struct StoreContents {
  struct Failure: Error {
    let message: String
  }

  /// The packed model; nil where the store has none.
  let modelCache: Data?
  let hashes: [String: Data]
  let digest: String?
  let checksum: String?

  init(copyOf store: URL) throws {
    let temporary = try Fixtures.copy(ofStore: store)
    let copy = temporary.url
    self = try StoreContents(reading: copy)
  }

  private init(reading copy: URL) throws {
    var connection: OpaquePointer?
    guard sqlite3_open(copy.path, &connection) == SQLITE_OK else { throw Failure(message: "cannot open \(copy.path)") }
    defer { sqlite3_close(connection) }
    let tables = try Self.blobs("SELECT name FROM sqlite_master WHERE type = 'table'", connection)
    let hasCache = tables.contains(Data("Z_MODELCACHE".utf8))
    modelCache = hasCache ? try Self.blobs("SELECT Z_CONTENT FROM Z_MODELCACHE", connection).first : nil
    let plist = try Self.blobs("SELECT Z_PLIST FROM Z_METADATA", connection).first ?? Data()
    let metadata = try PropertyListSerialization.propertyList(from: plist, options: [], format: nil) as? [String: Any]
    hashes = metadata?["NSStoreModelVersionHashes"] as? [String: Data] ?? [:]
    digest = metadata?["NSStoreModelVersionHashesDigest"] as? String
    checksum = metadata?["NSStoreModelVersionChecksumKey"] as? String
  }

  private static func blobs(_ sql: String, _ connection: OpaquePointer?) throws -> [Data] {
    var statement: OpaquePointer?
    guard sqlite3_prepare_v2(connection, sql, -1, &statement, nil) == SQLITE_OK else {
      throw Failure(message: String(cString: sqlite3_errmsg(connection)))
    }
    defer { sqlite3_finalize(statement) }
    var result: [Data] = []
    while sqlite3_step(statement) == SQLITE_ROW {
      guard let bytes = sqlite3_column_blob(statement, 0) else { continue }
      result.append(Data(bytes: bytes, count: Int(sqlite3_column_bytes(statement, 0))))
    }
    return result
  }
}
