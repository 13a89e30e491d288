// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataAnalysis
import CoreDataModelFiles
import Foundation

/// Creates damaged stores from the samples and fixtures.
struct StoreMaker {
  /// What to damage.
  enum Damage {
    case archives
    case everything
  }

  let lab: FuzzLab
  let samples: [Sample]
  private let fixtures: [Data]

  /// - Parameters:
  ///   - group: The samples to damage.
  ///   - suffix: The end of the names of fixtures to damage; nil for none.
  init(_ lab: FuzzLab, _ group: Sample.Group = .plain, fixtures suffix: String? = nil) throws {
    self.lab = lab
    samples = try Sample.all(in: lab.corpus, group)
    // SwiftData's stores have pages for their history, even if it is empty.
    fixtures =
      try suffix.map { suffix in
        try lab.fixtures(upTo: suffix == ".store" ? 100_000 : 120_000) { $0.hasSuffix(suffix) }.map(\.data)
      } ?? []
  }

  /// Returns a sample or a fixture.
  func base(_ random: inout FuzzRandom) -> FuzzInput {
    let isOurs = fixtures.isEmpty || !random.oneIn(3)
    let sample = random.below(samples.count)
    var input = FuzzInput(files: isOurs ? samples[sample].files : [:], isOurs: isOurs, sample: sample)
    if !isOurs { input.files[Sample.store] = random.pick(fixtures) }
    return input
  }

  /// Creates a damaged store, with the model of its sample.
  func input(_ damage: Damage, _ random: inout FuzzRandom) throws -> FuzzInput {
    var input = base(&random)
    var store = input.files[Sample.store] ?? Data()
    if case .archives = damage {
      try alter(&input, &random, StoreMutation.archives)
      return input
    }
    switch random.below(10) {
    case 0, 1:
      store = StoreMutation.pages(store, &random)
      input.files[Sample.store] = store
      input.notes.append("pages")
    case 2, 3: try alter(&input, &random, StoreMutation.schema)
    case 4: try alter(&input, &random, StoreMutation.archives)
    case 5: try leaveLog(&input, &random)
    case 6: try leaveJournal(&input, &random)
    default: try alter(&input, &random, StoreMutation.cells)
    }
    return input
  }

  /// Changes a store with SQL.
  func alter(
    _ input: inout FuzzInput, _ random: inout FuzzRandom, _ body: (RawStore, inout FuzzRandom) throws -> [String]
  ) throws {
    let url = try place(input)
    let raw = try RawStore(url)
    try raw.run("PRAGMA journal_mode = DELETE; PRAGMA synchronous = OFF")
    input.notes += try body(raw, &random)
    raw.close()
    input.files[Sample.store] = try Data(contentsOf: url)
  }

  private func place(_ input: FuzzInput) throws -> URL {
    let url = try lab.fresh().appendingPathComponent(Sample.store)
    try (input.files[Sample.store] ?? Data()).write(to: url)
    return url
  }

  /// Leaves a write-ahead log beside the store, like a killed program, and sometimes damages it.
  private func leaveLog(_ input: inout FuzzInput, _ random: inout FuzzRandom) throws {
    let url = try place(input)
    let raw = try RawStore(url)
    try raw.run("PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0; PRAGMA synchronous = OFF")
    input.notes.append("write-ahead log")
    for table in try raw.objectTables() { try raw.run("UPDATE \"\(table)\" SET Z_OPT = 7") }
    input.files[Sample.store] = try Data(contentsOf: url)
    var log = try Data(contentsOf: url.deletingLastPathComponent().appendingPathComponent(Sample.store + "-wal"))
    raw.close()
    if !random.oneIn(4) { log = ByteMutation.damage(log, &random) }
    input.files[Sample.store + "-wal"] = log
  }

  /// Leaves a rollback journal beside a partially written store.
  private func leaveJournal(_ input: inout FuzzInput, _ random: inout FuzzRandom) throws {
    let url = try place(input)
    let raw = try RawStore(url)
    try raw.run("PRAGMA journal_mode = DELETE; PRAGMA cache_size = 2; PRAGMA cache_spill = 1; BEGIN")
    input.notes.append("rollback journal")
    for table in try raw.objectTables() { try raw.run("UPDATE \"\(table)\" SET Z_OPT = 7, Z_ENT = Z_ENT + 0") }
    try raw.run("CREATE TABLE unfinished (a); INSERT INTO unfinished VALUES (randomblob(5000))")
    input.files[Sample.store] = try Data(contentsOf: url)
    let path = url.deletingLastPathComponent().appendingPathComponent(Sample.store + "-journal")
    if FileManager.default.fileExists(atPath: path.path) {
      var journal = try Data(contentsOf: path)
      if !random.oneIn(4) { journal = ByteMutation.damage(journal, &random) }
      input.files[Sample.store + "-journal"] = journal
    }
    try raw.run("ROLLBACK")
    raw.close()
  }

  /// Counts rows in a copy through SQLite alone; nil if it cannot count them.
  func rowCount(_ input: FuzzInput) throws -> RowCount? {
    let folder = try lab.fresh()
    try FuzzInput(files: input.files.filter { $0.key.hasPrefix(Sample.store) }).write(to: folder)
    return RowCount(folder.appendingPathComponent(Sample.store))
  }

  /// Returns the versions of each sample's model.
  func documents() throws -> [[ModelDocument]] {
    try samples.map { sample in
      let folder = try lab.fresh()
      try FuzzInput(files: sample.modelFiles).write(to: folder)
      return try ModelBundle(contentsOf: folder.appendingPathComponent(Sample.model)).versions.map(\.document)
    }
  }
}

/// The rows of a store, counted through SQLite alone.
struct RowCount {
  let rows: Int
  /// Whether SQLite's integrity check finds no error.
  let isWhole: Bool

  /// The number of rows; nil if SQLite cannot read the file, and no reader has to find them.
  init?(_ url: URL) {
    do {
      let raw = try RawStore(url)
      defer { raw.close() }
      rows = try raw.objectCount()
      isWhole = try raw.isWhole()
    } catch {
      return nil
    }
  }
}

/// Reads a store in all ways.
struct StoreReading {
  let folder: URL
  private var url: URL { folder.appendingPathComponent(Sample.store) }
  /// Returns the result or error of each way.
  private(set) var results: [String] = []

  init(_ folder: URL) { self.folder = folder }

  private func attempt(_ name: String, _ body: () throws -> String) throws -> String {
    try ErrorText.result(name, body)
  }

  /// Does what the reading commands do: nothing may change, and no row may be omitted silently.
  mutating func run(rows: Int?, _ documents: [ModelDocument]) throws {
    let before = try DirectoryContent(folder)
    for given in [nil] + documents.map(Optional.some) {
      results += try [
        attempt("export") {
          let reader = try StoreReader(url: url, model: given)
          _ = try reader.counts()
          _ = try reader.historyCounts()
          var exported = 0
          try reader.forEachObject { _ in exported += 1 }
          if let rows, exported < rows {
            throw Broken("The export ended well with \(exported) of \(rows) rows (\(reader.origin)).")
          }
          _ = StoreMatch(
            storeHashes: reader.metadata.hashes, storeModel: reader.metadata.model,
            versions: documents.enumerated().map { (name: "V\($0.offset)", document: $0.element) })
          return "\(reader.origin)"
        }
      ]
    }
    let after = try DirectoryContent(folder)
    guard before == after else { throw Broken("Reading has changed files: \(after.differences(from: before)).") }
    // SQLite creates an index of the log here; the commands work without one.
    results += try [
      attempt("metadata") {
        _ = try NSPersistentStoreCoordinator.metadataForPersistentStore(type: .sqlite, at: url)
        return "read"
      }
    ]
  }

  /// Opens a store and reads all objects.
  mutating func open(_ model: NSManagedObjectModel, writes: Bool, migrates: Bool = false) throws {
    results += try [
      attempt(writes ? "open" : "open to read") {
        let coordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
        var options: [AnyHashable: Any] = writes ? [:] : [NSReadOnlyPersistentStoreOption: true]
        if migrates {
          options[NSMigratePersistentStoresAutomaticallyOption] = true
          options[NSInferMappingModelAutomaticallyOption] = true
        }
        let store = try coordinator.addPersistentStore(type: .sqlite, at: url, options: options)
        let context = NSManagedObjectContext(.privateQueue)
        context.persistentStoreCoordinator = coordinator
        var count = 0
        for entity in model.entities where !entity.isAbstract {
          let request = NSFetchRequest<NSManagedObject>(entityName: entity.name ?? "")
          request.includesSubentities = false
          request.returnsObjectsAsFaults = false
          request.fetchLimit = 200
          for object in try context.fetch(request) {
            count += 1
            for name in entity.attributesByName.keys { _ = object.value(forKey: name) }
            for name in entity.relationshipsByName.keys { _ = object.objectIDs(forRelationshipNamed: name) }
          }
          if context.hasChanges { throw Broken("Reading the objects of \(entity.name ?? "") has changed them.") }
        }
        if writes {
          let entity = model.entities.first { !$0.isAbstract }?.name ?? ""
          _ = NSEntityDescription.insertNewObject(forEntityName: entity, into: context)
          // A store may be readable but not writable.
          let saved = try attempt("save") {
            try context.save()
            return "done"
          }
          try coordinator.remove(store)
          return saved
        }
        try coordinator.remove(store)
        return "\(min(count, 1))"
      }
    ]
  }

  var summary: String { results.joined(separator: "; ") }
}

/// The texts of errors without the names and numbers that make them different.
enum ErrorText {
  static func of(_ error: any Error) -> String {
    let cocoa = error as NSError
    if cocoa.domain == NSCocoaErrorDomain { return "\(cocoa.domain) \(cocoa.code)" }
    return plain("\(error)")
  }

  /// Returns the result of a call, or the error that it throws.
  static func result(_ name: String, _ body: () throws -> String) throws -> String {
    do {
      return "\(name): \(try body())"
    } catch let error as Broken {
      throw error
    } catch {
      return "\(name): \(of(error))"
    }
  }

  /// Returns the result of a call of the public interface, whose errors have a code of Core Data and a sentence.
  static func publicResult(_ name: String, _ body: () throws -> String) throws -> String {
    try result(name) {
      do {
        return try body()
      } catch let error where !(error is Broken) {
        let cocoa = error as NSError
        guard cocoa.domain == NSCocoaErrorDomain, cocoa.code != 0 else {
          throw Broken("\(name) threw an error without a code of Core Data: \(error)")
        }
        let keys = [NSLocalizedDescriptionKey, NSLocalizedFailureReasonErrorKey]
        guard cocoa.userInfo[NSDetailedErrorsKey] != nil || keys.contains(where: { cocoa.userInfo[$0] is String })
        else { throw Broken("\(name) threw the error \(cocoa.code) without a sentence.") }
        throw error
      }
    }
  }

  static func plain(_ text: String) -> String {
    var result = ""
    var isQuoted = false
    for character in text.prefix(300) {
      if character == "\"" { isQuoted.toggle() }
      if isQuoted || character == "\n" || !character.isASCII { continue }
      if character.isNumber {
        if result.last != "#" { result.append("#") }
      } else {
        result.append(character)
      }
    }
    return String(result.prefix(80))
  }
}

/// Runs stores that are read.
struct StoreRunner: FuzzRunner {
  private let maker: StoreMaker
  private let damage: StoreMaker.Damage
  private let documents: [[ModelDocument]]

  init(_ lab: FuzzLab, damage: StoreMaker.Damage) throws {
    maker = try StoreMaker(lab, fixtures: ".sqlite")
    self.damage = damage
    documents = try maker.documents()
  }

  func input(_ random: inout FuzzRandom) throws -> FuzzInput { try maker.input(damage, &random) }

  func run(_ input: FuzzInput, _ random: inout FuzzRandom) throws -> String {
    let rows = try maker.rowCount(input)
    let folder = try maker.lab.fresh()
    try FuzzInput(files: input.files.filter { $0.key.hasPrefix(Sample.store) }).write(to: folder)
    var reading = StoreReading(folder)
    let known = documents[input.sample]
    try reading.run(rows: rows.flatMap { $0.isWhole ? $0.rows : nil }, input.isOurs ? Array(known.prefix(1)) : [])
    guard let document = input.isOurs ? known.first : try Self.ownModel(folder) else { return reading.summary }
    try reading.open(try NSManagedObjectModel(document: document), writes: false)
    if random.oneIn(2) { try reading.open(try NSManagedObjectModel(document: document), writes: true) }
    return reading.summary
  }

  /// Returns the model contained in a store.
  static func ownModel(_ folder: URL) throws -> ModelDocument? {
    do {
      return try StoreReader(url: folder.appendingPathComponent(Sample.store)).model
    } catch is StoreProblem {
      return nil
    }
  }
}
