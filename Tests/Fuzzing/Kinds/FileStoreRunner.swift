// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataModelFiles
import Foundation

/// Runs XML and binary stores: what cannot be opened, saved or migrated stays as it was, byte for byte, and what was saved is
/// read back.
struct FileStoreRunner: FuzzRunner {
  private let lab: FuzzLab
  private let samples: [Sample]
  private let documents: [[ModelDocument]]

  init(_ lab: FuzzLab) throws {
    self.lab = lab
    samples = try Sample.all(in: lab.corpus, .file)
    documents = try StoreMaker(lab, .file).documents()
  }

  func input(_ random: inout FuzzRandom) throws -> FuzzInput {
    let sample = random.below(samples.count)
    let name = random.pick([Sample.xmlStore, Sample.binaryStore])
    let base = samples[sample].files[name] ?? Data()
    let other = random.pick(samples).files[name]
    let data: Data
    if name == Sample.xmlStore {
      data =
        random.oneIn(60)
        ? Self.nested(base, &random) : TextMutation.damage(base, with: other, names: Self.names, &random)
    } else {
      data =
        random.oneIn(60)
        ? PropertyListMutation.hostile(&random) : PropertyListMutation.damage(base, with: other, &random)
    }
    return FuzzInput(files: [name: data], sample: sample)
  }

  private static let names = ["type", "name", "id", "idrefs", "destination", "z102", "z103", "1/1", "0/0", "version"]

  /// Returns a store in which one value or object contains many others.
  private static func nested(_ base: Data, _ random: inout FuzzRandom) -> Data {
    let text = String(decoding: base, as: UTF8.self)
    let count = random.pick([300, 5_000, 50_000])
    let (mark, part) = random.pick([
      ("<object", "<object type=\"Task\" id=\"z9\">"), ("<plist", "<array>"), ("</object>", "<attribute name=\"a\">"),
      ("idrefs=\"", "z102 "), ("type=\"", "a"), ("<object", "<object type=\"Task\" id=\"z102\"/>"),
    ])
    guard let range = text.range(of: mark) else { return base }
    return Data(text.replacingCharacters(in: range, with: mark + String(repeating: part, count: count)).utf8)
  }

  func run(_ input: FuzzInput, _ random: inout FuzzRandom) throws -> String {
    guard let name = input.files.keys.first else { return "nothing" }
    let type: NSPersistentStore.StoreType = name == Sample.xmlStore ? .xml : .binary
    let folder = try lab.fresh()
    try input.write(to: folder)
    let url = folder.appendingPathComponent(name)
    let versions = documents[input.sample]
    let model = try NSManagedObjectModel(document: versions[0])

    let before = try DirectoryContent(folder)
    var dump: ObjectDump?
    var results = [
      try ErrorText.publicResult("metadata") {
        _ = try NSPersistentStoreCoordinator.metadataForPersistentStore(type: type, at: url)
        return "read"
      },
      try ErrorText.publicResult("open to read") {
        let found = try ObjectDump(url, type, model, isReadOnly: true)
        dump = found
        return "\(min(found.objects.count, 1))"
      },
    ]
    try expect(before, folder, "Reading has changed files")

    let action = random.oneIn(3) ? "migrate" : "save"
    var isDone = false
    results.append(
      try ErrorText.publicResult(action) {
        if action == "migrate" {
          let after = try ObjectDump(migrating: url, type, try NSManagedObjectModel(document: versions[1]))
          isDone = true
          guard let dump, dump.objects.count != after.objects.count else { return "done" }
          throw Broken("The migration ended well with \(after.objects.count) of \(dump.objects.count) objects.")
        }
        try save(url, type, model, dump)
        isDone = true
        return "done"
      })
    if !isDone { try expect(before, folder, "A \(action) that failed has changed files") }
    return results.joined(separator: "; ")
  }

  private func expect(_ before: DirectoryContent, _ folder: URL, _ what: String) throws {
    let now = try DirectoryContent(folder)
    guard before == now else { throw Broken("\(what): \(now.differences(from: before)).") }
  }

  /// Inserts an object, saves, and reads all objects from the file.
  private func save(
    _ url: URL, _ type: NSPersistentStore.StoreType, _ model: NSManagedObjectModel, _ before: ObjectDump?
  ) throws {
    let stack = try FuzzStack(url, type, model)
    let entity = model.entities.first { !$0.isAbstract }?.name ?? ""
    _ = NSEntityDescription.insertNewObject(forEntityName: entity, into: stack.context)
    try stack.context.save()
    let saved = try ObjectDump(stack.context, model)
    try stack.close()
    let read: ObjectDump
    do {
      read = try ObjectDump(url, type, model, isReadOnly: true)
    } catch {
      throw Broken("A store that was saved cannot be opened: \(error)")
    }
    if let difference = read.difference(from: saved) {
      throw Broken("A saved store is read differently: \(difference)")
    }
    guard let before else { return }
    guard read.objects.count == before.objects.count + 1 else {
      throw Broken("There were \(before.objects.count) objects, one was inserted, and there are \(read.objects.count).")
    }
    for (key, text) in before.objects where read.objects[key] != text {
      throw Broken("Saving another object has changed one: \(read.difference(from: before) ?? key)")
    }
  }
}

extension ObjectDump {
  /// Migrates a store by opening it, and reads all objects.
  init(migrating url: URL, _ type: NSPersistentStore.StoreType, _ model: NSManagedObjectModel) throws {
    let stack = try FuzzStack(
      url, type, model,
      options: [
        NSMigratePersistentStoresAutomaticallyOption: true, NSInferMappingModelAutomaticallyOption: true,
      ])
    self = try ObjectDump(stack.context, model)
    try stack.close()
  }
}
