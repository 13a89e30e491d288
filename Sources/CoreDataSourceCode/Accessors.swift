// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

/// The text of accessors that stand for those which Objective-C makes for `@NSManaged` while a program runs.
///
/// Each property has a constant `ManagedProperty`, which knows where its value is.
package enum Accessors {
  /// The name of the constant for a property.
  package static func constant(for property: String) -> String { "managedProperty_\(property)" }

  /// The declaration of that constant, a member of the class or an extension of it.
  package static func declaration(for property: String) -> String {
    "private static let \(constant(for: property)) = ManagedProperty(\"\(property)\")"
  }

  /// The body of a computed property.
  package static func body(of property: String) -> String {
    let constant = "Self.\(constant(for: property))"
    return "{ get { \(constant)[self] } set { \(constant)[self] = newValue } }"
  }
}
