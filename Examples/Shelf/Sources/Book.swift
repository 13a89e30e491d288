// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData

/// A book on the shelf.
final class Book: NSManagedObject {
  var title: String {
    get { value(forKey: "title") as? String ?? "" }
    set { setValue(newValue, forKey: "title") }
  }

  var author: String? {
    get { value(forKey: "author") as? String }
    set { setValue(newValue, forKey: "author") }
  }

  var isRead: Bool {
    get { value(forKey: "isRead") as? Bool ?? false }
    set { setValue(newValue, forKey: "isRead") }
  }

  /// All books by genre, then by title.
  static func request() -> NSFetchRequest<Book> {
    let request = NSFetchRequest<Book>(entityName: "Book")
    request.sortDescriptors = [
      NSSortDescriptor(key: "genre", ascending: true), NSSortDescriptor(key: "title", ascending: true),
    ]
    return request
  }
}
