// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import CoreDataPredicates
import Foundation

/// A property of an entity: the common part of attributes, relationships and fetched properties.
///
/// Editable until the model it belongs to is used by a coordinator; afterwards every setter traps.
///
/// Differs from Apple: what a sub-entity inherits is a read-only copy of the ancestor's property; edit the ancestor's.
/// `NSCoding` is not there yet.
open class NSPropertyDescription: NSObject, NSCopying, @unchecked Sendable {
  /// The entity that the property was given to, if any.
  internal var owningEntity: NSEntityDescription? {
    get { owningEntityReference?.entity }
    set { owningEntityReference = newValue?.reference }
  }
  private var owningEntityReference: EntityReference?

  /// The ancestor's property that this one is a copy of; nil for an entity's own property.
  internal weak var inheritedFrom: NSPropertyDescription?

  /// The property's name.
  open var name = "" {
    willSet {
      willEdit()
      precondition(
        newValue == name || owningEntity?.propertiesByName[newValue] == nil,
        "Entity '\(owningEntity?.name ?? "")' cannot have two properties named '\(newValue)'.")
    }
  }

  /// Whether the property may be without a value when its object is saved; true unless set.
  open var isOptional = true { willSet { willEdit() } }

  /// Whether the property is kept out of the store; false unless set.
  open var isTransient = false { willSet { willEdit() } }

  /// Whether the property is part of the system's index of contents.
  open var isIndexedBySpotlight = false { willSet { willEdit() } }

  /// A value mixed into the version hash, to tell versions apart that are equal otherwise.
  open var versionHashModifier: String? { willSet { willEdit() } }

  /// Anything the developer wants to keep with the property.
  open var userInfo: [AnyHashable: Any]? { willSet { willEdit() } }

  internal var declaredRenamingIdentifier: String? { willSet { willEdit("renamingIdentifier") } }
  internal var hasIndexFlag = false { willSet { willEdit("isIndexed") } }
  internal var hasExternalRecordFlag = false { willSet { willEdit("isStoredInExternalRecord") } }
  internal var validations: [ValidationDocument] = [] {
    willSet { willEdit("setValidationPredicates(_:withValidationWarnings:)") }
  }

  /// Makes an optional property without a name.
  public required override init() {
    super.init()
  }

  /// The entity that the property belongs to. Traps for a property that was not given to an entity.
  open var entity: NSEntityDescription {
    guard let owningEntity else {
      preconditionFailure("The property '\(name)' has no entity: add it to the properties of one first.")
    }
    return owningEntity
  }

  /// The name by which the property is known over all versions of the model; its own name unless set.
  open var renamingIdentifier: String? {
    get { declaredRenamingIdentifier ?? name }
    set { declaredRenamingIdentifier = newValue }
  }

  /// Whether the property was marked for an index, in the way of models made before fetch indexes.
  @available(*, deprecated, message: "Use NSEntityDescription.indexes instead")
  open var isIndexed: Bool {
    get { hasIndexFlag }
    set { hasIndexFlag = newValue }
  }

  /// Whether the property is written to an external record file; without effect.
  @available(*, deprecated, message: "Spotlight integration is deprecated")
  open var isStoredInExternalRecord: Bool {
    get { hasExternalRecordFlag }
    set { hasExternalRecordFlag = newValue }
  }

  /// A copy that belongs to no entity.
  open func copy(with zone: NSZone? = nil) -> Any {
    let copy = type(of: self).init()
    copy.adopt(self)
    return copy
  }

  /// Takes over everything but the owner from a property of the same class.
  internal func adopt(_ source: NSPropertyDescription) {
    name = source.name
    isOptional = source.isOptional
    isTransient = source.isTransient
    isIndexedBySpotlight = source.isIndexedBySpotlight
    versionHashModifier = source.versionHashModifier
    userInfo = source.userInfo
    declaredRenamingIdentifier = source.declaredRenamingIdentifier
    hasIndexFlag = source.hasIndexFlag
    hasExternalRecordFlag = source.hasExternalRecordFlag
    validations = source.validations
  }

  /// Called before every edit: traps where the property must not change, and drops what was derived from it.
  internal func willEdit(_ member: String = #function) {
    if let inheritedFrom {
      preconditionFailure(
        "'\(name)' of entity '\(owningEntity?.name ?? "?")' is inherited from "
          + "'\(inheritedFrom.owningEntity?.name ?? "?")': set '\(member)' there.")
    }
    owningEntity?.willEdit("\(name).\(member)")
  }

  /// Whether the content is equal, whatever the entity; overridden by each kind.
  internal func hasContent(of other: NSPropertyDescription) -> Bool {
    name == other.name && type(of: self) == type(of: other) && isOptional == other.isOptional
      && isTransient == other.isTransient && isIndexedBySpotlight == other.isIndexedBySpotlight
      && versionHashModifier == other.versionHashModifier && renamingIdentifier == other.renamingIdentifier
      && hasIndexFlag == other.hasIndexFlag && validations == other.validations
      && PlainValue.userInfo(userInfo) == PlainValue.userInfo(other.userInfo)
  }

  /// Equal when of the same kind and content, in entities of the same name.
  open override func isEqual(_ object: Any?) -> Bool {
    guard let other = object as? NSPropertyDescription else { return false }
    return self === other || (owningEntity?.name == other.owningEntity?.name && hasContent(of: other))
  }

  open override var hash: Int { name.hashValue }

  open override var description: String {
    let kind = isTransient ? "transient " : ""
    let place = owningEntity?.name.map { "\($0)." } ?? ""
    return "(\(kind)\(type(of: self)) \(place)\(name)\(isOptional ? ", optional" : ""))"
  }
}
