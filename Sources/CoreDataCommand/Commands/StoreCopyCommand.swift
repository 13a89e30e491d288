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
  /// The types of stores by the names of options.
  private enum Kind: String, CaseIterable {
    case sqlite, binary, xml

    var storeType: NSPersistentStore.StoreType {
      switch self {
      case .sqlite: .sqlite
      case .binary: .binary
      case .xml: .xml
      }
    }
  }

  static let specification = CommandSpecification(
    ["store", "copy"], summary: "Copy a store, also as one of another type.",
    discussion:
      "The store is opened read-only and copied with its external data. An existing file is never replaced. The rows are "
      + "counted before and after.",
    positionals: [.store, PositionalSpecification("TO", summary: "The path of the copy.")],
    options: [
      OptionSpecification(
        "type", .oneOf(Kind.allCases.map(\.rawValue)), summary: "The type of the copy (default: sqlite)."),
      OptionSpecification("model", .text("MODEL"), summary: "The model of a store that contains none."),
      .format(.text, .json),
    ])

  static func run(_ invocation: CommandInvocation) throws -> ExitStatus {
    let target = invocation.url("TO")
    guard !FileManager.default.fileExists(atPath: target.path) else {
      throw CommandFailure(.failed, "\(target.path) already exists. Choose another name, or move it away first.")
    }
    let folder = target.deletingLastPathComponent().path
    guard FileManager.default.isWritableFile(atPath: folder) else {
      throw CommandFailure(.failed, "The copy cannot be created: \(folder) does not exist or is not writable.")
    }
    let opened = try OpenedStore(invocation)
    opened.remark(invocation)
    let reader = opened.reader
    let name = reader.url.lastPathComponent
    guard let model = try reader.model.map({ try NSManagedObjectModel(document: $0) }) else {
      throw CommandFailure(
        .unreadableStore, "\(name) contains no model. Name the one it was created with: --model MODEL.")
    }
    let kind: Kind = invocation.arguments.choice("type") ?? .sqlite
    let expected = try reader.counts().rows.filter { $0.value > 0 }
    // The copy has its name when it is complete, and nobody else reads it before it has the permissions of the store.
    let directory = try CopyDirectory.make(for: target)
    defer {
      // A leftover is private, and the next copy to this place removes it.
      try? directory.remove()
    }
    let draft = directory.url.appendingPathComponent(target.lastPathComponent)
    let copied = try reader.withCopy { copy in
      let coordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
      let store = try coordinator.addPersistentStore(
        ofType: NSSQLiteStoreType, configurationName: nil, at: copy, options: nil)
      let made = try coordinator.migratePersistentStore(store, to: draft, options: nil, type: kind.storeType)
      let counts = try rows(coordinator, model)
      try coordinator.remove(made)
      return counts
    }
    guard copied == expected else {
      throw CommandFailure(
        .failed, "\(target.lastPathComponent) does not have the rows of \(name). Do not use it. \(name) is as it was.")
    }
    try StoreFiles.takePermissions(of: reader.url, for: draft)
    guard try StoreFiles.move(draft, to: target, holdsValues: kind == .sqlite) else {
      throw CommandFailure(.failed, "\(target.path) was made meanwhile. Choose another name, or move it away first.")
    }
    invocation.result.workDone = "\(target.lastPathComponent) was written."
    let count = copied.values.reduce(0, +)
    if invocation.options.format == .json {
      try invocation.write([
        "format": "coredata.store-copy/1", "store": .string(reader.url.path), "copy": .string(target.path),
        "type": .string(kind.rawValue),
        "rows": .object(copied.sorted { $0.key < $1.key }.map { .init($0.key, .integer($0.value)) }),
      ])
    } else {
      let entities = NumberText.counted(copied.count, "entity", "entities")
      try invocation.result.write(
        "\(target.lastPathComponent): \(NumberText.counted(count, "row")) of \(entities), \(kind.rawValue)\n")
    }
    return .done
  }

  /// Rows of exactly each entity that has some.
  private static func rows(
    _ coordinator: NSPersistentStoreCoordinator, _ model: NSManagedObjectModel
  ) throws -> [String: Int] {
    let context = NSManagedObjectContext(concurrencyType: .privateQueueConcurrencyType)
    context.persistentStoreCoordinator = coordinator
    return try context.performAndWait {
      var counts: [String: Int] = [:]
      for entity in model.entities where !entity.isAbstract {
        let request = NSFetchRequest<NSManagedObject>(entityName: entity.name ?? "")
        request.includesSubentities = false
        let count = try context.count(for: request)
        if count > 0 { counts[entity.name ?? ""] = count }
      }
      return counts
    }
  }
}
