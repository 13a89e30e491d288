// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

/// The source of accessors that replace those which Objective-C generates for `@NSManaged` at run time.
///
/// Each property has a constant `ManagedProperty`, which locates its value.
package enum Accessors {
  /// Returns the name of the constant for a property.
  package static func constant(for property: String) -> String { "managedProperty_\(property)" }

  /// Returns the name of the constant for the methods of a relationship, which may be declared before the property.
  package static func membersConstant(for property: String) -> String { "managedMembers_\(property)" }

  /// Returns the declaration of that constant.
  package static func membersDeclaration(for property: String) -> String {
    "private static let \(membersConstant(for: property)) = ManagedProperty<Any?>(\"\(property)\")"
  }

  /// Returns the declaration of the constant for a property, as a member of the class or of an extension of it.
  ///
  /// - Parameter type: the type of the property.
  package static func declaration(for property: String, _ type: String) -> String {
    // A property can be an implicitly unwrapped optional, but a type argument cannot.
    let type = type.hasSuffix("!") ? type.dropLast() + "?" : type
    return "private static let \(constant(for: property)) = ManagedProperty<\(type)>(\"\(property)\")"
  }

  /// Returns the accessors of a computed property, one per line.
  package static func lines(of property: String) -> [String] {
    let constant = "Self.\(constant(for: property))"
    return ["get { \(constant)[self] }", "set { \(constant)[self] = newValue }"]
  }

  /// Returns the body of a computed property.
  package static func body(of property: String) -> String {
    "{ \(lines(of: property).joined(separator: " ")) }"
  }
}
