// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataFileSystem
import CoreDataMigration
import CoreDataModelFiles
import CoreDataSQLite
import CoreDataStoreFiles
import Foundation

extension Checkup {
  /// A model used to examine a store.
  package struct Model {
    /// The path of the model, for suggested commands.
    package let path: String
    package let versions: ModelVersions
    /// The name of the version to migrate to.
    package let current: String

    package init(path: String, versions: ModelVersions, current: String) {
      self.path = path
      self.versions = versions
      self.current = current
    }
  }

  /// Determines why a store does not open, or may fail to: examines its file, unfinished work, location, version,
  /// migration path to the current version, and all rules for its contents. Nothing is changed.
  ///
  /// - Parameters:
  ///   - url: the store.
  ///   - model: the model of the app; nil to examine the store by itself.
  ///   - mappings: mapping models, or directories of them.
  package static func ofStore(_ url: URL, model: Model?, mappings: [URL] = []) -> Checkup {
    var checkup = Checkup()
    let path = ShellWord.quoted(url.relativePath)
    checkup.examineUnfinishedWork(url, path)
    let reader: StoreReader
    do {
      reader = try StoreReader(url: url)
    } catch {
      checkup.add(.problem, "file", "\(error)")
      return checkup
    }
    checkup.examineFile(reader)
    checkup.examinePlace(url)
    checkup.examineUsers(url)
    let match = model.map { model in
      StoreMatch(
        storeHashes: reader.metadata.hashes, storeModel: reader.metadata.model, known: model.versions,
        identifiers: reader.metadata.versionIdentifiers, current: model.current)
    }
    // A store without a cached model is examined with the version that wrote it.
    let version = match?.version.flatMap { name in model?.versions.versions.first { $0.name == name } }
    let isNamed = reader.model == nil && version != nil
    let verdict = Result {
      try StoreVerifier(isNamed ? StoreReader(url: url, model: version?.document) : reader, limit: 1).run()
    }
    let verify =
      ["coredata", "store", "verify", reader.url.relativePath] + (isNamed ? model.map { [$0.path] } ?? [] : [])
    // Causes are reported first: damaged pages or a wrong log may explain all other problems.
    let isReadable = checkup.examineCauses(verdict, verify)
    checkup.examineFindings(reader, isVersionKnown: match?.version != nil, model, path)
    guard isReadable else { return checkup }
    if let model, let match { checkup.examineVersion(of: reader, match, model, mappings, path) }
    checkup.examineContent(verdict, verify)
    return checkup
  }

  /// The kinds of defects that may cause others.
  private static let causes: Set<StoreDefect.Kind> = [.foreignLog, .missingLog, .uncertainLog, .pages]

  /// Reports damaged pages, and a log that is missing or belongs to another store.
  ///
  /// - Returns: whether to examine the rest: rows can be read, and advice to migrate would do no harm.
  private mutating func examineCauses(_ verdict: Result<StoreVerdict, any Error>, _ verify: [String]) -> Bool {
    // An error is reported with the contents.
    guard let defects = try? verdict.get().defects else { return true }
    for defect in defects where Self.causes.contains(defect.kind) {
      let words = defect.examples.first?.text ?? ""
      if defect.kind == .pages {
        add(
          .problem, "pages", "The database is damaged. SQLite says: \(words)", cure: defect.cure,
          command: ShellWord.line(verify))
      } else {
        add(
          defect.kind.isRemark ? .note : .problem, "write-ahead log", words, cure: defect.cure,
          command: "coredata explain \(defect.kind.rawValue)")
      }
    }
    return !defects.contains { [.pages, .foreignLog, .missingLog].contains($0.kind) }
  }

  mutating func examineUnfinishedWork(_ url: URL, _ path: String) {
    do {
      guard let work = try StoreRecovery.inspect(storeAt: url) else { return }
      let purpose = work.purpose?.rawValue ?? "work"
      if work.isRunning {
        add(
          .note, "unfinished work", "A process is working on the store: \(purpose).", cure: "Wait until it has ended.")
      } else {
        add(
          .problem, "unfinished work",
          "A process was stopped while it was working on the store: \(purpose). No row "
            + "is lost.",
          cure: "Clean up what it left behind.", command: "coredata migrate recover \(path)")
      }
    } catch {
      add(
        .note, "unfinished work",
        "Cannot determine whether work was interrupted: \((error as NSError).localizedDescription)")
    }
  }

  private mutating func examineFile(_ reader: StoreReader) {
    add(.ok, "file", "A SQLite store of \(reader.file.sizes.store) bytes.")
    if let stage = reader.metadata.unfinishedStage {
      add(.note, "unfinished stage", stage.text, cure: stage.cure)
    }
  }

  /// Reports findings about the store's files: ST602, ST604 and ST605.
  private mutating func examineFindings(_ reader: StoreReader, isVersionKnown: Bool, _ model: Model?, _ path: String) {
    // If a model was given but did not write the store, the advice does not ask for it again.
    let advice: (cure: String, command: String) =
      model.map { (Self.otherModel, "coredata store match \(path) \(ShellWord.quoted($0.path))") }
      ?? (Self.nameModel, "coredata doctor \(path) MODEL")
    let space = reader.spaceFinding
    if reader.space.free != nil, space == nil {
      add(.ok, "disk space", "There is room for a backup and a new store.")
    }
    let findings = [space].compactMap { $0 } + reader.findings(isVersionKnown: isVersionKnown)
    if reader.model != nil {
      add(.ok, "model in the store", "The store carries the model that it was written with.")
    } else if reader.metadata.model != nil, let remark = reader.remarks.first {
      add(
        .note, "model in the store", remark, cure: isVersionKnown ? nil : advice.cure,
        command: isVersionKnown ? nil : advice.command)
    }
    for finding in findings {
      let (subject, cure, command): (String, String, String?) =
        switch finding.code {
        case .littleDiskSpace: ("disk space", "Free some space, or name a folder on another disk with --backup.", nil)
        case .unmergedLog:
          (
            "write-ahead log",
            "A copy of the store must include its -wal file, unless all programs that use the store are closed first.",
            nil
          )
        default:
          ("model in the store", advice.cure, advice.command)
        }
      add(
        finding, subject, cure: cure, command: finding.level > .information ? command : nil,
        names: [URL(fileURLWithPath: DatabaseFile.target(of: reader.url.path)), reader.url].map(\.lastPathComponent))
    }
  }

  private mutating func examineUsers(_ url: URL) {
    guard let user = DatabaseUser.other(of: url.path) else { return }
    add(
      .note, "other processes", "\(user.text) has the store open.",
      cure: "Close it before a migration. Programs that still have it open afterwards fail until they open it again.")
  }

  private static let nameModel = "Name its model to examine values and relationships."
  private static let otherModel =
    "Values and relationships were not examined. Find the model that wrote the store, and name it."

  mutating func examinePlace(_ url: URL) {
    let target = URL(fileURLWithPath: DatabaseFile.target(of: url.path))
    let folder = target.deletingLastPathComponent()
    let files = FileManager.default
    if !files.isWritableFile(atPath: target.path) {
      add(.problem, "permissions", "The file cannot be written.", cure: "Change its permissions or its owner.")
    } else if !files.isWritableFile(atPath: folder.path) {
      add(
        .problem, "permissions",
        "No file can be created in \(folder.path), where SQLite keeps its journal and a migration "
          + "its new store.", cure: "Change the permissions or the owner of the directory.")
    } else {
      add(.ok, "permissions", "The file and its directory can be written.")
    }
    if let system = NetworkFileSystem.name(of: folder) {
      add(
        .note, "file system", "The store is on a file system of the kind \(system), where locks may not work.",
        cure: "Keep stores on a local disk.")
    }
  }

  /// - Parameters:
  ///   - rows: the server that contains the rows, if the reader reads a copy without rows.
  ///   - path: the store in suggested commands.
  mutating func examineVersion(
    of reader: StoreReader, rowsIn rows: ServerRows? = nil, _ match: StoreMatch, _ model: Model, _ mappings: [URL],
    _ path: String
  ) {
    guard let version = match.version else {
      add(
        .problem, "version",
        "No version of the model wrote the store, so opening it fails with error 134100. \(match.nearestSentence)",
        cure: "See what differs. If a shipped version was edited, restore it.",
        command: "coredata store match \(path) \(ShellWord.quoted(model.path))")
      examineWay(of: reader, rowsIn: rows, model, mappings, path)
      return
    }
    if match.versions.contains(model.current) {
      add(.ok, "version", "The store has the current version, \(model.current).")
      return
    }
    add(.ok, "version", "The store has the version \(version); the current one is \(model.current).")
    examineWay(of: reader, rowsIn: rows, model, mappings, path)
  }

  private mutating func examineWay(
    of reader: StoreReader, rowsIn rows: ServerRows?, _ model: Model, _ mappings: [URL], _ path: String
  ) {
    let arguments =
      "\(path) \(ShellWord.quoted(model.path))"
      + mappings.map { " --mappings \(ShellWord.quoted($0.relativePath))" }.joined()
    do {
      let plan = try MigrationPlan(
        storeAt: reader.url, rowsIn: rows, known: model.versions, version: model.current, mappings: mappings)
      let names = [plan.from] + plan.steps.map(\.to)
      let missing = plan.migration.missingPolicies
      if !missing.isEmpty {
        add(
          .problem, "migration", "The mapping models need policies of the app: \(missing.joined(separator: ", ")).",
          cure: "Migrate the store in a program that has them.")
      } else if plan.count(of: .error) > 0 {
        let errors = CountText.counted(plan.count(of: .error), "finding")
        add(
          .problem, "migration", "It would lose data, or fail: \(errors).",
          cure: "Read the findings of the plan.",
          command: "coredata migrate plan \(arguments)")
      } else {
        add(
          .ok, "migration", "There is a way: \(names.joined(separator: " -> ")).",
          command: "coredata migrate run \(arguments)")
      }
    } catch let problem as StoreProblem {
      add(.problem, "migration", "Cannot determine whether there is a path to \(model.current): \(problem)")
    } catch {
      let failure = error as NSError
      let page = failure.domain == NSCocoaErrorDomain ? ErrorPage(text: String(failure.code)) : nil
      add(
        .problem, "migration", "There is no path to \(model.current): \(failure.reasonWithoutStore ?? "\(error)")",
        cure: "Add a mapping model for the step that is missing.",
        command: page.map { "coredata explain \($0.code)" })
    }
  }

  mutating func examineContent(_ verdict: Result<StoreVerdict, any Error>, _ verify: [String]) {
    do {
      let verdict = try verdict.get()
      for defect in verdict.problems where !Self.causes.contains(defect.kind) {
        let place = defect.place.isEmpty ? "" : " (\(defect.place))"
        add(
          .problem, "content", "\(defect.kind.rawValue)\(place): \(defect.examples.first?.text ?? "")",
          cure: defect.isRepairable ? "It can be repaired without guessing." : defect.cure,
          command: ShellWord.line(verify + (defect.isRepairable ? ["--repair"] : [])))
      }
      if verdict.isSound {
        add(.ok, "content", "\(verdict.rows.values.reduce(0, +)) rows satisfy every rule that could be checked.")
      }
    } catch {
      add(.problem, "content", "\(error)")
    }
  }
}

/// File systems on which locks are known to be unreliable.
enum NetworkFileSystem {
  /// Returns the type of the network file system that contains a directory; nil for other file systems, or if it is
  /// unknown.
  static func name(of folder: URL) -> String? {
    // Without Linux's mount table the type is unknown.
    guard let table = try? String(contentsOfFile: "/proc/self/mounts", encoding: .utf8) else { return nil }
    return name(of: folder.resolvingSymlinksInPath().path, mounts: table)
  }

  /// Returns the type of the network file system that contains a path, given a mount table in the format of
  /// `/proc/self/mounts`.
  static func name(of path: String, mounts table: String) -> String? {
    let mounts = table.split(separator: "\n").map { $0.split(separator: " ").map(String.init) }.filter { $0.count > 2 }
    let nearest = mounts.filter { $0[1] == "/" || path == $0[1] || path.hasPrefix($0[1] + "/") }
      .max { $0[1].count < $1[1].count }
    let kinds = ["nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "fuse.sshfs", "ceph", "glusterfs"]
    return nearest.flatMap { kinds.contains($0[2]) ? $0[2] : nil }
  }
}
