// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Testing

extension Trait where Self == ConditionTrait {
  /// Skips a test or a suite where there is no PostgreSQL server, and reports the reason.
  ///
  /// A test needs it even if its only arguments are stores in servers: without cases it would pass, and report nothing.
  package static var needsPostgreSQL: Self { .enabled(if: TestServer.isAvailable, "There is no PostgreSQL server.") }
}
