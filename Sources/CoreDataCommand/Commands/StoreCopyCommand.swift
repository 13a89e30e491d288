// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataAnalysis
import CoreDataFileSystem
import CoreDataStoreFiles
import CoreDataTerminal
import Foundation

/// `coredata store copy`
enum StoreCopyCommand: Command {
  static let specification = CommandSpecification(
    ["store", "copy"], summary: "Copy a store, also as one of another type.",
    discussion:
      "The store is opened read-only and copied with its external data. An existing store is never replaced. At the end "
      + "the copy is read again: the number of objects and a hash of everything that they hold must be those of the "
      + "store. An XML or binary store can be copied too, with --model: it contains no model. Ctrl-C leaves nothing of a "
      + "copy in files."
      + "\n\nA copy into a database server that was interrupted continues where it ended when the same command is run "
      + "again, if the store has not been changed meanwhile. With --restart, what it has left is removed, and the "
      + "copy starts over; a complete store is never removed. Rows that were not copied are counted and kept, unless "
      + "--discard-others is given.",
    positionals: [
      PositionalSpecification(
        "STORE", summary: "A SQLite, XML or binary store, or the URL of a store in a database server."),
      PositionalSpecification(
        "TO", .one, .output, summary: "The path of the copy, or the URL of its place in a server."),
    ],
    options: [
      OptionSpecification(
        "type", .oneOf(StoreFileKind.allCases.map(\.rawValue)), summary: "The type of the file (default: sqlite)."),
      OptionSpecification("model", .path("MODEL", .input), summary: "The model of a store that contains none."),
      .flag(
        "history",
        summary: "Copy persistent history too. A SQLite file that is a copy of a SQLite file always has it."),
      .flag("restart", summary: "Remove an unfinished copy in the server TO, and start over."),
      .flag("discard-others", summary: "With --restart: also remove rows that the unfinished copy has not written."),
      .progress,
      .format(.text, .json),
    ])

  static func run(_ invocation: CommandInvocation) throws -> ExitStatus {
    let target = try StoreAddress(invocation.arguments.argument("TO"))
    if invocation.arguments.flag("discard-others"), !invocation.arguments.flag("restart") {
      throw CommandFailure(.usage, "--discard-others belongs to --restart. Add that, or omit both.")
    }
    let kind: StoreFileKind = invocation.arguments.choice("type") ?? .sqlite
    switch target {
    case .file(let url):
      guard !invocation.arguments.flag("restart") else {
        throw CommandFailure(.usage, "--restart is for copies into a database server, and TO is a path. Omit it.")
      }
      try checkFree(url)
    case .server(let url, let server):
      if invocation.arguments.flag("restart") { try removeUnfinished(at: url, server, invocation) }
      guard invocation.arguments.value("type") == nil else {
        throw CommandFailure(.usage, "--type is for files, and TO names a database server. Omit it.")
      }
    }
    // A copy to files is private until it is complete, so a signal ends the process at once. A copy to a server stops
    // between two pages.
    let stop: StopSignal?
    if case .server = target { stop = StopSignal() } else { stop = nil }
    defer { stop?.end() }
    let writer = invocation.progressWriter()
    defer { writer.finish() }
    let copy = Copy(target: target, kind: kind, copiesHistory: invocation.arguments.flag("history")) { stage in
      try stop?.check()
      writer.update(
        ProgressEvent(
          step: stage.step.rawValue, of: CopyStage.Step.check.rawValue, title: title(stage.step), entity: stage.entity,
          done: stage.done, total: stage.total))
    }
    let source = try StoreAddress(invocation.arguments.argument("STORE"))
    let made: Made
    switch source {
    case .file(let url):
      if let kind = fileKind(of: url) {
        made = try copyWholeFile(url, kind, copy, invocation)
      } else {
        made = try copyDatabase(copy, invocation)
      }
    case .server(let url, let kind): made = try copyServer(url, kind, copy, invocation)
    }
    writer.finish()
    invocation.result.workDone = "\(target.name) was written."
    try write(made, from: source, copy, invocation)
    return .done
  }

  private static func title(_ step: CopyStage.Step) -> String {
    switch step {
    case .rows: "Rows"
    case .members: "Relationships"
    case .check: "Check"
    }
  }

  /// Removes what an interrupted copy has left on a server.
  private static func removeUnfinished(
    at url: URL, _ server: any ServerStore.Type, _ invocation: CommandInvocation
  ) throws {
    guard try server.hasStore(at: url) else { return }
    let discardsOthers = invocation.arguments.flag("discard-others")
    let isRemoved: Bool
    do {
      isRemoved = try server.removeUnfinishedCopy(at: url, discardsOthers: discardsOthers)
    } catch let error as NSError where error.userInfo[CopyErrors.otherRowsKey] != nil {
      throw CommandFailure(
        .failed,
        "\(error.localizedFailureReason ?? error.localizedDescription) To remove them too, add --discard-others.")
    }
    guard isRemoved else {
      throw CommandFailure(
        .failed, "\(url.locationText) has a complete store, which --restart does not remove. Choose another place.")
    }
    invocation.remark("The unfinished copy in \(url.storeName) was removed.")
  }

  private static func checkFree(_ target: URL) throws {
    // SQLite would treat a log or journal with the name of the copy as belonging to the copy.
    for file in StoreFiles.databaseFiles(of: target) where FileCalls.exists(file) {
      throw CommandFailure(
        .failed,
        file == target
          ? "\(target.path) already exists. Choose another name, or move it away first."
          : "\(file.path) already exists: it would be taken for a part of the copy. Choose another name, or move it "
            + "away first.")
    }
    let folder = target.deletingLastPathComponent().path
    guard FileManager.default.isWritableFile(atPath: folder) else {
      throw CommandFailure(.failed, "The copy cannot be created: \(folder) does not exist or is not writable.")
    }
  }

  /// A complete copy, which has been compared with its source.
  private struct Made {
    let digest: StoreDigest
    /// The number of links that were left out because the source does not have their objects.
    var leftOutLinks = 0
    /// The values that the copy stores differently from the file, because objects read them that way.
    var converted: [ConvertedValues] = []
  }

  /// A store to copy, opened by a coordinator.
  private struct Source {
    let store: NSPersistentStore
    let coordinator: NSPersistentStoreCoordinator
    var configuration: String?
    /// The file whose permissions the copy gets; nil for the permissions of a new file.
    var original: URL?
    /// Whether it is a SQLite store in a file.
    var isDatabase = false
    /// Whether it is an XML or binary store.
    var isWholeFile: Bool { original != nil && !isDatabase }

    /// - Throws: the errors of opening the store.
    init(
      _ type: NSPersistentStore.StoreType, at url: URL, _ model: NSManagedObjectModel, _ configuration: String?,
      isReadOnly: Bool
    ) throws {
      coordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
      self.configuration = configuration
      store = try coordinator.addPersistentStore(
        type: type, configuration: configuration, at: url,
        options: isReadOnly ? [NSReadOnlyPersistentStoreOption: true] : nil)
    }
  }

  /// Returns the type of a store that is not a database, by its first bytes; nil for any other file, and for one that
  /// cannot be read, about which `StoreReader` reports more.
  private static func fileKind(of url: URL) -> StoreFileKind? {
    StoreFileKind(firstBytesOf: url).flatMap { $0 == .sqlite ? nil : $0 }
  }

  /// Copies an XML or binary store.
  private static func copyWholeFile(
    _ url: URL, _ kind: StoreFileKind, _ copy: Copy, _ invocation: CommandInvocation
  ) throws -> Made {
    let name = url.lastPathComponent
    guard let path = invocation.arguments.value("model") else {
      throw CommandFailure(
        .unreadableStore,
        "\(name) is a file of the type \(kind.rawValue), which contains no model. Name the one it was created with: "
          + "--model MODEL.")
    }
    let metadata = try NSPersistentStoreCoordinator.metadataForPersistentStore(type: kind.storeType, at: url)
    let (model, configuration) = try invocation.withModel(path) { model in
      for version in model.names {
        let found = try NSManagedObjectModel(document: model.version(version).document)
        if let configuration = found.configurationNames(fitting: metadata).first { return (found, configuration) }
      }
      throw CommandFailure(.unreadableStore, "No version of \(model.name) wrote \(name).")
    }
    var source = try Source(kind.storeType, at: url, model, configuration, isReadOnly: true)
    source.original = url
    return try copy.carryOut(source) { _ in }
  }

  /// Throws if the copy would share the directory of external data files with the store: removing one of the two stores
  /// would remove the other's files.
  private static func checkDirectory(of store: URL, _ copy: Copy) throws {
    guard case .file(let target) = copy.target, copy.kind == .sqlite else { return }
    let (own, other) = (StoreFiles.externalData(of: store), StoreFiles.externalData(of: target))
    guard FileCalls.exists(own), own.lastPathComponent == other.lastPathComponent,
      FileCalls.identity(own.deletingLastPathComponent()) == FileCalls.identity(other.deletingLastPathComponent())
    else { return }
    throw CommandFailure(
      .usage,
      "\(target.lastPathComponent) would share the directory \(own.lastPathComponent), with the files of large values, with "
        + "\(store.lastPathComponent). Choose a name that differs in more than the extension.")
  }

  private static func copyDatabase(_ copy: Copy, _ invocation: CommandInvocation) throws -> Made {
    let opened = try OpenedStore(invocation)
    let reader = opened.reader
    let name = reader.url.lastPathComponent
    guard let document = reader.model else {
      throw CommandFailure(
        .unreadableStore, "\(name) contains no model. Name the one it was created with: --model MODEL.")
    }
    opened.remark(invocation)
    try checkDirectory(of: reader.url, copy)
    try reader.checkFiles()
    let expected = try reader.rowCounts().filter { $0.value > 0 }
    let converted = copy.copiesObjects ? try StoreVerifier(reader).convertedValues() : []
    let others = copy.copiesObjects ? try reader.otherTables().filter { $0.rows > 0 } : []
    if !others.isEmpty {
      let words = others.map(\.text).joined(separator: ", ")
      invocation.remark("\(name) has tables that are not part of its model, which the copy does not have: \(words).")
    }
    return try reader.withCopy { file in
      var source = try Source(
        .sqlite, at: file, NSManagedObjectModel(document: document),
        StoreMatch.configuration(of: document, matching: reader.metadata.hashes), isReadOnly: false)
      (source.original, source.isDatabase) = (reader.url, true)
      var made = try copy.carryOut(source) { digest in
        guard digest.entities.mapValues(\.count) == expected else { throw copy.failure(name) }
      }
      made.converted = converted
      return made
    }
  }

  private static func copyServer(
    _ url: URL, _ server: any ServerStore.Type, _ copy: Copy, _ invocation: CommandInvocation
  ) throws -> Made {
    let model = try invocation.chosenModel(url, server)
    return try copy.carryOut(Source(.sqlite, at: url, model, nil, isReadOnly: true)) { _ in }
  }

  /// A copy and its destination.
  private struct Copy {
    let target: StoreAddress
    let kind: StoreFileKind
    let copiesHistory: Bool
    let progress: (CopyStage) throws -> Void

    /// A store with history is read-only if it is opened without recording history.
    private var options: [AnyHashable: Any]? { copiesHistory ? [NSPersistentHistoryTrackingKey: true] : nil }

    /// Whether objects are copied, rather than the pages of a file.
    var copiesObjects: Bool {
      if case .file = target, kind == .sqlite { false } else { true }
    }

    func failure(_ name: String) -> CommandFailure {
      CommandFailure(.failed, "\(target.name) does not have the rows of \(name). Do not use it. \(name) is as it was.")
    }

    /// Copies a store, which is removed from its coordinator.
    ///
    /// - Parameter check: checks the copy before it gets its final name.
    func carryOut(_ source: Source, check: (StoreDigest) throws -> Void) throws -> Made {
      var settings = CopySettings()
      settings.progress = progress
      settings.copiesHistory = copiesHistory
      switch target {
      case .file(let url):
        // The content of the file is compared.
        settings.checks = false
        return try copy(source, to: url, settings, check)
      case .server(let url, _):
        let (made, result) = try source.coordinator.copyPersistentStore(
          source.store, to: url, options: options, type: .sqlite, settings)
        let digest = try result?.digest ?? source.coordinator.digest(of: made)
        try source.coordinator.remove(made)
        try check(digest)
        return Made(digest: digest, leftOutLinks: result?.leftOutLinks ?? 0)
      }
    }

    private func copy(
      _ source: Source, to url: URL, _ settings: CopySettings, _ check: (StoreDigest) throws -> Void
    ) throws -> Made {
      let (coordinator, store) = (source.coordinator, source.store)
      let name = (source.original ?? store.url)?.lastPathComponent ?? ""
      // The copy gets its name when it is complete. Until it has the store's permissions, no other user can read it.
      let directory = try CopyDirectory.make(for: url)
      defer {
        // A leftover copy is private, and the next copy to this place removes it.
        try? directory.remove()
      }
      let draft = directory.url.appendingPathComponent(url.lastPathComponent)
      // A store copied as a file is compared with its content before the copy.
      let before =
        source.isWholeFile || kind == .sqlite && source.isDatabase
        ? try coordinator.digest(of: store, step: .rows, progress: progress) : nil
      let (made, result) = try coordinator.copyPersistentStore(
        store, to: draft, options: options, type: kind.storeType, settings)
      try coordinator.remove(made)
      let reopened = try coordinator.addPersistentStore(
        type: kind.storeType, configuration: source.configuration, at: draft,
        options: [NSReadOnlyPersistentStoreOption: true])
      let digest = try coordinator.digest(of: reopened, progress: progress)
      try coordinator.remove(reopened)
      guard digest == result?.digest ?? before else { throw failure(name) }
      try check(digest)
      if let original = source.original { try StoreFiles.copyPermissions(of: original, for: draft) }
      // From here on the copy and its files appear under their final names.
      StopSignals.leave()
      guard try StoreFiles.move(draft, to: url, holdsValues: kind == .sqlite) else {
        throw CommandFailure(
          .failed,
          "\(url.path) was created in the meantime. Choose another name, or move it away "
            + "first.")
      }
      return Made(digest: digest, leftOutLinks: result?.leftOutLinks ?? 0)
    }
  }

  private static func write(
    _ made: Made, from source: StoreAddress, _ copy: Copy, _ invocation: CommandInvocation
  ) throws {
    let digest = made.digest
    let type: String
    if case .server(let url, _) = copy.target { type = url.scheme ?? "" } else { type = copy.kind.rawValue }
    let copied = digest.entities.mapValues(\.count)
    if invocation.options.format == .json {
      return try invocation.write([
        "format": "coredata.store-copy/1", "store": .string(source.text), "copy": .string(copy.target.text),
        "type": .string(type),
        "rows": .object(copied.sorted { $0.key < $1.key }.map { .init($0.key, .integer($0.value)) }),
        "digests": .object(
          digest.entities.sorted { $0.key < $1.key }.map { .init($0.key, .string($0.value.hash.text)) }),
        "leftOutLinks": .integer(made.leftOutLinks),
        "convertedValues": .array(
          made.converted.map {
            ["entity": .string($0.entity), "property": .string($0.property), "count": .integer($0.count)]
          }),
      ])
    }
    if made.leftOutLinks > 0 {
      let model = invocation.arguments.value("model").map { [$0] } ?? []
      let links = made.leftOutLinks == 1 ? "1 link" : "\(made.leftOutLinks) links"
      invocation.remark(
        "\(links) to objects that \(source.name) does not have \(made.leftOutLinks == 1 ? "was" : "were") left out. To see "
          + "them:  \(ShellWord.line(["coredata", "store", "verify", invocation.arguments.argument("STORE")] + model))")
    }
    for values in made.converted {
      let count = NumberText.counted(values.count, "value")
      invocation.remark(
        "\(count) of \(values.entity).\(values.property) \(values.count == 1 ? "is" : "are") not of the attribute's type, or "
          + "not valid. The copy has what objects read instead.")
    }
    let isSame = made.converted.isEmpty
    let entities = NumberText.counted(copied.count, "entity", "entities")
    try invocation.result.write(
      "\(copy.target.name): \(NumberText.counted(digest.count, "row")) of \(entities), \(type)\n"
        + "Checked: the copy has the objects of \(source.name), with the same "
        + (isSame ? "values and relationships.\n" : "relationships, and the same values but for those named above.\n"))
  }
}
