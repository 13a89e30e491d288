// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation
import PostgreSQLTestServer
import Testing

@Suite("The PostgreSQL server of the tests")
struct ServerTests {
  private static let isContinuousIntegration = ProcessInfo.processInfo.environment["CI"] == "true"

  @Test(
    "Continuous integration has a PostgreSQL server, so that the tests which need one run",
    .enabled(if: isContinuousIntegration, "This is not continuous integration: CI is not \"true\"."))
  func isAvailable() {
    #expect(
      TestServer.isAvailable,
      "Install a PostgreSQL server (Scripts/postgresql.sh install), or name its directory in COREDATA_POSTGRESQL_BIN.")
  }
}
