// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

/// The engine that SQL is written for.
package enum SQLDialect: Hashable, Sendable {
  case sqlite
  case postgreSQL
}
