// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import Foundation

/// A property whose value is the result of a fetch request.
open class NSFetchedPropertyDescription: NSPropertyDescription, @unchecked Sendable {
  var request: StoredRequest? { willSet { willEdit("fetchRequest") } }

  /// The request whose result is the property's value. In its predicate, `$FETCH_SOURCE` is the object. Changing the
  /// returned request does not change the property. Setting traps for a request with a block predicate or a comparator.
  open var fetchRequest: NSFetchRequest<any NSFetchRequestResult>? {
    get { request?.request(in: owningEntity?.owningModel) }
    set { request = newValue.map { StoredRequest(name: name, $0) } }
  }

  override func adopt(_ source: NSPropertyDescription) {
    super.adopt(source)
    request = (source as? NSFetchedPropertyDescription)?.request
  }

  override func hasContent(of other: NSPropertyDescription) -> Bool {
    guard let other = other as? NSFetchedPropertyDescription else { return false }
    return super.hasContent(of: other) && request?.document == other.request?.document
  }
}
