// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import CoreDataPredicates
import Foundation

/// An attribute: a property that holds a value.
open class NSAttributeDescription: NSPropertyDescription, @unchecked Sendable {
  /// The type of the values; undefined until set.
  open var type = AttributeType.undefined { willSet { willEdit() } }

  /// The value that new objects start with, and that fills existing rows when a migration adds the attribute.
  ///
  /// An object of a class of the app in a model that was read is its keyed archive, as `Data`; the model is written with
  /// the object as it came.
  open var defaultValue: Any? {
    willSet { willEdit() }
    didSet { archivedDefault = nil }
  }

  /// The default value of a model that was read, where it is an object of a class that is not known here.
  internal private(set) var archivedDefault: ArchivedInstance?

  /// The transformer of a transformable attribute; nil means secure keyed archiving.
  open var valueTransformerName: String? { willSet { willEdit() } }

  /// Whether large values may be kept in files beside the store.
  open var allowsExternalBinaryDataStorage = false { willSet { willEdit() } }

  /// Whether the value is kept in the persistent history when its object is deleted.
  open var preservesValueInHistoryOnDeletion = false { willSet { willEdit() } }

  /// Whether the value is encrypted by CloudKit; kept for models that say so, without effect here.
  open var allowsCloudEncryption = false { willSet { willEdit() } }

  internal var declaredValueClassName: String? { willSet { willEdit("attributeValueClassName") } }

  /// Whether generated classes use a scalar type; known to model sources only.
  internal var usesScalarValueType = false { willSet { willEdit() } }

  /// The composite attribute that this one is an element of.
  internal weak var owningComposite: NSCompositeAttributeDescription?

  /// The type of the values, in the older spelling.
  open var attributeType: NSAttributeType {
    get { type.rawValue }
    set { type = AttributeType(rawValue: newValue) }
  }

  /// The name of the class of the values; that of the type unless set.
  open var attributeValueClassName: String? {
    get { declaredValueClassName ?? attributeType.valueClassName }
    set { declaredValueClassName = newValue }
  }

  open override var entity: NSEntityDescription {
    owningComposite?.entity ?? super.entity
  }

  /// Gives the default value that a document has.
  internal func setDefault(_ value: PlainValue?) {
    if case .object(let object)? = value, let archived = object.value.base as? ArchivedInstance {
      defaultValue = archived.archive
      archivedDefault = archived
    } else {
      defaultValue = value?.foundationValue(kind: attributeType.kind)
    }
  }

  internal override func adopt(_ source: NSPropertyDescription) {
    super.adopt(source)
    guard let source = source as? NSAttributeDescription else { return }
    type = source.type
    defaultValue = source.defaultValue
    archivedDefault = source.archivedDefault
    valueTransformerName = source.valueTransformerName
    allowsExternalBinaryDataStorage = source.allowsExternalBinaryDataStorage
    preservesValueInHistoryOnDeletion = source.preservesValueInHistoryOnDeletion
    allowsCloudEncryption = source.allowsCloudEncryption
    declaredValueClassName = source.declaredValueClassName
    usesScalarValueType = source.usesScalarValueType
  }

  internal override func willEdit(_ member: String = #function) {
    super.willEdit(member)
    owningComposite?.willEdit("\(name).\(member)")
  }

  internal override func hasContent(of other: NSPropertyDescription) -> Bool {
    guard let other = other as? NSAttributeDescription else { return false }
    return super.hasContent(of: other) && document == other.document
  }
}
