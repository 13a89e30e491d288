// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataTestSupport
import Foundation
import PostgreSQLTestServer
import Synchronization
import Testing

@testable import CoreData
@testable import CoreDataPostgreSQL
@testable import CoreDataPostgreSQLClient

@Suite("Passwords and row values in texts", .needsPostgreSQL, .serialized)
struct PasswordTests {
  private let folder: TemporaryStore

  init() throws { folder = try TemporaryStore() }

  private static let secret = "S3cret-Pass word/x"

  private static func url(_ place: URL, password: String) throws -> URL {
    var parts = try #require(URLComponents(url: place, resolvingAgainstBaseURL: false))
    parts.password = password
    return try #require(parts.url)
  }

  private func texts(_ value: Any) -> String {
    var text = "\(value) \(String(reflecting: value))\n"
    dump(value, to: &text)
    return text
  }

  @Test("A password in the URL of a store is in no description and no mirror of anything that has the store")
  func descriptions() throws {
    let url = try Self.url(TestServer.shared.schemaURL(), password: Self.secret)
    let description = NSPersistentStoreDescription(url: url)
    let container = NSPersistentContainer(name: "Company", managedObjectModel: CompanyModel.make())
    container.persistentStoreDescriptions = [description]
    var failure: (any Error)?
    container.loadPersistentStores { failure = $1 }
    if let failure { throw failure }
    let context = container.viewContext
    let object = context.make("Employee", ["name": "Ada"])
    try context.save()
    let coordinator = container.persistentStoreCoordinator
    let store = try #require(coordinator.persistentStores.first)
    #expect(store.url == url && description.url == url)
    let values: [Any] = [
      description, store, coordinator, container, context, object, object.objectID, store.metadata as Any,
      description.copy(),
    ]
    for value in values {
      let text = texts(value)
      #expect(!text.contains("S3cret"), "\(type(of: value))")
    }
    #expect(texts(description).contains("postgresql://tester@/postgres?host="))
    #expect(texts(store).contains("postgresql://tester@/postgres?host="))
  }

  /// A server in which the role `guarded` needs a password.
  private func guardedServer() throws -> TestServer {
    let server = try TestServer()
    let owner = try PostgreSQLConnection(PostgreSQLAddress(server.url()), applicationName: "tests")
    try owner.execute("CREATE ROLE guarded LOGIN SUPERUSER PASSWORD 'right-word'")
    let file = try owner.query("SHOW hba_file").string(0, 0)
    try owner.execute("COPY (VALUES ('local all guarded scram-sha-256'), ('local all all trust')) TO '\(file)'")
    try owner.execute("SELECT pg_reload_conf()")
    // The server reads its configuration again some time after it was told to.
    while (try? connect(server.url(user: "guarded"))) != nil {}
    return server
  }

  private func connect(_ url: URL) throws {
    try PostgreSQLConnection(PostgreSQLAddress(url), applicationName: "tests").close()
  }

  @Test("A password is found in the URL and a password file, or asked for once")
  func sources() throws {
    let server = try guardedServer()
    // The server ends with the process at the latest.
    defer { try? server.stop(immediately: true) }
    let guarded = server.url(user: "guarded")
    func refusal(_ url: URL) -> NSError? {
      thrownError { _ = try PostgreSQLStore.hasStore(at: url) }
    }
    let missing = try #require(refusal(guarded))
    #expect(missing.localizedRecoverySuggestion?.contains("~/.pgpass") == true, "\(missing)")

    try connect(Self.url(guarded, password: "right-word"))
    let passwords = folder.folder.appendingPathComponent("pgpass")
    try Data("*:*:*:guarded:right-word\n".utf8).write(to: passwords)
    try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: passwords.path)
    try connect(server.url(user: "guarded", "passfile=\(passwords.path)"))
    let questions = Mutex<[String]>([])
    let answers = Mutex(["wrong-word", "right-word"])
    PasswordQuestion.answer(by: { question in
      questions.withLock { $0.append(question) }
      return answers.withLock { $0.isEmpty ? nil : $0.removeFirst() }
    })
    defer { PasswordQuestion.answer(by: nil) }
    let wrong = try #require(refusal(guarded))
    #expect(!texts(wrong).contains("wrong-word"))
    for _ in 0..<3 { try connect(guarded) }
    let asked = questions.withLock { $0 }
    #expect(asked.count == 2 && asked.allSatisfy { $0.hasPrefix("postgresql://guarded@/postgres?host=") }, "\(asked)")
  }

  @Test("A password that was typed reaches pg_dump, and no argument")
  func typedForBackup() throws {
    let server = try guardedServer()
    // As above.
    defer { try? server.stop(immediately: true) }
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: CompanyModel.make())
    try coordinator.addPersistentStore(type: .postgreSQL, at: server.url("schema=app"))
    let url = server.url(user: "guarded", "schema=app")
    PasswordQuestion.answer(by: { _ in "right-word" })
    defer { PasswordQuestion.answer(by: nil) }
    try connect(url)
    let backup = try PostgreSQLStore.backUp(at: url, to: folder.folder, name: "typed")
    #expect(FileManager.default.fileExists(atPath: backup.file.path))
    #expect(!texts(backup).contains("right-word"))
    let connection = try #require(try PostgreSQLAddress(url).programConnection)
    #expect(connection.environment == ["PGPASSWORD": "right-word"] && !connection.argument.contains("right-word"))
  }

  @Test(
    "The tool takes a password from a service file and the environment, and notes one in an argument",
    .enabled(if: BuiltProgram("coredata").isPresent, "The program was not built beside the tests"))
  func tool() throws {
    let server = try guardedServer()
    // As above.
    defer { try? server.stop(immediately: true) }
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: CompanyModel.make())
    try coordinator.addPersistentStore(type: .postgreSQL, at: server.url("schema=app"))
    let services = folder.folder.appendingPathComponent("services.conf")
    let lines = ["[shop]", "host=\(server.socketFolder)", "user=guarded", "dbname=postgres", "password=right-word", ""]
    try Data(lines.joined(separator: "\n").utf8).write(to: services)
    let url = server.url(user: "guarded", "schema=app").absoluteString
    let withPassword = url.replacingOccurrences(of: "guarded@", with: "guarded:right-word@")
    let runs: [(url: String, environment: [String: String], isNoted: Bool)] = [
      ("postgresql:///?service=shop&schema=app", ["PGSERVICEFILE": services.path], false),
      (url, ["PGPASSWORD": "right-word"], false), (withPassword, [:], true),
    ]
    for (url, environment, isNoted) in runs {
      let run = try BuiltProgram("coredata").run(
        ["store", "verify", url, "--format", "json"], environment: environment)
      #expect(run.status == 0, "\(run.error)")
      #expect(run.error.contains("list of processes") == isNoted)
      #expect(!(run.output + run.error).contains("right-word"))
    }
    let refused = try BuiltProgram("coredata").run(["store", "info", url], environment: ["PGPASSWORD": "wrong-word"])
    #expect(refused.status != 0 && !(refused.output + refused.error).contains("wrong-word"), "\(refused.error)")
  }

  private static let value = "patient-4711"

  /// The texts of errors of values that constraints of the server reject.
  private func rejections(_ url: URL) throws -> [String] {
    let model = CompanyModel.make()
    model.entitiesByName["Project"]?.uniquenessConstraints = [["title"]]
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
    try coordinator.addPersistentStore(type: .postgreSQL, at: url)
    let context = ServerBench().context(coordinator)
    let owner = try PostgreSQLConnection(PostgreSQLAddress(url), applicationName: "tests")
    try owner.execute(
      "ALTER TABLE ztask ADD CHECK (ztitle NOT LIKE 'patient%')")
    var texts: [String] = []
    func reject(_ body: () throws -> Void) {
      do {
        try body()
        Issue.record("The server has accepted the values.")
      } catch {
        texts.append(self.texts(error))
      }
      context.reset()
    }
    reject {
      let rows = Array(repeating: ["title": Self.value], count: 2)
      try context.execute(NSBatchInsertRequest(entityName: "Project", objects: rows))
    }
    reject {
      context.make("Task", ["title": Self.value])
      try context.save()
    }
    reject { _ = try owner.query("SELECT $1::text::integer", [.text(Self.value)]) }
    return texts
  }

  @Test("Errors of the server contain values of rows only if the URL asks for them")
  func values() throws {
    let hidden = try rejections(TestServer.shared.schemaURL())
    #expect(hidden.count == 3)
    for text in hidden { #expect(!text.contains(Self.value), "\(text)") }
    #expect(hidden.allSatisfy { $0.contains("error_values=show") })
    #expect(hidden[0].contains("z_project_unique_title"))
    let shown = try rejections(TestServer.shared.schemaURL("error_values=show"))
    #expect(shown.count == 3 && shown.allSatisfy { $0.contains(Self.value) }, "\(shown)")
  }
}
