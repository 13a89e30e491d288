// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

/// The text of accessors that stand for those which Objective-C makes for `@NSManaged` while a program runs.
///
/// Each property has a constant `ManagedProperty`, which knows where its value is.
package enum Accessors {
  /// The name of the constant for a property.
  package static func constant(for property: String) -> String { "managedProperty_\(property)" }

  /// The name of the constant for the methods of a relationship, which may come before the property.
  package static func membersConstant(for property: String) -> String { "managedMembers_\(property)" }

  /// The declaration of that constant.
  package static func membersDeclaration(for property: String) -> String {
    "private static let \(membersConstant(for: property)) = ManagedProperty<Any?>(\"\(property)\")"
  }

  /// The declaration of the constant for a property, a member of the class or an extension of it.
  ///
  /// - Parameter type: the type of the property.
  package static func declaration(for property: String, _ type: String) -> String {
    // A property may be an implicitly unwrapped optional, a type argument may not.
    let type = type.hasSuffix("!") ? type.dropLast() + "?" : type
    return "private static let \(constant(for: property)) = ManagedProperty<\(type)>(\"\(property)\")"
  }

  /// The accessors of a computed property, a line each.
  package static func lines(of property: String) -> [String] {
    let constant = "Self.\(constant(for: property))"
    return ["get { \(constant)[self] }", "set { \(constant)[self] = newValue }"]
  }

  /// The body of a computed property.
  package static func body(of property: String) -> String {
    "{ \(lines(of: property).joined(separator: " ")) }"
  }
}
