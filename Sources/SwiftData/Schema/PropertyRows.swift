// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

/// Returns the rows of `schemaMetadata` of a class, whatever its actor. Generated code calls this function.
///
/// - Parameter rows: a function of no parameters, which may belong to the main actor. It makes key paths, which are not
///   followed, and initial values.
public func _propertyRows<Rows>(_ rows: Rows) -> [Schema.PropertyMetadata] {
  // An actor changes where a function is called, and not its representation.
  unsafeBitCast(rows, to: (() -> [Schema.PropertyMetadata]).self)()
}
