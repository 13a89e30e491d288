// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

/// A declaration that a schema cannot contain.
struct SchemaIssue: Error, CustomStringConvertible {
  var entity: String
  var property: String
  var reason: String
  /// What else the schema cannot contain.
  var others: [SchemaIssue] = []

  init(_ entity: String, _ property: String, _ reason: String) {
    (self.entity, self.property, self.reason) = (entity, property, reason)
  }

  var description: String {
    let own = "\(property.isEmpty ? entity : "\(entity).\(property)") \(reason)"
    return ([own] + others.map(\.description)).joined(separator: " ")
  }
}
