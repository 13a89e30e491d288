// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData

/// A list of books: imported in the background, shown by sections, edited and undone.
@main
struct Shelf {
  static func main() throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    // The system cleans up the temporary directory.
    defer { try? FileManager.default.removeItem(at: folder) }
    // A URL of a database server, or a file.
    let place = ProcessInfo.processInfo.environment["SHELF_STORE"].flatMap { URL(string: $0) }
    let store = try ShelfStore(at: place ?? folder.appendingPathComponent("Shelf.sqlite"))
    let context = store.container.viewContext
    let list = try BookList(context)
    list.show("an empty shelf")

    let books = (0..<500).map { number -> [String: Any] in
      [
        "isbn": "isbn-\(number)", "title": "Book \(String(format: "%03d", number))",
        "author": number % 2 == 0 ? "Ada" : "Grace", "genre": ["Novel", "Poetry", "Science"][number % 3],
      ]
    }
    print("imported \(try store.importBooks(books))")
    print("merged \(try store.mergeHistory())")
    list.show("after the import")

    print("imported \(try store.importBooks([["isbn": "isbn-0", "title": "Book 000, revised", "genre": "Poetry"]]))")
    print("merged \(try store.mergeHistory())")
    list.show("after a correction")

    let book = list.book(0, in: 0)
    book.isRead = true
    context.processPendingChanges()
    list.show("read")
    context.delete(list.book(1, in: 0))
    context.processPendingChanges()
    list.show("deleted")
    context.undo()
    context.processPendingChanges()
    list.show("undone")
    context.undo()
    context.redo()
    context.processPendingChanges()
    try context.save()
    list.show("saved")
    print("merged \(try store.mergeHistory())")
  }
}
