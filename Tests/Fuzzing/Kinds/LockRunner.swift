// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataAnalysis
import CoreDataMigration
import CoreDataModelFiles
import Foundation

/// Runs locks of model versions: a refused lock stays as it was, and the locks of other models in a file are kept.
struct LockRunner: FuzzRunner {
  private static let (file, model, other) = ("coredata.lock", "M.xcdatamodeld", "Other.xcdatamodeld")

  private let lab: FuzzLab
  private let base: Data
  private let known: ModelVersions
  private let others: [ModelVersions]

  init(_ lab: FuzzLab) throws {
    self.lab = lab
    let documents = try FuzzModels.documents()
    func versions(_ documents: ArraySlice<ModelDocument>, current: String) throws -> ModelVersions {
      ModelVersions(
        try documents.enumerated().map {
          ModelVersion(name: "V\($0.offset + 1)", model: try NSManagedObjectModel(document: $0.element))
        }, current: current)
    }
    known = try versions(documents[1..<4], current: "V3")
    // The same names with other contents, a version less, an earlier current version, and the model itself.
    others = try [
      versions(documents[2..<5], current: "V3"), versions(documents[1..<3], current: "V2"),
      versions(documents[1..<4], current: "V1"), known,
    ]
    let url = try lab.fresh().appendingPathComponent(Self.file)
    for (name, versions) in [(Self.model, known), (Self.other, others[0])] {
      _ = try VersionLock.lock(versions, in: url, model: name, replacesEdited: false)
    }
    base = try Data(contentsOf: url)
  }

  private static let names = [
    "models", "versions", "entities", "properties", "hash", "checksum", "current", "format", "name", "V1", "V2", "V3",
    "coredata.lock/1", "coredata.lock/2", "M.xcdatamodeld", "Other.xcdatamodeld",
  ]

  func input(_ random: inout FuzzRandom) throws -> FuzzInput {
    var data = TextMutation.damage(base, with: base, names: Self.names, &random)
    if random.oneIn(100) {
      let (open, close) = random.pick([("[", "]"), ("{\"a\":", "}"), ("{\"models\":", "}")])
      let count = random.pick([500, 20_000, 200_000])
      data = Data((String(repeating: open, count: count) + String(repeating: close, count: count)).utf8)
    }
    return FuzzInput(files: [Self.file: data])
  }

  func run(_ input: FuzzInput, _ random: inout FuzzRandom) throws -> String {
    let folder = try lab.fresh()
    try input.write(to: folder)
    let url = folder.appendingPathComponent(Self.file)
    let before = try DirectoryContent(folder)
    let model = random.pick(others)
    var kept: VersionLock?
    var isReadable = false
    var results = [
      try ErrorText.result("read") {
        kept = try VersionLock(contentsOf: url, model: Self.other)
        isReadable = true
        guard let lock = try VersionLock(contentsOf: url, model: Self.model) else {
          return "former \(try VersionLock.formerName(in: url, of: model) ?? "none")"
        }
        return "\(min(lock.findings(in: model).count, 3)) \(lock.unlocked(in: model).count)"
      }
    ]
    guard try before == DirectoryContent(folder) else { throw Broken("Reading a lock has changed it.") }

    let replaces = random.oneIn(2)
    results.append(
      try ErrorText.result("lock") {
        let (findings, added) = try VersionLock.lock(
          model, in: url, model: Self.model, replacesEdited: replaces)
        return "\(min(findings.count, 3)) \(added.count)"
      })
    let now = try DirectoryContent(folder)
    if before == now { return results.joined(separator: "; ") + "; unchanged" }
    guard isReadable else { throw Broken("A lock that cannot be read was replaced.") }
    let lock: VersionLock?
    do {
      lock = try VersionLock(contentsOf: url, model: Self.model)
    } catch {
      throw Broken("A lock that was written cannot be read: \(error)")
    }
    guard let lock, lock.findings(in: model).isEmpty else {
      throw Broken("The model differs from the lock that was just written for it.")
    }
    guard try VersionLock(contentsOf: url, model: Self.other) == kept else {
      throw Broken("Locking a model has changed the lock of another one.")
    }
    _ = try VersionLock.lock(model, in: url, model: Self.model, replacesEdited: replaces)
    guard try now == DirectoryContent(folder) else {
      throw Broken("Locking a locked model again has changed the lock.")
    }
    return results.joined(separator: "; ")
  }
}
