// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The result of a request that `NSManagedObjectContext.execute(_:)` has passed to the stores: the superclass of the
/// results of asynchronous fetches, batch requests and history requests.
open class NSPersistentStoreResult: NSObject {}
