// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

/// PgBouncer before a test server. It ends with the process, even if that is killed.
package final class TestPooler: @unchecked Sendable {
  /// What a server connection is lent for.
  package enum Mode: String, Hashable, Sendable, CaseIterable {
    case session, transaction, statement
  }

  /// The program; nil if there is none.
  private static let program: String? = {
    let own = ProcessInfo.processInfo.environment["COREDATA_PGBOUNCER"].map { [$0] } ?? []
    let path = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":").map { "\($0)/pgbouncer" }
    return (own + ["/usr/sbin/pgbouncer"] + path).first { FileManager.default.isExecutableFile(atPath: $0) }
  }()

  package static let isAvailable = TestServer.isAvailable && program != nil

  package let server: TestServer
  /// The directory of the socket.
  package let folder: String
  /// Closed by the end of the process or of this object, which ends PgBouncer.
  private let writing: FileHandle

  /// Starts PgBouncer, and waits until it takes connections.
  ///
  /// - Parameters:
  ///   - size: the number of connections to the server for each database and user.
  ///   - settings: further lines of its configuration.
  package init(_ mode: Mode, before server: TestServer = .shared, size: Int, settings: [String] = []) throws {
    guard let program = Self.program else { throw TestServer.Failure(description: "there is no PgBouncer") }
    let folder = "/tmp/coredata-pool-\(ProcessInfo.processInfo.processIdentifier)-\(UInt32.random(in: 0...UInt32.max))"
    (self.server, self.folder) = (server, folder)
    let files = FileManager.default
    try files.createDirectory(atPath: folder, withIntermediateDirectories: false)
    let lines =
      [
        "[databases]", "* = host=\(server.socketFolder)", "[pgbouncer]", "listen_addr=", "listen_port=5432",
        "unix_socket_dir=\(folder)", "auth_type=trust", "auth_file=\(folder)/users", "auth_user=tester",
        "pool_mode=\(mode.rawValue)", "default_pool_size=\(size)", "max_client_conn=500",
        "logfile=\(folder)/log", "pidfile=\(folder)/pid",
      ] + settings
    try (lines.joined(separator: "\n") + "\n").write(toFile: "\(folder)/ini", atomically: false, encoding: .utf8)
    try "\"tester\" \"\"\n".write(toFile: "\(folder)/users", atomically: false, encoding: .utf8)
    let pipe = Pipe()
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/bin/sh")
    // PgBouncer refuses to run as root.
    let asUser = server.user.map { "chown -R \($0) \(folder); runuser -u \($0) -- " } ?? ""
    process.arguments = [
      "-c",
      "trap '' INT TERM HUP; cd /; \(asUser)\(program) -q -d \(folder)/ini < /dev/null || exit 1; cat > /dev/null; "
        + "kill -9 $(cat \(folder)/pid); rm -rf \(folder)",
    ]
    process.environment = ["PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C"]
    process.standardInput = pipe.fileHandleForReading
    process.standardOutput = FileHandle.nullDevice
    process.standardError = FileHandle.nullDevice
    try process.run()
    _ = fcntl(pipe.fileHandleForWriting.fileDescriptor, F_SETFD, FD_CLOEXEC)
    writing = pipe.fileHandleForWriting
    // The socket is there a moment before it takes connections.
    while true {
      if let connection = CuttingProxy.connected(to: folder) {
        close(connection)
        return
      }
      guard process.isRunning else { throw TestServer.Failure(description: "PgBouncer has ended") }
      usleep(10_000)
    }
  }

  // If closing fails, the pooler ends with the process.
  deinit { try? writing.close() }

  /// A URL of the server by way of the pooler.
  package func url(_ original: URL) -> URL {
    URL(string: original.absoluteString.replacingOccurrences(of: server.socketFolder, with: folder))!
  }
}

extension Trait where Self == ConditionTrait {
  /// Skips a test or a suite where there is no PgBouncer, and reports the reason.
  package static var needsPgBouncer: Self {
    .enabled(if: TestPooler.isAvailable, "There is no PgBouncer, or no PostgreSQL server.")
  }
}
