// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import Foundation

/// A property whose value is what a fetch request finds.
open class NSFetchedPropertyDescription: NSPropertyDescription, @unchecked Sendable {
  internal var request: FetchRequestDocument? { willSet { willEdit("fetchRequest") } }

  internal override func adopt(_ source: NSPropertyDescription) {
    super.adopt(source)
    request = (source as? NSFetchedPropertyDescription)?.request
  }

  internal override func hasContent(of other: NSPropertyDescription) -> Bool {
    guard let other = other as? NSFetchedPropertyDescription else { return false }
    return super.hasContent(of: other) && request == other.request
  }
}
