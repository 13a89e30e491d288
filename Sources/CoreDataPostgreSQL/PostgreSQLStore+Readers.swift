// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData

extension PostgreSQLStore {
  /// Limits the number of connections that read.
  func finishOpening() throws { connections.limit(to: StoreOptions(options).connectionLimit) }
}
