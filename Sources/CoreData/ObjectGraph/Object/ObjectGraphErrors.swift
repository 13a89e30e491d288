// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataStoreFiles
import Foundation

/// Errors of contexts and their objects.
enum ObjectGraphErrors {
  /// 134091
  static func unsupported(_ request: NSPersistentStoreRequest, by method: String) -> NSError {
    .cocoa(
      NSPersistentStoreUnsupportedRequestTypeError, "The request cannot be executed.",
      reason: "\(type(of: request)) is not a request that \(method) executes.",
      suggestion: "Use fetch(_:) for fetch requests, and save() for changes.")
  }

  static func missingObject(_ id: NSManagedObjectID) -> NSError {
    .cocoa(
      NSManagedObjectReferentialIntegrityError, "The object is not in the store.",
      reason: "There is no row for \(id.uriRepresentation().absoluteString).",
      suggestion: "It has been deleted, or belongs to a store that is not open. Fetch the objects again.",
      [NSAffectedObjectsErrorKey: [id], ErrorDetail.entity: id.entity.name ?? ""])
  }

  /// 134070: objects were changed when their rows could not be read.
  static func unreadChanges(_ objects: [NSManagedObject]) -> NSError {
    let ids = objects.map { $0.identifier.uriRepresentation().absoluteString }.sorted()
    let names = ids.prefix(3).joined(separator: ", ") + (ids.count > 3 ? " and \(ids.count - 3) more" : "")
    return .cocoa(
      NSPersistentStoreOperationError, "The changes of an object could not be saved.",
      reason: "The store could not be read when values of \(names) were set. The object had no other values then, and "
        + "the new ones were discarded. Nothing was saved.",
      suggestion: "Set the values again, and save.", [NSAffectedObjectsErrorKey: objects])
  }

  static func otherStore(_ object: NSManagedObject, _ relationship: String, leadsTo other: NSManagedObjectID) -> NSError
  {
    let entity = object.entity.name ?? ""
    return .cocoa(
      NSManagedObjectExternalRelationshipError, "A relationship leads to an object in another store.",
      reason: "'\(relationship)' of '\(entity)' leads from \(object.objectID.uriRepresentation().absoluteString) to "
        + "\(other.uriRepresentation().absoluteString), which is in another store.",
      suggestion: "Assign both objects to one store with assign(_:to:), or use a fetched property.",
      ErrorDetail.userInfo(entity: entity, property: relationship).merging([NSAffectedObjectsErrorKey: [object]]) { $1 }
    )
  }

  static func abstractEntity(_ object: NSManagedObject) -> NSError {
    let entity = object.entity.name ?? ""
    return .cocoa(
      NSManagedObjectValidationError, "An object of an abstract entity cannot be saved.",
      reason: "'\(entity)' is abstract: only entities that inherit from it have objects.",
      suggestion: "Insert an object of one of its sub-entities.",
      ErrorDetail.userInfo(entity: entity).merging([NSAffectedObjectsErrorKey: [object]]) { $1 })
  }

  static func noStore(for entity: NSEntityDescription, coordinatorHasStores: Bool) -> NSError {
    let name = entity.name ?? ""
    return .cocoa(
      NSCoreDataError, "No store holds the entity.",
      reason: coordinatorHasStores
        ? "No store of the coordinator has '\(name)' in its configuration."
        : "The coordinator has no stores, so '\(name)' cannot be fetched or saved.",
      suggestion: coordinatorHasStores
        ? "Add '\(name)' to the configuration of a store." : "Add a store before fetching or saving.",
      [ErrorDetail.entity: name])
  }

  static func unknownEntity(_ name: String, known: [String]) -> NSError {
    .cocoa(
      NSCoreDataError, "The entity is not in the model.",
      reason: "The model has no entity '\(name)'; it has \(known.sorted().joined(separator: ", ")).",
      suggestion: "Check the entity's name and the coordinator's model.",
      [ErrorDetail.entity: name])
  }

  /// 134060: a new object has an entity of another model, with different properties.
  static func otherModel(_ entity: NSEntityDescription, than own: NSEntityDescription) -> NSError {
    let name = entity.name ?? ""
    let (theirs, ours) = (Set(entity.propertiesByName.keys), Set(own.propertiesByName.keys))
    let differences = [
      ("only there", theirs.subtracting(ours)), ("only in the coordinator's model", ours.subtracting(theirs)),
    ].filter { !$0.1.isEmpty }.map { "\($0.1.sorted().joined(separator: ", ")) \($0.0)" }
    let words = differences.isEmpty ? "with other types" : differences.joined(separator: "; ")
    return .cocoa(
      NSCoreDataError, "The entity belongs to another model.",
      reason:
        "A new object was made with an entity '\(name)' of another model than the coordinator's, whose properties "
        + "differ: \(words). Nothing was saved.",
      suggestion: "Make it with NSEntityDescription.insertNewObject(forEntityName:into:), or take the entity from the "
        + "coordinator's managedObjectModel.",
      [ErrorDetail.entity: name])
  }

  static func unknownKey(_ key: String, of entity: NSEntityDescription) -> NSError {
    let name = entity.name ?? ""
    return .cocoa(
      NSCoreDataError, "The entity has no such property.",
      reason: "The entity '\(name)' has no property '\(key)'. It has: "
        + "\(entity.propertiesByName.keys.sorted().joined(separator: ", ")).",
      suggestion: "Use the name of one of these properties.", ErrorDetail.userInfo(entity: name, property: key))
  }

  static func noValue(_ keyPath: String, of entity: NSEntityDescription, reason: String) -> NSError {
    .cocoa(
      NSCoreDataError, "The key path has no value.",
      reason: "'\(keyPath)' of '\(entity.name ?? "")': \(reason)",
      suggestion: "Use names of properties, with dots between relationships and what follows.",
      ErrorDetail.userInfo(entity: entity.name, property: keyPath))
  }

  /// - Parameter changed: the changed objects of the context.
  static func endlessSave(_ changed: [NSManagedObject]) -> NSError {
    // Only subclasses have a `willSave()` or a validation of their own; otherwise an observer changes objects.
    let own = changed.filter { type(of: $0) != NSManagedObject.self }
    let objects = own.isEmpty ? changed : own
    let names = Set(objects.compactMap(\.entity.name)).sorted().joined(separator: ", ")
    return .cocoa(
      NSCoreDataError, "The context cannot be saved.",
      reason: (own.isEmpty
        ? "An observer of the context" : "willSave() or the validation of \(names), or an observer of the context,")
        + " keeps changing objects: there are still new changes after a thousand rounds.",
      suggestion: "There, set a value only if it differs.", [NSAffectedObjectsErrorKey: objects])
  }

  static func recursiveSave() -> NSError {
    .cocoa(
      132_001, "The context is being saved already.",
      reason: "willSave(), the validation of an object, or an observer of the context has called save() during a save.",
      suggestion: "Only change objects there: the save that is running writes the changes.",
      ["message": "attempt to recursively call -save: on the context aborted"])
  }

  static func underivable(_ attribute: String, of object: NSManagedObject, reason: String) -> NSError {
    let entity = object.entity.name ?? ""
    return .cocoa(
      NSCoreDataError, "The value of a derived attribute cannot be computed.",
      reason: "'\(attribute)' of '\(entity)' has a derivation expression that fails: \(reason).",
      suggestion: "Correct the expression in the model. It can be a key path, an aggregate, or a function of one.",
      ErrorDetail.userInfo(entity: entity, property: attribute).merging([NSAffectedObjectsErrorKey: [object]]) { $1 })
  }

  static func badRequest(_ reason: String, entity: NSEntityDescription?, suggestion: String) -> NSError {
    .cocoa(
      NSCoreDataError, "The fetch request cannot be executed.", reason: reason, suggestion: suggestion,
      ErrorDetail.userInfo(entity: entity?.name))
  }
}

/// Validation errors: one for each rule, and one that combines several.
enum ValidationErrors {
  /// The invalid value, with its object and property.
  struct Subject {
    let object: NSManagedObject
    let entity: String
    let property: String
    let value: Any?

    init(_ property: NSPropertyDescription, _ value: Any?, _ object: NSManagedObject) {
      (self.object, self.value) = (object, value)
      (entity, self.property) = (
        object.entity.name ?? "", (property as? NSAttributeDescription)?.keyPath ?? property.name
      )
    }
  }

  /// 1570
  static func missingValue(_ subject: Subject) -> NSError {
    error(
      NSValidationMissingMandatoryPropertyError, subject, "\(subject.property) is a required value.",
      reason: "'\(subject.property)' of '\(subject.entity)' has no value, but is not optional.",
      suggestion: "Set a value, give the property a default value, or make it optional.")
  }

  /// 1580
  static func tooFew(_ subject: Subject, count: Int, minimum: Int) -> NSError {
    error(
      NSValidationRelationshipLacksMinimumCountError, subject, "Too few items in \(subject.property).",
      reason: "'\(subject.property)' of '\(subject.entity)' has \(count) objects, but needs at least \(minimum).",
      suggestion: "Add objects to the relationship.")
  }

  /// 1590
  static func tooMany(_ subject: Subject, count: Int, maximum: Int) -> NSError {
    error(
      NSValidationRelationshipExceedsMaximumCountError, subject, "Too many items in \(subject.property).",
      reason: "'\(subject.property)' of '\(subject.entity)' has \(count) objects, but may have at most \(maximum).",
      suggestion: "Remove objects from the relationship.")
  }

  /// 1600
  static func deniedDelete(_ subject: Subject, count: Int) -> NSError {
    error(
      NSValidationRelationshipDeniedDeleteError, subject,
      "Items cannot be deleted from \(subject.property).",
      reason:
        "An object of '\(subject.entity)' cannot be deleted while '\(subject.property)', whose deletion rule is deny, "
        + "has \(count) objects.",
      suggestion: "Delete those objects first, or remove them from the relationship.")
  }

  /// 1550: a value of the wrong class.
  static func wrongClass(_ subject: Subject, expected: String) -> NSError {
    let found = subject.value.map { String(describing: type(of: $0)) } ?? "nil"
    return error(
      NSManagedObjectValidationError, subject, "\(subject.property) is not valid.",
      reason:
        "'\(subject.property)' of '\(subject.entity)' takes values of class \(expected), but was given a value of "
        + "class \(found).",
      suggestion: "Set a value of class \(expected).")
  }

  /// 1550: a dictionary that does not fit the elements of a composite attribute.
  ///
  /// - Parameter unknown: the keys that are no elements; empty if the value of an element has the wrong class.
  static func wrongElements(_ subject: Subject, unknown: [String], known: Set<String>) -> NSError {
    let place = "'\(subject.property)' of '\(subject.entity)'"
    let elements = known.sorted().joined(separator: ", ")
    return error(
      NSManagedObjectValidationError, subject, "\(subject.property) is not valid.",
      reason: unknown.isEmpty
        ? "A value in the dictionary for \(place) does not have the class of its element. The elements are: \(elements)."
        : "\(place) has no element \(unknown.sorted().map { "'\($0)'" }.joined(separator: ", ")). It has: \(elements).",
      suggestion: "Set a dictionary with values for elements of the attribute.")
  }

  /// 1610 or 1620: an integer out of its type's range.
  static func outOfRange(_ subject: Subject, isTooLarge: Bool) -> NSError {
    error(
      isTooLarge ? NSValidationNumberTooLargeError : NSValidationNumberTooSmallError, subject,
      "\(subject.property) is too \(isTooLarge ? "large" : "small").",
      reason:
        "'\(subject.property)' of '\(subject.entity)' is \(subject.value.map { "\($0)" } ?? "nil"), which its type "
        + "cannot hold.",
      suggestion: "Set a number in the type's range, or give the attribute the type Integer 64.")
  }

  /// 1550: a rule of the model that cannot be evaluated.
  static func unevaluable(_ subject: Subject, rule: String, _ cause: any Error) -> NSError {
    error(
      NSManagedObjectValidationError, subject, "\(subject.property) cannot be validated.",
      reason: "The rule '\(rule)' of '\(subject.property)' of '\(subject.entity)' cannot be evaluated: \(cause)",
      suggestion: "Correct the rule in the model.")
  }

  /// 1550: a value that the program has asked for and that cannot be read.
  static func unreadable(_ subject: Subject, _ problem: RowProblem, url: URL?) -> NSError {
    error(
      NSManagedObjectValidationError, subject, "\(subject.property) could not be read.",
      reason: problem.description,
      suggestion: "Restore the file and refresh the object, or set the property; nil gives the old value up.",
      underlying: SQLiteStoreErrors.error(for: problem, url: url))
  }

  /// 1550: an object of an entity other than the relationship's destination.
  static func wrongEntity(_ subject: Subject, expected: String, found: String) -> NSError {
    error(
      NSManagedObjectValidationError, subject, "\(subject.property) is not valid.",
      reason: "'\(subject.property)' of '\(subject.entity)' takes objects of '\(expected)', but was given an object of "
        + "'\(found)'.",
      suggestion: "Set an object of '\(expected)'.")
  }

  /// 1550: an object of another context.
  static func otherContext(_ subject: Subject) -> NSError {
    error(
      NSManagedObjectValidationError, subject, "\(subject.property) is not valid.",
      reason: "'\(subject.property)' of '\(subject.entity)' cannot refer to an object of another context.",
      suggestion: "Use the same object in this context: object(with:) of its objectID.")
  }

  /// 1550, or the rule's own code: a value violates a rule of the model.
  ///
  /// - Parameters:
  ///   - rule: the rule in the format language, such as `length <= 8`.
  ///   - code: the rule's own code, such as 1660 for a string that is too long; nil for 1550.
  ///   - text: the developer's own message.
  static func unmet(
    _ predicate: NSPredicate?, rule: String, code: Int?, text: String?, _ subject: Subject
  ) -> NSError {
    let code = code ?? NSManagedObjectValidationError
    let value = subject.value.map { "\($0)" } ?? "nil"
    return error(
      code, subject, text ?? "\(subject.property) \(words(for: code)).",
      reason: "'\(subject.property)' of '\(subject.entity)' is '\(value.prefix(80))', which does not satisfy \(rule).",
      suggestion: "Set another value, or change the rule.", predicate: predicate)
  }

  /// Combines errors: nil for none, the error itself for one, and 1560 for several, which are flattened.
  static func combined(_ list: [NSError]) -> NSError? {
    guard list.count > 1 else { return list.first }
    let errors = list.flatMap { $0.userInfo[NSDetailedErrorsKey] as? [NSError] ?? [$0] }
    return NSError.cocoa(
      NSValidationMultipleErrorsError, "Multiple validation errors occurred.",
      reason: reason(of: errors) { $0.hasTemporaryID ? nil : "\($0.entity.name ?? "")/p\($0.identifier.key.number)" },
      suggestion: "See each error under NSDetailedErrorsKey.", [NSDetailedErrorsKey: errors])
  }

  /// Returns the error for objects created by a migration, naming their source rows.
  ///
  /// - Parameter source: returns the name of an object's source row, such as `Person/p4`.
  static func migrated(_ list: [NSError], source: (NSManagedObject) -> String?) -> NSError? {
    guard let error = combined(list) else { return nil }
    let errors = error.userInfo[NSDetailedErrorsKey] as? [NSError] ?? [error]
    var info = error.userInfo
    info[NSLocalizedFailureReasonErrorKey] = reason(of: errors, name: source)
    info[NSLocalizedRecoverySuggestionErrorKey] =
      "Change these rows before the migration, or have the mapping model give the property another value."
    return NSError(domain: error.domain, code: error.code, userInfo: info)
  }

  private static let (shownSentences, shownObjects) = (5, 5)

  /// Returns the distinct reasons of errors, with the number and the names of the affected objects.
  private static func reason(of errors: [NSError], name: (NSManagedObject) -> String?) -> String {
    let groups = Dictionary(grouping: errors.enumerated()) { $0.element.localizedFailureReason ?? "" }
      .sorted { ($0.value.first?.offset ?? 0) < ($1.value.first?.offset ?? 0) }
    let sentences = groups.prefix(shownSentences).map { sentence, members in
      let names = members.compactMap {
        ($0.element.userInfo[NSValidationObjectErrorKey] as? NSManagedObject).flatMap(name)
      }
      guard members.count > 1 || !names.isEmpty else { return sentence }
      let shown = names.prefix(shownObjects).joined(separator: ", ")
      let rest = names.isEmpty ? 0 : members.count - min(names.count, shownObjects)
      let list = shown + (rest > 0 ? " and \(rest) more" : "")
      let count = members.count > 1 ? "\(members.count) objects" : ""
      let words = [count, list].filter { !$0.isEmpty }.joined(separator: ": ")
      return "\(sentence.hasSuffix(".") ? String(sentence.dropLast()) : sentence) (\(words))."
    }
    let rest = groups.count - sentences.count
    return sentences.joined(separator: " ") + (rest > 0 ? " There are \(rest) more kinds of errors." : "")
  }

  private static func error(
    _ code: Int, _ subject: Subject, _ description: String, reason: String, suggestion: String,
    predicate: NSPredicate? = nil, underlying: (any Error)? = nil
  ) -> NSError {
    var info = ErrorDetail.userInfo(entity: subject.entity, property: subject.property)
    info[NSValidationObjectErrorKey] = subject.object
    info[NSValidationKeyErrorKey] = subject.property
    info[NSValidationValueErrorKey] = subject.value
    info[NSValidationPredicateErrorKey] = predicate
    return NSError.cocoa(code, description, reason: reason, suggestion: suggestion, underlying: underlying, info)
  }

  private static func words(for code: Int) -> String {
    switch code {
    case NSValidationNumberTooLargeError: "is too large"
    case NSValidationNumberTooSmallError: "is too small"
    case NSValidationDateTooLateError: "is too late"
    case NSValidationDateTooSoonError: "is too soon"
    case NSValidationInvalidDateError: "is not a valid date"
    case NSValidationStringTooLongError: "is too long"
    case NSValidationStringTooShortError: "is too short"
    case NSValidationStringPatternMatchingError: "does not match the pattern"
    default: "is not valid"
    }
  }
}
