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
    // There need be no such directory.
    let versions = ((try? files.contentsOfDirectory(atPath: debian)) ?? [])
      .sorted { ($0 as NSString).doubleValue > ($1 as NSString).doubleValue }.map { "\(debian)/\($0)/bin" }
    let path = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":").map(String.init)
    return (own + versions + path).first { folder in
      ["initdb", "pg_ctl", "postgres"].allSatisfy { files.isExecutableFile(atPath: "\(folder)/\($0)") }
    }
  }()

  package struct Failure: Error, CustomStringConvertible {
    package let description: String
  }

  private let folder: String
  private let settings: String
  /// The user that runs the server; nil for that of this process.
  let user: String?
  private let lock = NSLock()
  private var lastSchema = 0

  /// Starts a server of its own, for a test that stops it. It ends with the object, or with the process.
  ///
  /// - Parameters:
  ///   - primary: the server whose standby it is; nil for none.
  ///   - isDurable: whether it syncs its files, which takes longer.
  package init(standbyOf primary: TestServer? = nil, isDurable: Bool = false) throws {
    guard Self.programs != nil else { throw Failure(description: "there is no server") }
    // A standby refuses transactions that are serializable by default, whoever begins them.
    settings = (isDurable ? "" : "-c fsync=off ") + (primary == nil ? Self.settings : "")
    // A socket's path has at most 107 bytes.
    folder = "/tmp/coredata-pg-\(ProcessInfo.processInfo.processIdentifier)-\(UInt32.random(in: 0...UInt32.max))"
    // PostgreSQL refuses to run as root.
    user = getuid() == 0 ? ["postgres", "nobody"].first { getpwnam($0) != nil } : nil
    try Self.run("/bin/mkdir", ["-m", "700", folder])
    if let user { try Self.run("/bin/chown", [user, folder]) }
    if let primary {
      try control(
        "pg_basebackup",
        ["-h", primary.folder, "-U", "tester", "-D", "\(folder)/data", "-R", "-c", "fast", "-X", "stream", "-N"])
    } else {
      let locale = Self.icuLocale.map { ["--locale-provider=icu", "--icu-locale=\($0)"] } ?? []
      try control(
        "initdb", ["-D", "\(folder)/data", "-A", "trust", "-U", "tester", "-E", "UTF8", "--locale=C", "-N"] + locale)
    }
    try start()
    try watch()
  }

  /// Settings of all servers of the process, such as `-c default_transaction_isolation=serializable`.
  private static let settings = ProcessInfo.processInfo.environment["COREDATA_POSTGRESQL_SETTINGS"] ?? ""

  /// The locale of ICU by which all servers of the process compare texts; nil for the order of bytes.
  private static let icuLocale = ProcessInfo.processInfo.environment["COREDATA_POSTGRESQL_ICU"]

  /// The pooler between the tests of the process and the shared server, if the environment asks for one.
  private static let pooler: TestPooler? = ProcessInfo.processInfo.environment["COREDATA_POSTGRESQL_POOL"].map { name in
    do {
      guard let mode = TestPooler.Mode(rawValue: name) else { throw Failure(description: "'\(name)' is no pool mode") }
      return try TestPooler(mode, size: 150)
    } catch {
      fatalError("PgBouncer could not be started: \(error)")
    }
  }

  /// Starts the server, and waits until it takes connections.
  package func start() throws {
    let settings =
      "-k \(folder) -c listen_addresses='' -c max_connections=200 -c shared_buffers=64MB "
      + "-c max_prepared_transactions=0 -c timezone=UTC \(self.settings)"
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

  /// Makes a standby a primary server.
  package func promote() throws { try control("pg_ctl", ["-D", "\(folder)/data", "-w", "promote"]) }

  /// Whether this process may mount a file system.
  package static let canMount: Bool = {
    let folder = "/tmp/coredata-mount-\(UInt32.random(in: 0...UInt32.max))"
    guard getuid() == 0 else { return false }
    do {
      try run("/bin/mkdir", [folder])
      defer { rmdir(folder) }
      try run("/bin/mount", ["-t", "tmpfs", "-o", "size=64k", "tmpfs", folder])
      try run("/bin/umount", [folder])
      return true
    } catch {
      return false
    }
  }()

  /// Mounts a file system of a few megabytes that the server can write.
  ///
  /// - Returns: its directory, which goes with the server.
  package func mountDisk(megabytes: Int) throws -> String {
    try Self.run("/bin/mkdir", [disk])
    try Self.run("/bin/mount", ["-t", "tmpfs", "-o", "size=\(megabytes)m", "tmpfs", disk])
    if let user { try Self.run("/bin/chown", [user, disk]) }
    return disk
  }

  package func enlargeDisk(megabytes: Int) throws {
    try Self.run("/bin/mount", ["-o", "remount,size=\(megabytes)m", disk])
  }

  private var disk: String { "\(folder)/disk" }

  /// The directory of the socket.
  package var socketFolder: String { folder }

  /// The directory of the socket in URLs: the pooler's where there is one.
  package var clientFolder: String { self === Self.shared ? Self.pooler?.folder ?? folder : folder }

  /// Whether the shared server's URLs lead to a pooler.
  package static var isPooled: Bool { pooler != nil }

  /// A URL of the server, with further parameters.
  package func url(database: String = "postgres", user: String = "tester", _ parameters: String = "") -> URL {
    let more = parameters.isEmpty ? "" : "&\(parameters)"
    guard let url = URL(string: "postgresql://\(user)@/\(database)?host=\(folder)\(more)") else {
      fatalError("'\(parameters)' makes no URL.")
    }
    return self === Self.shared ? Self.pooler?.url(url) ?? url : url
  }

  /// A URL with a schema that nobody else uses, and that does not exist yet.
  package func schemaURL(_ parameters: String = "") -> URL {
    let number = lock.withLock {
      lastSchema += 1
      return lastSchema
    }
    return url("schema=s\(number)" + (parameters.isEmpty ? "" : "&\(parameters)"))
  }

  // MARK: Processes

  private func control(_ program: String, _ arguments: [String]) throws {
    let path = "\(Self.programs ?? "")/\(program)"
    guard let user else { return try Self.run(path, arguments) }
    try Self.run("/usr/sbin/runuser", ["-u", user, "--", path] + arguments)
  }

  /// The command by which a shell closes what it has inherited.
  ///
  /// A server must not keep the pipe of a program that another test starts at the same moment: that test would wait for
  /// the end of the pipe for ever. Not for a shell that `Process` waits for, which sees its end by such a descriptor.
  private static let closing =
    #"for file in /proc/$BASHPID/fd/*; do [[ ${file##*/} -le 2 ]] || eval "exec ${file##*/}>&-"; done"#

  /// Runs a program and waits for it. Not with `Process`, which waits until the server that `pg_ctl` starts has ended, too.
  private static func run(_ program: String, _ arguments: [String]) throws {
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    for descriptor in 0...2 as ClosedRange<Int32> {
      posix_spawn_file_actions_addopen(&actions, descriptor, "/dev/null", O_RDWR, 0)
    }
    // PostgreSQL's programs want a directory that their user may enter.
    let shell = ["/bin/bash", "-c", "\(closing); cd / && exec \"$0\" \"$@\"", program]
    let words: [UnsafeMutablePointer<CChar>?] = (shell + arguments).map { strdup($0) } + [nil]
    defer { for word in words { free(word) } }
    let variables = ["PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C"]
    let settings: [UnsafeMutablePointer<CChar>?] = variables.map { strdup($0) } + [nil]
    defer { for setting in settings { free(setting) } }
    var process: pid_t = 0
    let command = "\(program) \(arguments.joined(separator: " "))"
    guard posix_spawn(&process, shell[0], &actions, nil, words, settings) == 0 else {
      throw Failure(description: "\(command) could not be started")
    }
    var status: Int32 = 0
    while waitpid(process, &status, 0) < 0 {
      guard errno == EINTR else { throw Failure(description: "\(command) could not be waited for") }
    }
    guard status == 0 else { throw Failure(description: "\(command) ended with \(status >> 8)") }
  }

  /// Has a shell stop the server and remove its directory when this process has ended.
  private func watch() throws {
    let pipe = Pipe()
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/bin/bash")
    let stop = "\(Self.programs ?? "")/pg_ctl -D \(folder)/data -m immediate stop"
    let asUser = user.map { "/usr/sbin/runuser -u \($0) -- \(stop)" } ?? stop
    let work = "trap '' INT TERM HUP; cat > /dev/null; cd /; \(asUser); umount \(disk); rm -rf \(folder)"
    process.arguments = ["-c", "(\(Self.closing); \(work)) <&0 &"]
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
