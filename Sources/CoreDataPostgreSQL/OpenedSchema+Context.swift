// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataPostgreSQLClient

extension OpenedSchema {
  var suitsContext: Bool { connection.showsContext }

  /// Throws, so that the connection is closed, if the server has too few for others.
  func readingNewest<Result>(_ body: () throws -> Result) throws -> Result {
    try reserve?.check(connection)
    try connection.showContext()
    return try body()
  }
}
