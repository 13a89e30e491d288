// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataPostgreSQLClient
import CoreDataSQLite
import Foundation

/// The programs that PostgreSQL's packages install, such as `pg_dump`.
struct ServerPrograms {
  /// The directories to search: those of `PATH`, then those of Debian's versions, newest first.
  let directories: [String]

  init(environment: [String: String] = ProcessInfo.processInfo.environment, versions: String = "/usr/lib/postgresql") {
    // There need be no such directory.
    let names = (try? FileManager.default.contentsOfDirectory(atPath: versions)) ?? []
    let sorted = names.sorted { ($0 as NSString).doubleValue > ($1 as NSString).doubleValue }
    directories =
      (environment["PATH"] ?? "").split(separator: ":").map(String.init) + sorted.map { "\(versions)/\($0)/bin" }
  }

  /// Returns the path of a program.
  ///
  /// - Throws: `BackupToolMissing`.
  func path(of program: String) throws -> String {
    let found = directories.lazy.map { "\($0)/\(program)" }
      .first { FileManager.default.isExecutableFile(atPath: $0) }
    guard let found else {
      throw BackupToolMissing(
        program: program,
        advice:
          "Install it, in the server's version or a later one: apt-get install postgresql-client, or brew install "
          + "libpq.")
    }
    return found
  }

  /// Runs a program until it ends.
  ///
  /// - Returns: its status and what it has written to standard error.
  static func run(
    _ path: String, _ arguments: [String], _ environment: [String: String]
  ) throws -> (status: Int32, message: String) {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: path)
    process.arguments = arguments
    process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
    process.standardInput = FileHandle.nullDevice
    process.standardOutput = FileHandle.nullDevice
    let errors = Pipe()
    process.standardError = errors
    try process.run()
    let message = String(decoding: errors.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    return (process.terminationStatus, message)
  }
}

extension PostgreSQLStore: AdministeredStore {
  static func backUp(at url: URL, to directory: URL, name: String) throws -> ServerBackup {
    try backUp(at: url, to: directory, name: name, ServerPrograms())
  }

  static func backUp(
    at url: URL, to directory: URL, name: String, _ programs: ServerPrograms
  ) throws -> ServerBackup {
    let address = try PostgreSQLAddress(url)
    let dump = try programs.path(of: "pg_dump")
    let restore = try programs.path(of: "pg_restore")
    guard let connection = address.programConnection else {
      throw StoreErrors.operationFailed(
        url: url,
        reason: "The URL has a secret that pg_dump takes from no environment variable. Keep it in a service "
          + "file, and name the service in the URL.")
    }
    let file = directory.appendingPathComponent(name + ".dump")
    let draft = directory.appendingPathComponent(".\(name)-\(UUID().uuidString).dump")
    // A failure has its own error; the draft has no other use.
    defer { try? FileManager.default.removeItem(at: draft) }
    func run(_ program: String, _ arguments: [String]) throws {
      let (status, message) = try ServerPrograms.run(program, arguments, connection.environment)
      guard status == 0 else {
        let words = address.maskedOutput(message).split(whereSeparator: \.isNewline).joined(separator: " ")
        let name = (program as NSString).lastPathComponent
        throw StoreErrors.operationFailed(url: url, reason: "\(name) has ended with status \(status): \(words)")
      }
    }
    guard FileManager.default.createFile(atPath: draft.path, contents: nil, attributes: [.posixPermissions: 0o600])
    else {
      throw StoreErrors.operationFailed(url: url, reason: "No file can be created in \(directory.path).")
    }
    try run(
      dump,
      [
        "--format=custom", "--no-password", "--schema=\(SQLName.quoted(address.schema))", "--file=\(draft.path)",
        "--dbname=\(connection.argument)",
      ])
    // Reads the table of contents, so that a damaged file is no backup.
    try run(restore, ["--list", draft.path])
    let handle = try FileHandle(forUpdating: draft)
    try handle.synchronize()
    try handle.close()
    try FileManager.default.moveItem(at: draft, to: file)
    return ServerBackup(file: file, restoring: restoring(file, address, connection))
  }

  private static func restoring(
    _ file: URL, _ address: PostgreSQLAddress, _ connection: PostgreSQLAddress.ProgramConnection
  ) -> [String] {
    func word(_ text: String) -> String { "'\(text.replacingOccurrences(of: "'", with: "'\\''"))'" }
    return [
      "psql --dbname=\(word(connection.argument)) --command=\(word("DROP SCHEMA \(SQLName.quoted(address.schema)) CASCADE"))",
      "pg_restore --exit-on-error --single-transaction --dbname=\(word(connection.argument)) \(word(file.path))",
    ]
  }
}
