// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataMistakes
import Foundation

/// A request to update attributes of all objects that match a predicate, directly in the stores.
///
/// The types of values are checked, and required attributes must have values; no other rule of the model is checked. To
/// update contexts, use `NSManagedObjectContext.mergeChanges(fromRemoteContextSave:into:)` with
/// `NSUpdatedObjectIDsKey`, or persistent history.
open class NSBatchUpdateRequest: NSPersistentStoreRequest, BatchRequest, @unchecked Sendable {
  private let givenEntity: NSEntityDescription?
  private let givenName: String

  private struct Content {
    var predicate: NSPredicate?
    var includesSubentities = true
    var propertiesToUpdate: [AnyHashable: Any]?
    var resultType = NSBatchUpdateRequestResultType.statusOnlyResultType
  }

  private let content = Guarded(Content())
  let interrupted = Guarded<InterruptedBatch?>(nil)

  private func set<Value>(_ property: WritableKeyPath<Content, Value>, _ value: Value) {
    content[dynamicMember: property] = value
    interrupted.value = nil
  }

  /// The name of the entity.
  open var entityName: String { givenEntity?.name ?? givenName }
  /// The entity. Traps if the request was created with a name, because the model is then known only when the request is
  /// executed.
  open var entity: NSEntityDescription {
    guard let givenEntity else {
      trap(
        "The batch update of '\(givenName)' was made with the name of its entity: use entityName, or make the request "
          + "with init(entity:).")
    }
    return givenEntity
  }
  /// The predicate that objects must satisfy; nil for all objects.
  open var predicate: NSPredicate? {
    get { content.predicate }
    set { set(\.predicate, newValue) }
  }
  /// Whether objects of sub-entities are updated too; true by default.
  open var includesSubentities: Bool {
    get { content.includesSubentities }
    set { set(\.includesSubentities, newValue) }
  }
  /// The new values, by the names or descriptions of attributes and to-one relationships. A value is a constant, `NSNull`,
  /// or an `NSExpression` that is evaluated with each object's old values.
  open var propertiesToUpdate: [AnyHashable: Any]? {
    get { content.propertiesToUpdate }
    set { set(\.propertiesToUpdate, newValue) }
  }
  /// The kind of result; by default only the status.
  open var resultType: NSBatchUpdateRequestResultType {
    get { content.resultType }
    set { set(\.resultType, newValue) }
  }

  open override var requestType: NSPersistentStoreRequestType { .batchUpdateRequestType }

  /// Creates a request for an entity.
  ///
  /// - Parameter entityName: the entity's name.
  public init(entityName: String) {
    givenEntity = nil
    givenName = entityName
    super.init()
  }

  /// Creates a request for an entity.
  ///
  /// - Parameter entity: the entity.
  public init(entity: NSEntityDescription) {
    givenEntity = entity
    givenName = ""
    super.init()
  }

  open override func copy(with zone: NSZone? = nil) -> Any {
    let copy =
      givenEntity.map { NSBatchUpdateRequest(entity: $0) } ?? NSBatchUpdateRequest(entityName: givenName)
    copy.affectedStores = affectedStores
    copy.content.value = content.value
    return copy
  }
}
