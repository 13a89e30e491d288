// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import Foundation

/// A property whose value is what a fetch request finds.
open class NSFetchedPropertyDescription: NSPropertyDescription, @unchecked Sendable {
  internal var request: StoredRequest? { willSet { willEdit("fetchRequest") } }

  /// The request whose result is the property's value; `$FETCH_SOURCE` stands for the object in its predicate. Changing the
  /// request that was read does not change the property. Traps for a request with a closure as predicate or order.
  open var fetchRequest: NSFetchRequest<any NSFetchRequestResult>? {
    get { request?.request(in: owningEntity?.owningModel) }
    set { request = newValue.map { StoredRequest(name: name, $0) } }
  }

  internal override func adopt(_ source: NSPropertyDescription) {
    super.adopt(source)
    request = (source as? NSFetchedPropertyDescription)?.request
  }

  internal override func hasContent(of other: NSPropertyDescription) -> Bool {
    guard let other = other as? NSFetchedPropertyDescription else { return false }
    return super.hasContent(of: other) && request?.document == other.request?.document
  }
}
