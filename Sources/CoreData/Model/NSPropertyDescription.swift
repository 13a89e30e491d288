// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataMistakes
import CoreDataModelFiles
import CoreDataPredicates
import Foundation

/// A property of an entity: the superclass of attributes, relationships and fetched properties.
///
/// Editable until a coordinator uses its model; afterwards every setter but that of `userInfo` traps.
///
/// Differs from Apple: a sub-entity inherits a read-only copy of the ancestor's property, so edit the ancestor's. Does
/// not conform to `NSCoding` yet.
open class NSPropertyDescription: NSObject, NSCopying, @unchecked Sendable {
  /// The entity that the property belongs to, if any.
  var owningEntity: NSEntityDescription? {
    get { owningEntityReference?.entity }
    set { owningEntityReference = newValue?.reference }
  }
  private var owningEntityReference: EntityReference?

  /// The ancestor's property that this one was copied from; nil for an entity's own property.
  weak var inheritedFrom: NSPropertyDescription?

  /// The property's name.
  open var name = "" {
    willSet {
      // Looks the name up first: that derives the dictionaries of the entity from the names before the edit.
      trap(
        unless: newValue == name || owningEntity?.propertiesByName[newValue] == nil,
        "Entity '\(owningEntity?.name ?? "")' cannot have two properties named '\(newValue)'.")
      willEdit()
    }
  }

  /// Whether the property may have no value when its object is saved; true by default.
  open var isOptional = true { willSet { willEdit() } }

  /// Whether the property is not stored; false by default.
  open var isTransient = false { willSet { willEdit() } }

  /// Whether Spotlight indexes the property; without effect here.
  open var isIndexedBySpotlight = false { willSet { willEdit() } }

  /// A string that affects the version hash, to distinguish otherwise equal versions.
  open var versionHashModifier: String? { willSet { willEdit() } }

  /// The version hash of the property, 32 bytes. Depends on its name, its type, and other members that affect how it is
  /// stored.
  open var versionHash: Data { computedVersionHash }

  /// The developer's own values; empty by default. They can be set while a coordinator uses the model, on any thread.
  open var userInfo: [AnyHashable: Any]? {
    get { (inheritedFrom ?? self).ownUserInfo.values }
    set {
      if inheritedFrom != nil || owningEntity?.isEditable ?? true { willEdit() }
      ownUserInfo.values = newValue
    }
  }
  private let ownUserInfo = DescriptionUserInfo()

  var declaredRenamingIdentifier: String? { willSet { willEdit("renamingIdentifier") } }
  var hasIndexFlag = false { willSet { willEdit("isIndexed") } }
  var hasExternalRecordFlag = false { willSet { willEdit("isStoredInExternalRecord") } }
  var validations: [ValidationDocument] = [] {
    willSet { willEdit("setValidationPredicates(_:withValidationWarnings:)") }
  }

  /// Creates an optional property without a name.
  public required override init() {
    super.init()
  }

  /// The entity that the property belongs to. Traps if there is none.
  open var entity: NSEntityDescription {
    guard let owningEntity else {
      trap("The property '\(name)' has no entity: add it to the properties of one first.")
    }
    return owningEntity
  }

  /// The name that identifies the property in all versions of the model; by default its own name.
  open var renamingIdentifier: String? {
    get { declaredRenamingIdentifier ?? name }
    set { declaredRenamingIdentifier = newValue }
  }

  /// Whether the property is indexed, in models made before fetch indexes.
  @available(*, deprecated, message: "Use NSEntityDescription.indexes instead")
  open var isIndexed: Bool {
    get { hasIndexFlag }
    set { hasIndexFlag = newValue }
  }

  /// Whether the property is written to an external record file; without effect here.
  @available(*, deprecated, message: "Spotlight integration is deprecated")
  open var isStoredInExternalRecord: Bool {
    get { hasExternalRecordFlag }
    set { hasExternalRecordFlag = newValue }
  }

  /// Returns a copy without an entity.
  open func copy(with zone: NSZone? = nil) -> Any {
    let copy = type(of: self).init()
    copy.adopt(self)
    return copy
  }

  /// Copies everything except the owner from a property of the same class.
  func adopt(_ source: NSPropertyDescription) {
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

  /// Called before every edit. Traps if the property is inherited or a coordinator uses the model, and discards derived
  /// state.
  func willEdit(_ member: String = #function) {
    if let inheritedFrom {
      trap(
        "'\(name)' of entity '\(owningEntity?.name ?? "?")' is inherited from "
          + "'\(inheritedFrom.owningEntity?.name ?? "?")': set '\(member)' there.")
    }
    owningEntity?.willEdit("\(name).\(member)")
  }

  /// Returns whether the content is equal, disregarding the entity. Subclasses also compare their own members.
  func hasContent(of other: NSPropertyDescription) -> Bool {
    name == other.name && type(of: self) == type(of: other) && isOptional == other.isOptional
      && isTransient == other.isTransient && isIndexedBySpotlight == other.isIndexedBySpotlight
      && versionHashModifier == other.versionHashModifier && renamingIdentifier == other.renamingIdentifier
      && hasIndexFlag == other.hasIndexFlag && validations == other.validations
      && PlainValue.userInfo(userInfo) == PlainValue.userInfo(other.userInfo)
  }

  /// Returns whether both have equal classes, contents and names of entities.
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

extension NSPropertyDescription {
  /// The rules for values.
  public var validationPredicates: [NSPredicate] { validations.map { NSPredicate.make($0.predicate) } }

  /// The reported error for a violation of each rule: an error code as a number, or the developer's own message.
  public var validationWarnings: [Any] { validations.map { $0.warning.foundationValue() } }

  /// Sets the rules for values, and a message for the violation of each. Traps for a block predicate.
  ///
  /// - Parameters:
  ///   - validationPredicates: the rules.
  ///   - validationWarnings: one message for each rule; nil for standard messages.
  public func setValidationPredicates(
    _ validationPredicates: [NSPredicate]?, withValidationWarnings validationWarnings: [String]?
  ) {
    let predicates = validationPredicates ?? []
    trap(
      unless: validationWarnings.map { $0.count == predicates.count } ?? true,
      "'\(name)' needs one validation warning for each of its \(predicates.count) predicates.")
    validations = predicates.enumerated().map { position, predicate in
      ValidationDocument(
        predicate: PredicateSyntax(predicate, in: "The property '\(name)'"),
        warning: validationWarnings.map { .string($0[position]) } ?? .null)
    }
  }
}

/// The keys of a property in expressions, as in `$FETCHED_PROPERTY.userInfo.search`.
extension NSPropertyDescription: KeyValueReading {
  func value(forKeyPathComponent key: String) throws -> Any? {
    switch key {
    case "name": name
    case "userInfo": userInfo
    case "entity": owningEntity
    default: throw EvaluationError.unknownKey(key, object: "The property '\(name)'")
    }
  }
}

extension PredicateSyntax {
  /// Creates the syntax tree of a predicate that becomes part of a model. Traps for a block predicate.
  ///
  /// - Parameter subject: the part of the model, for the message.
  init(_ predicate: NSPredicate, in subject: String) {
    do {
      try self.init(predicate)
    } catch {
      trap("\(subject) cannot be part of a model. \(error)")
    }
  }
}

/// A property whose value is the result of a fetch request.
open class NSFetchedPropertyDescription: NSPropertyDescription, @unchecked Sendable {
  /// The request whose result is the property's value.
  var request: (any StoredRequest)? { willSet { willEdit("fetchRequest") } }

  override func adopt(_ source: NSPropertyDescription) {
    super.adopt(source)
    request = (source as? NSFetchedPropertyDescription)?.request
  }

  override func hasContent(of other: NSPropertyDescription) -> Bool {
    guard let other = other as? NSFetchedPropertyDescription else { return false }
    return super.hasContent(of: other) && request?.document == other.request?.document
  }
}

/// A property computed by a fetch: a column of a dictionary result, or an element of an index over an expression.
open class NSExpressionDescription: NSPropertyDescription, @unchecked Sendable {
  var syntax: ExpressionSyntax? { willSet { willEdit("expression") } }

  /// The type of the expression's value.
  open var resultType = NSAttributeDescription.AttributeType.undefined { willSet { willEdit() } }

  /// The type of the expression's value, as an `NSAttributeType`.
  open var expressionResultType: NSAttributeType {
    get { resultType.rawValue }
    set { resultType = NSAttributeDescription.AttributeType(rawValue: newValue) }
  }

  /// The index element that the expression belongs to.
  weak var owningElement: NSFetchIndexElementDescription?

  override func willEdit(_ member: String = #function) {
    super.willEdit(member)
    owningElement?.owningIndex?.willEdit("\(name).\(member)")
  }

  override func adopt(_ source: NSPropertyDescription) {
    super.adopt(source)
    guard let source = source as? NSExpressionDescription else { return }
    syntax = source.syntax
    resultType = source.resultType
  }

  override func hasContent(of other: NSPropertyDescription) -> Bool {
    guard let other = other as? NSExpressionDescription else { return false }
    return super.hasContent(of: other) && syntax == other.syntax && resultType == other.resultType
  }
}

extension NSExpressionDescription {
  /// The expression to compute.
  public var expression: NSExpression? {
    get { syntax.map { NSExpression(syntax: $0) } }
    set { syntax = newValue?.syntax }
  }
}
