// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataFileSystem
import CoreDataSQLite
import CoreDataStoreFiles
import Foundation

/// Finds the objects at the other ends of relationships, and the values in files beside the store.
final class ObjectReferences {
  private let reader: StoreReader
  private let prefix: String
  private let names: [Int: String]
  private let support: SupportDirectory
  /// Called for a value whose file cannot be read, which is then exported as null; nil to throw an error.
  private let didMissValue: ((StoreProblem) throws -> Void)?
  /// The queries for members, by relationship.
  private var statements: [RelationshipLayout: String] = [:]

  init(reader: StoreReader, didMissValue: ((StoreProblem) throws -> Void)? = nil) {
    self.reader = reader
    self.didMissValue = didMissValue
    prefix = "x-coredata://\(reader.metadata.uuid)/"
    names = Dictionary(reader.entities.map { ($0.number, $0.name) }) { first, _ in first }
    support = SupportDirectory(store: reader.url)
  }

  func id(_ entity: String, _ key: Int64) -> String { "\(prefix)\(entity)/p\(key)" }

  /// The identifier of the row that a foreign key names.
  ///
  /// - Parameter number: the entity number beside the key, where the store has one.
  func reference(to key: Int64, of destination: String, number: Int?) throws -> String {
    guard let layout = reader.schema?[destination], layout.hasSubentities else { return id(destination, key) }
    if let name = number.flatMap({ names[$0] }) { return id(name, key) }
    let sql = "SELECT Z_ENT FROM \(SQLName.quoted(layout.table)) WHERE Z_PK = ?1"
    let found = try reader.connection.scalar(sql, [.integer(key)])?.integer
    return id(found.flatMap { names[Int($0)] } ?? destination, key)
  }

  /// The identifiers of a to-many relationship's members.
  func members(of relationship: RelationshipLayout, owner: Int64) throws -> [String] {
    guard let schema = reader.schema, let destination = schema[relationship.destinationEntity] else { return [] }
    let sql = statements[relationship] ?? RelationshipPairs(of: relationship, in: schema).members(of: destination)
    statements[relationship] = sql
    return try reader.connection.cached(sql) { statement in
      try statement.bind([.integer(owner)])
      var found: [(name: String, key: Int64)] = []
      while try statement.step() {
        let name = destination.hasSubentities ? names[Int(statement.int64(at: 1))] : nil
        found.append((name ?? relationship.destinationEntity, statement.int64(at: 0)))
      }
      if !relationship.isOrdered { found.sort { ($0.name, $0.key) < ($1.name, $1.key) } }
      return found.map { id($0.name, $0.key) }
    }
  }

  /// The value that the bytes of an attribute with external storage represent.
  ///
  /// - Returns: nil where the file cannot be read, and `didMissValue` has been called.
  /// - Throws: `StoreProblem` where the file is missing, or is a link, a device or anything but a regular file.
  func externalData(_ bytes: Data, property: String, of entity: String, key: Int64) throws -> Data? {
    if bytes.first == 1 { return Data(bytes.dropFirst()) }
    guard let name = ExternalData.fileName(in: bytes) else { return bytes }
    do {
      return try support.read(name)
    } catch {
      let problem = missing(name, property: property, of: entity, key: key, error)
      guard let didMissValue else { throw problem }
      try didMissValue(problem)
      return nil
    }
  }

  private func missing(
    _ name: String, property: String, of entity: String, key: Int64, _ error: any Error
  ) -> StoreProblem {
    let value = "\(entity).\(property) of the row \(key) in \(reader.url.lastPathComponent)"
    if let problem = error as? RegularFile.Problem {
      return StoreProblem(
        .damaged,
        "\(value) is kept in a file that is not read: \(problem) Find out where it comes from, and put the file of the "
          + "value in its place.")
    }
    let number = (error as? FileFailure)?.number ?? ENOENT
    let path = support.values.appendingPathComponent(name).path
    return StoreProblem(
      .damaged,
      "\(value) is kept in the file \(path), which "
        + (number == ENOENT ? "is missing." : "cannot be read: \(String(cString: strerror(number))).")
        + " Copy the store together with its directory \(support.url.lastPathComponent).")
  }
}
