// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataSQLite
import Foundation

extension SQLiteConnection {
  /// Changes a database as another program does.
  package static func execute(_ sql: String, at url: URL) throws {
    let connection = try SQLiteConnection(url: url, mode: .readWrite)
    try connection.execute(sql)
    try connection.close()
  }
}
