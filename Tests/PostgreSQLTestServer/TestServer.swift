// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// A PostgreSQL server for the tests of a process: in a temporary directory, with a socket and no port.
///
/// It ends with the process, even if that is killed: a shell waits for the end of a pipe that only this process holds.
package final class TestServer: @unchecked Sendable {
  /// The server, which is started when it is first used.
  package static let shared: TestServer = {
    do {
      return try TestServer()
    } catch {
      fatalError("PostgreSQL could not be started: \(error)")
    }
  }()

  /// Whether there are the programs of a server.
  package static let isAvailable = programs != nil

  /// The directory of `initdb` and `postgres`; nil if there is none.
  private static let programs: String? = {
    let files = FileManager.default
    let own = ProcessInfo.processInfo.environment["COREDATA_POSTGRESQL_BIN"].map { [$0] } ?? []
    let debian = "/usr/lib/postgresql"
    // The folder need not be there.
    let versions = ((try? files.contentsOfDirectory(atPath: debian)) ?? [])
      .sorted { ($0 as NSString).doubleValue > ($1 as NSString).doubleValue }.map { "\(debian)/\($0)/bin" }
    let path = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":").map(String.init)
    return (own + versions + path).first { folder in
      ["initdb", "pg_ctl", "postgres", "psql"].allSatisfy { files.isExecutableFile(atPath: "\(folder)/\($0)") }
    }
  }()

  package struct Failure: Error, CustomStringConvertible {
    package let description: String
  }

  private let folder: String
  private let user: String?
  private let settings: String
  private let lock = NSLock()
  private var lastNumber = 0

  /// Starts a server of its own, for a test that stops it or changes its settings.
  ///
  /// - Parameter settings: Settings of the server, by name.
  package init(_ settings: [String: String] = [:]) throws {
    guard Self.programs != nil else { throw Failure(description: "there is no server") }
    let all = [
      "listen_addresses": "", "max_connections": "200", "shared_buffers": "64MB", "fsync": "off",
    ].merging(settings) { $1 }
    // A socket's path has at most 107 bytes.
    folder = "/tmp/coredata-pg-\(ProcessInfo.processInfo.processIdentifier)-\(UInt32.random(in: 0...UInt32.max))"
    // PostgreSQL refuses to run as root.
    user = getuid() == 0 ? ["postgres", "nobody"].first { getpwnam($0) != nil } : nil
    self.settings =
      "-k \(folder) " + all.sorted { $0.key < $1.key }.map { "-c \($0.key)='\($0.value)'" }.joined(separator: " ")
    try Self.run("/bin/mkdir", ["-m", "700", folder])
    if let user { try Self.run("/bin/chown", [user, folder]) }
    try control("initdb", ["-D", "\(folder)/data", "-A", "trust", "-U", "tester", "-E", "UTF8", "--locale=C", "-N"])
    try start()
    try watch()
  }

  /// Starts the server, and waits until it takes connections.
  package func start() throws {
    try control(
      "pg_ctl", ["-D", "\(folder)/data", "-o", settings, "-l", "\(folder)/data/log", "-w", "-t", "60", "start"])
  }

  /// Stops the server.
  ///
  /// - Parameter immediately: as if the machine had lost its power.
  package func stop(immediately: Bool = false) throws {
    try control("pg_ctl", ["-D", "\(folder)/data", "-m", immediately ? "immediate" : "fast", "-w", "stop"])
  }

  package func restart(immediately: Bool = false) throws {
    try stop(immediately: immediately)
    try start()
  }

  /// The directory of the socket.
  package var socketFolder: String { folder }

  /// A URL of the server, with further parameters.
  package func url(database: String = "postgres", user: String = "tester", _ parameters: String = "") -> URL {
    let more = parameters.isEmpty ? "" : "&\(parameters)"
    guard let url = URL(string: "postgresql://\(user)@/\(database)?host=\(folder)\(more)") else {
      fatalError("'\(parameters)' makes no URL.")
    }
    return url
  }

  /// A URL with a schema that nobody else uses, and that does not exist yet.
  package func schemaURL(_ parameters: String = "") -> URL {
    url("schema=s\(nextNumber())" + (parameters.isEmpty ? "" : "&\(parameters)"))
  }

  private func nextNumber() -> Int {
    lock.withLock {
      lastNumber += 1
      return lastNumber
    }
  }

  /// Makes a database, whose collation is that of the locale.
  ///
  /// - Returns: its URL.
  package func makeDatabase(locale: String = "C.UTF-8", encoding: String = "UTF8") throws -> URL {
    let name = "database\(nextNumber())"
    try run(sql: "CREATE DATABASE \(name) TEMPLATE template0 ENCODING '\(encoding)' LOCALE '\(locale)'")
    return url(database: name)
  }

  /// Makes a role that may connect, and do nothing else.
  ///
  /// - Parameter password: Its password, which a connection need not give, because the server trusts everybody.
  /// - Returns: its name.
  package func createRole(password: String? = nil) throws -> String {
    let name = "role\(nextNumber())"
    try run(sql: "CREATE ROLE \(name) LOGIN" + (password.map { " PASSWORD '\($0)'" } ?? ""))
    return name
  }

  /// Runs a statement as the superuser, by a connection of its own.
  package func run(sql: String, database: String = "postgres") throws {
    try control(
      "psql", ["-X", "-q", "-v", "ON_ERROR_STOP=1", "-h", folder, "-U", "tester", "-d", database, "-c", sql])
  }

  /// What the server has written to its log.
  package var log: String {
    get throws { try String(contentsOfFile: "\(folder)/data/log", encoding: .utf8) }
  }

  // MARK: Processes

  private static let runuser =
    ["/usr/sbin/runuser", "/sbin/runuser"].first { FileManager.default.isExecutableFile(atPath: $0) }
    ?? "/usr/bin/runuser"

  private func control(_ program: String, _ arguments: [String]) throws {
    let path = "\(Self.programs ?? "")/\(program)"
    guard let user else { return try Self.run(path, arguments) }
    try Self.run(Self.runuser, ["-u", user, "--", path] + arguments)
  }

  private static func run(_ program: String, _ arguments: [String]) throws {
    // Not a pipe: the server would keep it open.
    let output = FileManager.default.temporaryDirectory.appendingPathComponent("coredata-pg-\(UUID().uuidString)")
    guard FileManager.default.createFile(atPath: output.path, contents: nil) else {
      throw Failure(description: "'\(output.path)' cannot be made")
    }
    defer { try? FileManager.default.removeItem(at: output) }
    let writing = try FileHandle(forWritingTo: output)
    let process = Process()
    process.executableURL = URL(fileURLWithPath: program)
    process.arguments = arguments
    process.currentDirectoryURL = URL(fileURLWithPath: "/")
    process.standardInput = FileHandle.nullDevice
    process.standardOutput = writing
    process.standardError = writing
    try process.run()
    process.waitUntilExit()
    guard process.terminationStatus == 0 else {
      let words = try String(contentsOf: output, encoding: .utf8)
      throw Failure(
        description: "\(program) \(arguments.joined(separator: " ")) ended with \(process.terminationStatus): \(words)")
    }
  }

  /// Has a shell stop the server and remove its directory when this process has ended.
  private func watch() throws {
    let pipe = Pipe()
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/bin/sh")
    let stop = "\(Self.programs ?? "")/pg_ctl -D \(folder)/data -m immediate stop"
    let asUser = user.map { "\(Self.runuser) -u \($0) -- \(stop)" } ?? stop
    process.arguments = ["-c", "trap '' INT TERM HUP; cat > /dev/null; cd /; \(asUser); rm -rf \(folder)"]
    process.standardInput = pipe.fileHandleForReading
    process.standardOutput = FileHandle.nullDevice
    process.standardError = FileHandle.nullDevice
    try process.run()
    _ = fcntl(pipe.fileHandleForWriting.fileDescriptor, F_SETFD, FD_CLOEXEC)
    writing = pipe.fileHandleForWriting
  }

  /// Closed by the end of the process.
  private var writing: FileHandle?
}
