// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataSQLite
import CoreDataTerminal
import CoreDataTestSupport
import Foundation
import Testing

/// Runs of the program that other processes disturb, or that are asked to stop. How many, `COREDATA_TORTURE` says.
@Suite(
  "Migrations by several processes, and such that are stopped", .serialized,
  .enabled(if: ProgramRun.isPresent, "The program was not built beside the tests"))
struct ProcessTests {
  private let workshop: Workshop

  init() throws {
    workshop = try Workshop()
  }

  /// A store of the first version with many rows.
  private func makeStore(rows: Int, mode: String = "WAL") throws -> String {
    let path = workshop.path("Shop.sqlite")
    for suffix in ["", "-wal", "-shm", "-journal"] { try? FileManager.default.removeItem(atPath: path + suffix) }
    #expect(CommandRun("store", "create", path, workshop.model, "--version", "Shop").status == .done)
    let connection = try SQLiteConnection(path: path, mode: .readWrite)
    try connection.setPragma("journal_mode", to: .text(mode))
    try connection.run(
      "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < \(rows)) "
        + "INSERT INTO ZORDER (Z_ENT, Z_OPT, ZNAME, ZTOTAL) SELECT 1, 1, 'Order ' || i, i FROM n")
    try connection.close()
    return path
  }

  private func check(_ path: String, rows: Int, _ comment: Comment) throws {
    let connection = try SQLiteConnection(path: path, mode: .readWrite)
    #expect(try connection.integrityCheck() == [], comment)
    #expect(try connection.scalar("SELECT COUNT(*) FROM ZORDER")?.integer == Int64(rows), comment)
    try connection.close()
  }

  @Test(
    "Eight processes that migrate one store end well, and those that came too late say that it is done",
    arguments: ["WAL", "DELETE"])
  func together(mode: String) throws {
    for round in 0..<(TortureSize.isFull ? 50 : 2) {
      let path = try makeStore(rows: 2_000, mode: mode)
      let runs = try (0..<8).map { _ in try ProgramRun("migrate", "run", path, workshop.model, "--no-backup", "-q") }
      let ends = try runs.map { try $0.end() }
      for end in ends { #expect(end.status == 0, "round \(round): \(end.error)") }
      let migrated = ends.filter { $0.output.hasPrefix("Migrated Shop.sqlite") }
      let late = ends.filter { $0.output.contains("already has version Shop 2. Nothing was changed.") }
      #expect(migrated.count == 1 && late.count == 7, "round \(round): \(ends.map(\.output))")
      try check(path, rows: 2_000, "round \(round)")
      #expect(try workshop.files() == ["Shop.sqlite", "Shop.xcdatamodeld"], "round \(round)")
    }
  }

  @Test(
    "A store whose name leaves little room for others beside it is migrated",
    arguments: [100, 200, 220, 245])
  func longNames(count: Int) throws {
    let source = try makeStore(rows: 3)
    let path = workshop.path(String(repeating: "n", count: count - 7) + ".sqlite")
    try FileManager.default.moveItem(atPath: source, toPath: path)
    let run = CommandRun("migrate", "run", path, workshop.model, "--no-backup")
    #expect(run.status == .done, "\(run.error)")
    try check(path, rows: 3, "\(count)")
  }

  /// SQLite opens paths of up to 511 bytes.
  @Test(
    "A store in deep directories is created, read, planned for, and migrated",
    arguments: [(300, 190), (340, 150), (440, 60), (470, 20), (470, 30), (485, 15), (488, 14)])
  func deepPaths(folder: Int, name: Int) throws {
    let source = try makeStore(rows: 3)
    var deep = workshop.url.path
    while deep.utf8.count < folder - 1 {
      let room = folder - deep.utf8.count - 1
      deep += "/" + String(repeating: "d", count: room > 200 ? 100 : room)
    }
    try FileManager.default.createDirectory(atPath: deep, withIntermediateDirectories: true)
    let path = deep + "/" + String(repeating: "n", count: name - 7) + ".sqlite"
    try #require(path.utf8.count == folder + 1 + name)
    let creation = CommandRun("store", "create", path, workshop.model, "--version", "Shop")
    #expect(creation.status == .done, "\(creation.error)")
    try FileManager.default.removeItem(atPath: path)
    try FileManager.default.moveItem(atPath: source, toPath: path)
    for arguments in [
      ["store", "info", path], ["migrate", "plan", path, workshop.model],
      ["migrate", "run", path, workshop.model, "--no-backup"],
    ] {
      let run = CommandRun(arguments)
      #expect(run.status == .done, "\(arguments[1]): \(run.error)")
    }
    try check(path, rows: 3, "\(folder), \(name)")
    #expect(try FileManager.default.contentsOfDirectory(atPath: deep).count == 1)
  }

  @Test("A migration needs no temporary directory")
  func withoutTemporaryDirectory() throws {
    let path = try makeStore(rows: 3)
    let missing = workshop.path("none")
    let end = try ProgramRun(
      shell: "TMPDIR=\"$3\" \"$0\" migrate run \"$1\" \"$2\" --no-backup", path, workshop.model, missing
    ).end()
    #expect(end.status == 0, "\(end)")
    #expect(!FileManager.default.fileExists(atPath: missing))
    try check(path, rows: 3, "\(end)")
  }

  @Test("An argument that is not UTF-8 is refused in words, and names no other file")
  func otherBytes() throws {
    let path = try makeStore(rows: 3)
    let files = try workshop.files()
    for command in ["store info", "migrate run", "store verify"] {
      let end = try ProgramRun(shell: "\"$0\" \(command) \"$1$(printf '\\377')\"", path).end()
      #expect(end.status == 2 && end.error.contains("The argument 3, "), "\(command): \(end)")
      #expect(end.error.contains("is not UTF-8") && end.output.isEmpty, "\(command): \(end)")
    }
    #expect(try workshop.files() == files)
  }

  @Test(
    "TERM, INT and HUP stop a migration with status 130, or come when it is done; the store is whole, and so is a backup",
    arguments: [SIGTERM, SIGINT, SIGHUP], [false, true])
  func stopping(signal: Int32, backsUp: Bool) throws {
    var stopped = 0
    // On a busy machine, a process may need long until it begins.
    for round in 0..<(TortureSize.isFull ? 200 : 60) where TortureSize.isFull || round < 6 || stopped == 0 {
      let rows = 40_000
      let path = try makeStore(rows: rows)
      let options = backsUp ? ["--backup", workshop.path("Kept")] : ["--no-backup"]
      let run = try ProgramRun(["migrate", "run", path, workshop.model, "-q"] + options)
      usleep(UInt32(20_000 + round * (TortureSize.isFull ? 3_000 : 60_000)))
      run.send(signal)
      let end = try run.end()
      // Before it begins to migrate, and after it, nothing needs protection from the signal.
      #expect([0, 130].contains(end.status) || end.signal == signal, "round \(round): \(end)")
      if end.status == 130 {
        stopped += 1
        // Before it has begun, there is nothing to say of the store.
        #expect(["error: Stopped.\n"].contains(end.error) || end.error.contains("The store was not changed"), "\(end)")
      }
      if backsUp { try checkBackup(of: path, rows: rows, isStopped: end.status == 130, "round \(round): \(end)") }
      try check(path, rows: rows, "round \(round)")
      let again = CommandRun("migrate", "run", path, workshop.model, "--no-backup", "-q")
      #expect(again.status == .done, "round \(round): \(again.error)")
      try check(path, rows: rows, "round \(round)")
      #expect(try workshop.files() == ["Shop.sqlite", "Shop.xcdatamodeld"], "round \(round)")
    }
    #expect(stopped > 0)
    print("torture: signal \(signal)\(backsUp ? " with a backup" : ""): \(stopped) stopped")
  }

  @Test(
    "A copy that is stopped or killed has no name yet; what TERM, INT and HUP end leaves nothing behind",
    arguments: ["sqlite", "xml", "binary"], [SIGTERM, SIGINT, SIGHUP, SIGKILL])
  func stoppedCopy(type: String, signal: Int32) throws {
    let path = try makeStore(rows: 5_000)
    let copy = workshop.path("Copy.\(type)")
    for round in 0..<3 {
      let run = try ProgramRun(["store", "copy", path, copy, "--type", type])
      usleep(UInt32(30_000 + round * 100_000))
      run.send(signal)
      let end = try run.end()
      if FileManager.default.fileExists(atPath: copy) {
        let rows = CommandRun("store", "copy", copy, workshop.path("Again.sqlite"), "--model", workshop.model)
        if type == "sqlite" { #expect(rows.output.contains("5,000 rows"), "\(end) \(rows.error)") }
        // A file without rows takes some kilobytes.
        #expect(FileManager.default.contents(atPath: copy)?.count ?? 0 > 100_000, "round \(round): \(end)")
      } else if signal != SIGKILL {
        #expect(end.status == 130 || end.signal == signal, "round \(round): \(end)")
      }
      let left = try workshop.files().filter { $0.hasPrefix(".") }
      if signal != SIGKILL { #expect(left == [], "round \(round): \(end)") }
      for name in try workshop.files() where name != "Shop.sqlite" && name != "Shop.xcdatamodeld" {
        try FileManager.default.removeItem(atPath: workshop.path(name))
      }
    }
  }

  /// Checks the only backup there can be, and removes it.
  private func checkBackup(of path: String, rows: Int, isStopped: Bool, _ comment: Comment) throws {
    let folder = workshop.path("Kept")
    let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
    // The store is what the backup would have held; a process that could stop leaves neither it nor a piece of it.
    if isStopped { #expect(names == [], comment) }
    if names.contains("Shop~.sqlite") { try check(folder + "/Shop~.sqlite", rows: rows, comment) }
    try? FileManager.default.removeItem(atPath: folder)
  }
}

/// The tool under limits of the system at which Foundation or Dispatch would wait forever, or stop the process.
@Suite(
  "Limits of the process", .enabled(if: ProgramRun.isPresent, "The program was not built beside the tests"))
struct ProcessLimitTests {
  @Test(
    "Too few descriptors are said to be so", arguments: [5, 12])
  func descriptors(limit: Int) throws {
    let process = Process()
    let error = Pipe()
    process.executableURL = URL(fileURLWithPath: "/bin/sh")
    process.arguments = ["-c", "ulimit -n \(limit); exec '\(ProgramRun.url.path)' --version"]
    process.standardOutput = FileHandle.nullDevice
    process.standardError = error
    try process.run()
    let text = String(decoding: error.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    #expect(process.terminationReason == .exit && process.terminationStatus == 6, "\(text)")
    #expect(text.contains("ulimit -n"), "\(text)")
  }
}

/// One process of the program that the build made beside the tests.
final class ProgramRun {
  /// How it ended.
  struct End {
    /// Nil where a signal ended it.
    let status: Int32?
    let signal: Int32?
    let output: String
    let error: String
  }

  static let url = URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent()
    .appendingPathComponent("coredata")
  static let isPresent = FileManager.default.isExecutableFile(atPath: url.path)

  private let process = Process()
  private let (output, error) = (Pipe(), Pipe())

  /// Begins it.
  convenience init(_ arguments: String...) throws { try self.init(arguments) }

  /// - Parameter blocksSignals: whether the process begins with all signals blocked, as the threads of Dispatch have them,
  ///   and not as a shell starts it.
  convenience init(_ arguments: [String], blocksSignals: Bool = false) throws {
    try self.init(executable: Self.url, arguments, blocksSignals: blocksSignals)
  }

  /// Begins a script for the shell, in which the program is `"$0"`, with arguments.
  convenience init(shell script: String, _ arguments: String...) throws {
    try self.init(executable: URL(fileURLWithPath: "/bin/sh"), ["-c", script, Self.url.path] + arguments)
  }

  private init(executable: URL, _ arguments: [String], blocksSignals: Bool = false) throws {
    process.executableURL = executable
    process.arguments = arguments
    process.standardOutput = output
    process.standardError = error
    // What a shell runs in the background ignores SIGINT, and so would its children.
    signal(SIGINT, SIG_DFL)
    var (all, earlier) = (sigset_t(), sigset_t())
    sigfillset(&all)
    pthread_sigmask(blocksSignals ? SIG_BLOCK : SIG_UNBLOCK, &all, &earlier)
    defer { pthread_sigmask(SIG_SETMASK, &earlier, nil) }
    try process.run()
  }

  var isRunning: Bool { process.isRunning }

  func send(_ signal: Int32) { kill(process.processIdentifier, signal) }

  /// Waits for the first line of its output, which `end()` then leaves out.
  func firstLine() -> String {
    var bytes: [UInt8] = []
    while let byte = output.fileHandleForReading.readData(ofLength: 1).first, byte != UInt8(ascii: "\n") {
      bytes.append(byte)
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// Waits for its end, and kills it if it does not end in ten minutes.
  func end() throws -> End {
    let killing = DispatchWorkItem { [process = process.processIdentifier] in kill(process, SIGKILL) }
    DispatchQueue.global().asyncAfter(deadline: .now() + 600, execute: killing)
    defer { killing.cancel() }
    // What these commands write fits into the pipes, so that reading one after the other cannot block.
    let texts = [output, error].map { String(decoding: $0.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self) }
    process.waitUntilExit()
    let isExit = process.terminationReason == .exit
    return End(
      status: isExit ? process.terminationStatus : nil, signal: isExit ? nil : process.terminationStatus,
      output: texts[0], error: texts[1])
  }
}
