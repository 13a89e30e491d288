// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataTestSupport
import Foundation
import Synchronization
import Testing

@testable import SwiftData

@Suite("Notifications of changes by others")
struct RemoteChangeTests {
  private let directory: TemporaryDirectory
  private var url: URL { directory.file("Library.store") }

  init() throws {
    directory = try TemporaryDirectory()
    try Library.make(at: url, books: 1)
  }

  private static func open(_ url: URL) throws -> ModelContainer {
    try ModelContainer(for: Schema(versionedSchema: LibraryV1.self), configurations: ModelConfiguration(url: url))
  }

  private static func add(_ title: String, _ container: ModelContainer) throws {
    let context = ModelContext(container)
    context.insert(LibraryV1.Book(title: title, author: "A"))
    try context.save()
  }

  /// The notifications about a container.
  private final class Notices: Sendable {
    private let info = Mutex<[[String: String]]>([])
    private let arrived = DispatchSemaphore(value: 0)
    private nonisolated(unsafe) let token: any NSObjectProtocol
    var all: [[String: String]] { info.withLock { $0 } }

    init(_ name: Notification.Name, _ object: AnyObject) {
      final class Box: Sendable {
        let notices = Mutex<(@Sendable ([AnyHashable: Any]) -> Void)?>(nil)
      }
      let box = Box()
      token = NotificationCenter.default.addObserver(forName: name, object: object, queue: nil) { note in
        box.notices.withLock { $0 }?(note.userInfo ?? [:])
      }
      box.notices.withLock { $0 = { [weak self] in self?.add($0) } }
    }

    deinit { NotificationCenter.default.removeObserver(token) }

    private func add(_ user: [AnyHashable: Any]) {
      info.withLock { $0.append(Dictionary(uniqueKeysWithValues: user.map { ("\($0)", "\($1)") })) }
      arrived.signal()
    }

    /// Waits for the next notification; false if none comes within a minute.
    func wait() -> Bool { arrived.wait(timeout: .now() + 60) == .success }
  }

  @Test("A save of another container is posted to each of the others, and to none of its own")
  func containers() throws {
    let (first, second) = (try Self.open(url), try Self.open(url))
    let notices = (Notices(ModelContainer.remoteChange, first), Notices(ModelContainer.remoteChange, second))
    // Own saves post this one too, in the same queue.
    let changes = Notices(.NSPersistentStoreRemoteChange, first.coordinator)
    try Self.add("own", first)
    #expect(changes.wait() && notices.1.wait())
    #expect(notices.0.all.isEmpty)
    try Self.add("other", second)
    #expect(notices.0.wait())
    let info = try #require(notices.0.all.first)
    #expect(Set(info.keys) == [NSPersistentStoreURLKey, NSStoreUUIDKey])
    #expect(info[NSPersistentStoreURLKey]?.hasSuffix("Library.store") == true)
  }

  @Test("A save of another process is posted")
  func processes() async throws {
    let container = try Self.open(url)
    let notices = Notices(ModelContainer.remoteChange, container)
    let path = url.path
    await #expect(processExitsWith: .success) { [path = path as String] in
      try Self.add("other", Self.open(URL(fileURLWithPath: path)))
    }
    #expect(notices.wait())
    #expect(try ModelContext(container).fetchCount(FetchDescriptor<LibraryV1.Book>()) == 2)
  }
}
