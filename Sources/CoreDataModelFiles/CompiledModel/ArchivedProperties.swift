// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataPredicates
import Foundation

/// The bits of `_P`, which Core Data archives with every property beside the keys of the same meaning.
///
/// Worked out from 2,646 archived properties: the named bits follow the flags without exception, and
/// `hasNoModifier` is clear exactly where a version hash modifier is archived. The three bits below it are set in all
/// of them, none of which has user info or validation rules; they are taken to say that those keys are absent.
private enum PropertyBits {
  static let always: Int64 = 0x01
  static let isOptional: Int64 = 0x02
  static let isTransient: Int64 = 0x08
  static let hasNoInfoAndRules: Int64 = 0x70
  static let hasNoModifier: Int64 = 0x80
  static let isOrdered: Int64 = 0x400
}

/// Writes properties into keyed archives.
extension KeyedArchiveBuilder {
  /// The fields that properties of all kinds share.
  mutating func propertyFields(
    name: String, isOptional: Bool, isTransient: Bool, isOrdered: Bool = false, renamingIdentifier: String?,
    modifier: String?, userInfo: [String: PlainValue], validations: [ValidationDocument], of entity: ArchiveValue
  ) throws -> [String: ArchiveValue] {
    var fields: [String: ArchiveValue] = [
      "NSPropertyName": string(name), "NSRenamingIdentifier": string(renamingIdentifier ?? name), "NSEntity": entity,
    ]
    var bits = PropertyBits.always
    if isOptional {
      fields["NSIsOptional"] = .boolean(true)
      bits |= PropertyBits.isOptional
    }
    if isTransient {
      fields["NSIsTransient"] = .boolean(true)
      bits |= PropertyBits.isTransient
    }
    if isOrdered { bits |= PropertyBits.isOrdered }
    if let modifier { fields["NSVersionHashModifier"] = string(modifier) } else { bits |= PropertyBits.hasNoModifier }
    if userInfo.isEmpty, validations.isEmpty { bits |= PropertyBits.hasNoInfoAndRules }
    if !userInfo.isEmpty { fields["NSUserInfo"] = try plain(.dictionary(userInfo)) }
    if !validations.isEmpty {
      fields["NSValidationPredicates"] = collection(try validations.map { try predicate($0.predicate) })
      fields["NSValidationWarnings"] = collection(try validations.map { try plain($0.warning) })
    }
    fields["_P"] = .integer(bits)
    return fields
  }

  /// An attribute of any kind.
  mutating func attribute(
    _ attribute: AttributeDocument, isIndexed: Bool, of entity: ArchiveValue
  ) throws -> ArchiveValue {
    var fields = try propertyFields(
      name: attribute.name, isOptional: attribute.isOptional, isTransient: attribute.isTransient,
      renamingIdentifier: attribute.renamingIdentifier, modifier: attribute.versionHashModifier,
      userInfo: attribute.userInfo, validations: attribute.validations, of: entity)
    var flags: Int64 = 0
    if attribute.allowsExternalBinaryDataStorage { flags |= ArchivedAttributes.Flags.externalStorage }
    if attribute.preservesValueInHistoryOnDeletion { flags |= ArchivedAttributes.Flags.preserveInHistory }
    fields["NSAttributeType"] = .integer(Int64(attribute.kind.rawValue))
    fields["NSAttributeValueClassName"] = string(attribute.valueClassName ?? attribute.kind.valueClassName)
    fields["NSDefaultValue"] = try attribute.defaultValue.map { try plain($0) } ?? Self.null
    fields["NSValueTransformerName"] = string(attribute.valueTransformerName)
    fields["NSFlagsKey"] = .integer(flags)
    if isIndexed { fields["NSIsIndexed"] = .boolean(true) }
    if attribute.isIndexedBySpotlight { fields[ArchivedAttributes.spotlightKey] = .boolean(true) }
    if attribute.allowsCloudEncryption { fields[ArchivedAttributes.encryptionKey] = .boolean(true) }
    if let derivation = attribute.derivation {
      fields["NSDerivationExpression"] = try expression(derivation)
      return add("NSDerivedAttributeDescription", fields)
    }
    if attribute.kind == .composite {
      let elements = try attribute.elements.map { try self.attribute($0, isIndexed: false, of: Self.null) }
      fields["NSElements"] = collection(elements)
      return add("NSCompositeAttributeDescription", fields)
    }
    return add("NSAttributeDescription", fields)
  }
}
