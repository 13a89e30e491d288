// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import Foundation

/// A to-do item. The model names this class, so fetches return objects of it.
final class TSPItem: NSManagedObject {
  var name: String {
    get { self["name"] as? String ?? "" }
    set { self["name"] = newValue }
  }

  var isDone: Bool {
    get { self["isDone"] as? Bool ?? false }
    set { self["isDone"] = newValue }
  }

  var createdAt: Date? {
    get { self["createdAt"] as? Date }
    set { self["createdAt"] = newValue }
  }

  var updatedAt: Date? {
    get { self["updatedAt"] as? Date }
    set { self["updatedAt"] = newValue }
  }

  var list: TSPList? {
    get { self["list"] as? TSPList }
    set { self["list"] = newValue }
  }
}

/// A list of items, added by the third version of the model.
final class TSPList: NSManagedObject {
  var name: String {
    get { self["name"] as? String ?? "" }
    set { self["name"] = newValue }
  }
}
