// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataAnalysis
import CoreDataSQLite
import CoreDataTerminal
import CoreDataTestSupport
import Foundation

@testable import CoreDataCommand

/// Carries out a transcript in a directory of its own.
final class TranscriptRun {
  private let transcript: Transcript
  private let directory: TemporaryDirectory
  private var folder: URL { directory.url }

  /// The columns of the terminal that commands write to; nil for files.
  private let columns: Int?
  private var servers: [TranscriptServer] = []

  init(_ transcript: Transcript, columns: Int? = nil) throws {
    self.transcript = transcript
    self.columns = columns
    directory = try TemporaryDirectory()
  }

  /// Runs all steps, and gives each command as it came out.
  ///
  /// - Throws: `Transcript.Malformed` for what cannot be prepared; the errors of making models and stores.
  func commands() throws -> [Transcript.Command] {
    var commands: [Transcript.Command] = []
    for step in transcript.steps {
      switch step {
      case .text: break
      case .preparation(let preparation): try prepare(preparation)
      case .command(let command): commands.append(try run(command))
      }
    }
    return commands
  }

  private func url(_ name: String) -> URL { folder.appendingPathComponent(name) }

  private func malformed(_ line: Int, _ reason: String) -> Transcript.Malformed {
    Transcript.Malformed(file: transcript.name + ".txt", line: line, reason: reason)
  }

  // MARK: Commands

  private func run(_ command: Transcript.Command) throws -> Transcript.Command {
    let arguments = command.words.dropFirst().map { word in servers.reduce(path(word)) { $1.resolved($0) } }
    let outcome: (output: String, error: String, status: Int)
    switch command.words.first {
    case "coredata" where arguments.starts(with: ["store", "browse"]): outcome = try browse(arguments)
    case "coredata":
      let run = CommandRun(arguments, terminalWidth: columns, showsOutput: columns != nil)
      outcome = (run.output, run.error, Int(run.status.rawValue))
    case "lint-stages": outcome = try lintStages(command.words)
    default: throw malformed(command.line, "There is no program \(command.words.first ?? "").")
    }
    var result = Transcript.Command(line: command.line, words: command.words)
    (result.output, result.error) = (try lines(outcome.output, command), try lines(outcome.error, command))
    result.status = outcome.status
    return result
  }

  /// Runs the program until it has said where it serves pages.
  private func browse(_ arguments: [String]) throws -> (output: String, error: String, status: Int) {
    let run = try ProgramRun(arguments)
    let line = run.firstLine()
    run.send(SIGINT)
    let end = try run.end()
    return (line + "\n" + end.output, end.error, Int(end.status ?? -1))
  }

  /// The lines of a text, with names in place of paths. Every line must end.
  private func lines(_ text: String, _ command: Transcript.Command) throws -> [String] {
    guard !text.isEmpty else { return [] }
    let shown = servers.reduce(text) { $1.presented($0) }
    var lines = shown.replacingOccurrences(of: folder.path + "/", with: "").components(separatedBy: "\n")
    // A terminal shows progress, which is removed at the end.
    if columns != nil { return lines }
    guard lines.removeLast().isEmpty else { throw malformed(command.line, "The last line does not end: \(text)") }
    return lines
  }

  private static let extensions: Set<String> = [
    "sqlite", "xcdatamodeld", "xcdatamodel", "momd", "mom", "cdm", "xcmappingmodel", "mapping", "lock", "txt", "html",
    "swift",
  ]

  /// An argument that names a file, with its path.
  private func path(_ word: String) -> String {
    let file = word.split(separator: "@", maxSplits: 1).first.map(String.init) ?? word
    let isFile =
      Self.extensions.contains((file as NSString).pathExtension)
      || FileManager.default.fileExists(atPath: url(file).path)
    return isFile && !word.isEmpty ? url(word).path : word
  }

  /// Judges the stages of an app, as a test of the app does: `lint-stages MODEL "custom: V1, V2" "lightweight: V3, V4"`.
  private func lintStages(_ words: [String]) throws -> (output: String, error: String, status: Int) {
    let model = url(words[1])
    var options = ModelLint.Options()
    options.stages = try words.dropFirst(2).map { text in
      let parts = text.split(separator: ":")
      let names = parts[1].split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) }
      let checksums = try names.map { try NSManagedObjectModel.load(contentsOf: model, version: $0).versionChecksum }
      guard parts[0] == "custom" else { return NSLightweightMigrationStage(checksums) }
      return NSCustomMigrationStage(
        migratingFrom: .init(fileURL: model, versionChecksum: checksums[0]),
        to: .init(fileURL: model, versionChecksum: checksums[1]))
    }
    let lint = try ModelLint(modelsAt: model, options: options)
    let lines = lint.entries.map { entry in
      "\(entry.finding.level.rawValue)  \(entry.finding.code.rawValue)  \(entry.version): \(entry.finding.message)\n"
    }
    return (lines.joined(), "", lint.count(of: .error) > 0 ? 1 : 0)
  }

  // MARK: Files

  private func prepare(_ preparation: Transcript.Preparation) throws {
    guard let name = preparation.arguments.first else { throw malformed(preparation.line, "The name is missing.") }
    switch preparation.kind {
    case "version": try makeVersion(name, isCurrent: preparation.arguments.last == "current", preparation.block)
    case "store":
      guard preparation.arguments.count == 3, preparation.arguments[1] == "of" else {
        throw malformed(preparation.line, "Expected + store NAME of MODEL/VERSION.")
      }
      try makeStore(name, preparation.arguments[2], preparation)
    case "file":
      try FileManager.default.createDirectory(
        at: url(name).deletingLastPathComponent(), withIntermediateDirectories: true)
      try Data((preparation.block.joined(separator: "\n") + "\n").utf8).write(to: url(name))
    case "copy":
      guard preparation.arguments.count == 3, preparation.arguments[1] == "of" else {
        throw malformed(preparation.line, "Expected + copy NAME of PATH.")
      }
      try FileManager.default.createDirectory(
        at: url(name).deletingLastPathComponent(), withIntermediateDirectories: true)
      try FileManager.default.copyItem(
        at: SourceRoot.url.appendingPathComponent(preparation.arguments[2]), to: url(name))
    case "cut":
      guard preparation.arguments.count == 3, let size = UInt64(preparation.arguments[2]) else {
        throw malformed(preparation.line, "Expected + cut NAME to BYTES.")
      }
      let handle = try FileHandle(forUpdating: url(name))
      try handle.truncate(atOffset: size)
      try handle.close()
    case "server": servers.insert(try TranscriptServer(name), at: 0)
    case "no-server": servers.insert(try TranscriptServer(name, missing: url("no-server")), at: 0)
    case "sql": try execute(preparation.block.joined(separator: "\n"), in: name)
    case "log": try leaveLog(preparation.block.joined(separator: "\n"), of: name)
    case "hole": try makeLargerThanDisk(name)
    case "remove": try FileManager.default.removeItem(at: url(name))
    default: throw malformed(preparation.line, "Nothing is prepared by + \(preparation.kind).")
    }
  }

  private func makeVersion(_ name: String, isCurrent: Bool, _ entities: [String]) throws {
    let version = url(name + ".xcdatamodel")
    let bundle = version.deletingLastPathComponent()
    try FileManager.default.createDirectory(at: version, withIntermediateDirectories: true)
    let lines =
      ["<?xml version=\"1.0\"?>", "<model type=\"com.apple.IDECoreDataModeler.DataModel\" documentVersion=\"1.0\">"]
      + entities + ["</model>", ""]
    try Data(lines.joined(separator: "\n").utf8).write(to: version.appendingPathComponent("contents"))
    guard isCurrent else { return }
    let marker = try PropertyListSerialization.data(
      fromPropertyList: ["_XCCurrentVersionName": version.lastPathComponent], format: .xml, options: 0)
    try marker.write(to: bundle.appendingPathComponent(".xccurrentversion"))
  }

  private func execute(_ sql: String, in name: String) throws {
    try SQLiteConnection.execute(sql, at: url(name))
  }

  /// Leaves changes in the write-ahead log, as a process does that is killed.
  private func leaveLog(_ sql: String, of name: String) throws {
    let connection = try SQLiteConnection(url: url(name), mode: .readWrite)
    try connection.execute("PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0; \(sql)")
    let files = ["", "-wal"].map { (name: name + $0, data: FileManager.default.contents(atPath: url(name + $0).path)) }
    try connection.close()
    for file in files { try file.data?.write(to: url(file.name)) }
  }

  /// Makes a file larger than the free disk space: a hole takes none, but counts with its length.
  private func makeLargerThanDisk(_ name: String) throws {
    let free = try FileManager.default.attributesOfFileSystem(forPath: folder.path)[.systemFreeSize] as? Int ?? 0
    let handle = try FileHandle(forUpdating: url(name))
    try handle.truncate(atOffset: UInt64(free) + 1 << 30)
    try handle.close()
  }

  // MARK: Stores

  /// Makes a store with objects, one a line: `name: 3 x Entity key=value relationship=@other,@another`.
  private func makeStore(_ name: String, _ version: String, _ preparation: Transcript.Preparation) throws {
    for suffix in ["", "-wal", "-shm"] where FileManager.default.fileExists(atPath: url(name + suffix).path) {
      try FileManager.default.removeItem(at: url(name + suffix))
    }
    let bundle = (version as NSString).deletingLastPathComponent
    let model = try NSManagedObjectModel.load(
      contentsOf: url(bundle), version: (version as NSString).lastPathComponent)
    try withContext(model, at: url(name)) { context in
      var named: [String: NSManagedObject] = [:]
      for line in preparation.block {
        let match = line.wholeMatch(of: /(?:(\w+): )?(?:([0-9]+) x )?(\w+)((?: \w+=(?:"[^"]*"|[^ "]+))*)/)
        guard let match else { throw malformed(preparation.line, "Not an object: \(line)") }
        for _ in 0..<(match.2.flatMap { Int($0) } ?? 1) {
          let object = NSEntityDescription.insertNewObject(forEntityName: String(match.3), into: context)
          for pair in match.4.matches(of: /(\w+)=(?:"([^"]*)"|([^ "]+))/) {
            try set(String(pair.1), to: String(pair.2 ?? pair.3 ?? ""), of: object, named, preparation.line)
          }
          if let name = match.1 { named[String(name)] = object }
        }
      }
      try context.save()
    }
  }

  private func set(
    _ key: String, to text: String, of object: NSManagedObject, _ named: [String: NSManagedObject], _ line: Int
  ) throws {
    if let relationship = object.entity.relationshipsByName[key] {
      let others = try text.split(separator: ",").map { name in
        guard name.first == "@", let other = named[String(name.dropFirst())] else {
          throw malformed(line, "No object is called \(name).")
        }
        return other
      }
      object.setValue(
        !relationship.isToMany
          ? others[0] : relationship.isOrdered ? NSOrderedSet(array: others) : NSSet(array: others), forKey: key)
      return
    }
    let value: Any? =
      switch object.entity.attributesByName[key]?.attributeType {
      case .stringAttributeType: text
      case .integer16AttributeType, .integer32AttributeType, .integer64AttributeType: Int(text)
      case .doubleAttributeType, .floatAttributeType: Double(text)
      case .booleanAttributeType: text == "true"
      case .dateAttributeType: Double(text).map(Date.init(timeIntervalSince1970:))
      case .binaryDataAttributeType:
        text.wholeMatch(of: /([0-9]+) bytes/).flatMap { Int($0.1) }.map { Data(count: $0) } ?? Data(text.utf8)
      default: nil
      }
    guard let value else { throw malformed(line, "\(key) cannot have the value \(text).") }
    object.setValue(value, forKey: key)
  }
}
