// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData

/// Opens the stores of a manifest and compares.
struct Reader {
  let manifest: Manifest
  private let directory: URL

  init(directory: URL) throws {
    self.directory = directory
    manifest = try Manifest(from: directory)
  }

  /// The differences of all stores from the manifest, before a row was added and afterwards.
  func read() -> [String] {
    manifest.stores.flatMap { expected in
      do {
        return try read(expected)
      } catch {
        return ["\(expected.file): \(error)"]
      }
    }
  }

  private func read(_ expected: Manifest.Store) throws -> [String] {
    // A directory from elsewhere names no file outside of itself.
    guard !expected.file.contains("/") else { return ["\(expected.file): is no name of a file"] }
    // Opening a store writes to it. All files go into the copy, the log and the files of large values too.
    let copy = FileManager.default.temporaryDirectory.appendingPathComponent("exchange-\(UUID().uuidString)")
    try FileManager.default.copyItem(at: directory, to: copy)
    // What is left there is the system's to remove.
    defer { try? FileManager.default.removeItem(at: copy) }
    let url = copy.appendingPathComponent(expected.file)
    guard FileManager.default.fileExists(atPath: url.path) else { return ["\(expected.file): is not there"] }
    let hasHistory = !expected.history.isEmpty

    let opened = try OpenedStore(at: url, model: expected.model, hasHistory: hasHistory)
    var differences = expected.differences(from: try Manifest.Store(of: opened))
    let wanted = try add(to: opened, expected)
    try opened.close()

    let again = try OpenedStore(at: url, model: expected.model, hasHistory: hasHistory)
    differences += wanted.differences(from: try Manifest.Store(of: again)).map { "after adding a row: \($0)" }
    try again.close()
    return differences
  }

  /// Adds a row that leads to another one, and says what the store must hold then.
  private func add(to opened: OpenedStore, _ expected: Manifest.Store) throws -> Manifest.Store {
    let (entity, text, link, target) =
      expected.model == .everything ? ("Item", "text", "parent", "Item") : ("Memo", "body", "folder", "Folder")
    let context = opened.context
    try context.performAndWait {
      let request = NSFetchRequest<NSManagedObject>(entityName: target)
      request.sortDescriptors = [NSSortDescriptor(key: "code", ascending: true)]
      let other = try context.fetch(request).first
      let added = NSEntityDescription.insertNewObject(forEntityName: entity, into: context)
      added.setValue("added", forKey: "code")
      added.setValue("An added row", forKey: text)
      added.setValue(other, forKey: link)
      try context.save()
    }
    var wanted = expected
    // Values that the row was not given are those of the framework that reads, such as a default value.
    wanted.rows[entity]?["added"] = try opened.rows()[entity]?["added"]
    wanted.rows[entity]?["added"]?["code"] = expectedText("added")
    wanted.rows[entity]?["added"]?[text] = expectedText("An added row")
    let inverse = opened.coordinator.managedObjectModel.entitiesByName[entity]?.relationshipsByName[link]?
      .inverseRelationship?.name
    let code = expected.rows[target]?.keys.min()
    if let inverse, let code, let members = expected.rows[target]?[code]?[inverse] {
      wanted.rows[entity]?["added"]?[link] = code
      let names = members.dropFirst().dropLast().components(separatedBy: ", ").filter { !$0.isEmpty } + ["added"]
      wanted.rows[target]?[code]?[inverse] = "{" + names.sorted().joined(separator: ", ") + "}"
    }
    if let last = try opened.history().last, !expected.history.isEmpty { wanted.history.append(last) }
    return wanted
  }

  private func expectedText(_ text: String) -> String { OpenedStore.text(text) }
}
