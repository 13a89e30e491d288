// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataPostgreSQLClient

extension OpenedSchema {
  var suitsContext: Bool { connection.showsContext }

  func readingNewest<Result>(_ body: () throws -> Result) throws -> Result {
    try connection.showContext()
    return try body()
  }
}
