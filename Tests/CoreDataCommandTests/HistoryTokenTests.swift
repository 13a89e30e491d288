// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataTestSupport
import Foundation
import Testing

@Suite("Tokens of store history", .enabled(if: ProgramShelf.program.isPresent, "The program was not built"))
struct HistoryTokenTests {
  private let shelf: ProgramShelf

  /// Makes a store with two transactions.
  init() throws {
    shelf = try ProgramShelf()
    try shelf.record(
      "phone",
      { context in
        let tag = NSEntityDescription.insertNewObject(forEntityName: "Tag", into: context)
        tag.setValue("new", forKey: "name")
      },
      { context in
        let tag = NSEntityDescription.insertNewObject(forEntityName: "Tag", into: context)
        tag.setValue("newer", forKey: "name")
      })
  }

  /// The numbers of the transactions since a position.
  private func numbers(since text: String) throws -> [Int] {
    let run = try shelf.run("store", "history", shelf.store, "--since", text, "--format", "json")
    #expect(run.status == 0, "\(run.text)")
    let all = try JSONSerialization.jsonObject(with: Data(run.output.utf8)) as? [[String: Any]]
    return try #require(all).compactMap { $0["number"] as? Int }
  }

  /// The tokens that JSON has.
  private func tokens() throws -> [String] {
    let run = try shelf.run("store", "history", shelf.store, "--format", "json")
    let all = try JSONSerialization.jsonObject(with: Data(run.output.utf8)) as? [[String: Any]]
    return try #require(all).compactMap { $0["token"] as? String }
  }

  @Test("A printed token shows what came after its transaction, and the last one shows nothing")
  func printed() throws {
    let tokens = try tokens()
    try #require(tokens.count == 2)
    #expect(try numbers(since: tokens[0]) == [2] && numbers(since: tokens[1]).isEmpty)
    let text = try shelf.run("store", "history", shelf.store)
    #expect(text.lines.last == "Token  \(tokens[1])", "\(text.text)")
    let first = try shelf.run("store", "history", shelf.store, "--since", tokens[1])
    #expect(first.status == 0 && first.output == "No transactions.\n", "\(first.text)")
  }

  @Test("A token of an app is taken as its log shows it, as base64, and from a file")
  func tokensOfApps() throws {
    let parts = try #require(try tokens().first).split(separator: ":")
    let description = "<NSPersistentHistoryToken - { \"\(parts[0])\" = 1; }>"
    #expect(try numbers(since: description) == [2])
    // As Core Data of macOS writes it, with the address of the object and another store.
    let other = "<NSPersistentHistoryToken: 0x600000c0 - {\n  \"\(UUID().uuidString)\" = 7;\n  \"\(parts[0])\" = 1;\n}>"
    #expect(try numbers(since: other) == [2])
    let version = try NSManagedObjectModel.load(contentsOf: URL(fileURLWithPath: shelf.model), version: nil)
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: version)
    let store = try coordinator.addPersistentStore(
      ofType: NSSQLiteStoreType, configurationName: nil, at: URL(fileURLWithPath: shelf.store),
      options: [NSPersistentHistoryTrackingKey: true])
    let token = try #require(coordinator.currentPersistentHistoryToken(fromStores: [store]))
    try coordinator.remove(store)
    let archive = try NSKeyedArchiver.archivedData(withRootObject: token, requiringSecureCoding: true)
    #expect(try numbers(since: archive.base64EncodedString()).isEmpty)
    try shelf.directory.write(archive, to: "token")
    #expect(try numbers(since: "@\(shelf.path("token"))").isEmpty)
  }

  @Test("A token of another store and a text that is no token are refused in words")
  func refused() throws {
    let other = UUID().uuidString
    let foreign = try shelf.run("store", "history", shelf.store, "--since", "\(other):1")
    #expect(foreign.status == 4 && foreign.error.contains("The token is of the store \(other), and Shelf.sqlite has"))
    for text in ["yesterday", "\(other):", "\(other):x", "<NSPersistentHistoryToken - { }>", "QUJD"] {
      let run = try shelf.run("store", "history", shelf.store, "--since", text)
      #expect(run.status == 2 && run.error.contains("nor a token"), "\(text): \(run.text)")
    }
    try shelf.directory.write("text", to: "none")
    let file = try shelf.run("store", "history", shelf.store, "--since", "@\(shelf.path("none"))")
    #expect(file.status == 2 && file.error.contains("is not the archive of an NSPersistentHistoryToken."))
    #expect(try shelf.run("store", "history", shelf.store, "--since", "@\(shelf.path("absent"))").status == 2)
  }

  @Test("Copying a store with history writes the lines of the command alone", arguments: ["xml", "sqlite"])
  func copying(type: String) throws {
    let run = try shelf.run("store", "copy", shelf.store, shelf.path("Copy.\(type)"), "--type", type)
    #expect(run.status == 0 && !run.error.contains("CoreData:"), "\(run.text)")
  }

  @Test("A token beyond the last transaction is refused, since the store was replaced by an older one")
  func later() throws {
    let parts = try #require(try tokens().first).split(separator: ":")
    let run = try shelf.run("store", "history", shelf.store, "--since", "\(parts[0]):9")
    #expect(
      run.status == 6 && run.error.contains("the last one of the store is 2: the store was replaced"), "\(run.text)")
    #expect(run.error.hasSuffix("Without --since, all transactions are shown.\n"), "\(run.text)")
  }
}
