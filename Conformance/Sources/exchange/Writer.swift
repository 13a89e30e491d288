// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData

/// Writes the stores and their manifest.
struct Writer {
  let directory: URL

  func write() throws -> Manifest {
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    guard try FileManager.default.contentsOfDirectory(atPath: directory.path).isEmpty else {
      throw Refused(reason: "\(directory.path) is not empty")
    }
    let manifest = Manifest(stores: [try everything(), try migrated()])
    try manifest.write(to: directory)
    return manifest
  }

  struct Refused: Error, CustomStringConvertible {
    let reason: String
    var description: String { reason }
  }

  /// A store with history: rows are inserted, changed and deleted in three saves.
  private func everything() throws -> Manifest.Store {
    let opened = try OpenedStore(
      at: directory.appendingPathComponent("everything.sqlite"), model: .everything, hasHistory: true)
    let context = opened.context
    try context.performAndWait {
      let items = (0..<4).map { insert("Item", "item\($0)", in: context) }
      fill(items[0])
      fillEdges(items[1])
      for (index, item) in items.enumerated() {
        if index > 0 { item.setValue(items[0], forKey: "parent") }
        let film = insert("Film", "film\(index)", in: context)
        film.setValue("Film \(index)", forKey: "title")
        film.setValue(90 + index, forKey: "minutes")
        film.setValue(item, forKey: "item")
        if index.isMultiple(of: 2) { item.setValue(film, forKey: "cover") }
      }
      let tags = (0..<3).map { insert("Tag", "tag\($0)", in: context) }
      items[0].setValue(Set(tags), forKey: "tags")
      items[1].setValue(Set([tags[1]]), forKey: "tags")
      let songs = (0..<4).map { insert("Song", "song\($0)", in: context) }
      songs[0].setValue(items[1], forKey: "item")
      songs[0].setValue("C", forKey: "key")
      items[0].setValue(NSOrderedSet(array: [songs[3], songs[0], songs[2]]), forKey: "songs")
      items[1].setValue(NSOrderedSet(array: [songs[0], songs[1], songs[2], songs[3]]), forKey: "songs")
      insert("Item", "doomed", in: context).setValue(items[3], forKey: "parent")
      try context.save()

      items[2].setValue("changed", forKey: "text")
      let order = items[1].mutableOrderedSetValue(forKey: "songs")
      order.moveObjects(at: IndexSet(integer: 3), to: 0)
      try context.save()

      let request = NSFetchRequest<NSManagedObject>(entityName: "Item")
      request.predicate = NSPredicate(format: "code == 'doomed'", argumentArray: [])
      try context.fetch(request).forEach(context.delete)
      try context.save()
    }
    return try finish(opened)
  }

  /// A store that was migrated in its life.
  private func migrated() throws -> Manifest.Store {
    let url = directory.appendingPathComponent("migrated.sqlite")
    let before = try OpenedStore(at: url, model: .before, hasHistory: false)
    let context = before.context
    try context.performAndWait {
      let folder = insert("Folder", "folder", in: context)
      for index in 0..<20 {
        let note = insert("Note", "note\(index)", in: context)
        note.setValue("text \(index)", forKey: "text")
        note.setValue(index - 10, forKey: "count")
        if index.isMultiple(of: 3) { note.setValue(folder, forKey: "folder") }
      }
      try context.save()
    }
    try before.close()
    return try finish(OpenedStore(at: url, model: .after, hasHistory: false, migrates: true))
  }

  /// Describes a store as its file has it, and closes it.
  private func finish(_ opened: OpenedStore) throws -> Manifest.Store {
    opened.context.performAndWait { opened.context.reset() }
    let result = try Manifest.Store(of: opened)
    try opened.close()
    return result
  }

  private func insert(_ entity: String, _ code: String, in context: NSManagedObjectContext) -> NSManagedObject {
    let result = NSEntityDescription.insertNewObject(forEntityName: entity, into: context)
    result.setValue(code, forKey: "code")
    return result
  }

  /// Values in the middle of their types.
  private func fill(_ item: NSManagedObject) {
    let values: [String: Any] = [
      "int16": 16, "int32": -32, "int64": 64_000_000_000, "decimal": NSDecimalNumber(string: "12345.6789"),
      "double": 0.1, "float": Float(1.25), "text": "the value of text, Grüße 🌍", "flag": true,
      "date": Date(timeIntervalSinceReferenceDate: 700_000_000.125), "data": Data([0, 1, 254, 255]),
      "uuid": UUID(uuid: (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16)),
      "list": ["a", 2] as NSArray, "image": Data((0..<300_000).map { UInt8(truncatingIfNeeded: $0 &* 7) }),
      "place": ["street": "Main Street", "number": 5] as [String: Any],
    ]
    for (key, value) in values { item.setValue(value, forKey: key) }
    item.setValue(URL(string: "https://example.com/path?query=1#part"), forKey: "uri")
  }

  /// Values at the ends of their types.
  private func fillEdges(_ item: NSManagedObject) {
    let values: [String: Any] = [
      "int16": Int(Int16.min), "int32": Int(Int32.max), "int64": Int64.min,
      "decimal": NSDecimalNumber(string: "-0.000001"), "double": -Double.greatestFiniteMagnitude,
      "float": Float.leastNormalMagnitude, "text": "", "flag": false,
      "date": Date(timeIntervalSinceReferenceDate: -3_000_000_000), "data": Data(), "list": [] as NSArray,
      "image": Data([7]),
    ]
    for (key, value) in values { item.setValue(value, forKey: key) }
  }
}
