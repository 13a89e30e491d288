// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// A validation failure without a more specific code.
public var NSManagedObjectValidationError: Int { 1550 }

/// A uniqueness constraint is violated.
public var NSManagedObjectConstraintValidationError: Int { 1551 }

/// Several errors, which are under `NSDetailedErrorsKey`.
public var NSValidationMultipleErrorsError: Int { 1560 }

/// A property that is not optional has no value.
public var NSValidationMissingMandatoryPropertyError: Int { 1570 }

/// A to-many relationship has too few members.
public var NSValidationRelationshipLacksMinimumCountError: Int { 1580 }

/// A to-many relationship has too many members.
public var NSValidationRelationshipExceedsMaximumCountError: Int { 1590 }

/// A relationship with the delete rule deny has members.
public var NSValidationRelationshipDeniedDeleteError: Int { 1600 }

/// A number is greater than its maximum.
public var NSValidationNumberTooLargeError: Int { 1610 }

/// A number is less than its minimum.
public var NSValidationNumberTooSmallError: Int { 1620 }

/// A date is later than its maximum.
public var NSValidationDateTooLateError: Int { 1630 }

/// A date is earlier than its minimum.
public var NSValidationDateTooSoonError: Int { 1640 }

/// A date does not match its pattern.
public var NSValidationInvalidDateError: Int { 1650 }

/// A string is longer than its maximum length.
public var NSValidationStringTooLongError: Int { 1660 }

/// A string is shorter than its minimum length.
public var NSValidationStringTooShortError: Int { 1670 }

/// A string does not match its regular expression.
public var NSValidationStringPatternMatchingError: Int { 1680 }

/// A URI cannot be represented as a string.
public var NSValidationInvalidURIError: Int { 1690 }

/// A context could not be locked.
public var NSManagedObjectContextLockingError: Int { 132000 }

/// A coordinator could not be locked.
public var NSPersistentStoreCoordinatorLockingError: Int { 132010 }

/// The row of an object is missing in the store.
public var NSManagedObjectReferentialIntegrityError: Int { 133000 }

/// An object refers to an object in another store.
public var NSManagedObjectExternalRelationshipError: Int { 133010 }

/// The merge policy could not resolve all conflicts.
public var NSManagedObjectMergeError: Int { 133020 }

/// The merge policy could not resolve all violations of uniqueness constraints.
public var NSManagedObjectConstraintMergeError: Int { 133021 }

/// The type, format or version of the store is unknown.
public var NSPersistentStoreInvalidTypeError: Int { 134000 }

/// The store is not of the given type.
public var NSPersistentStoreTypeMismatchError: Int { 134010 }

/// The database cannot save, for example because a table is missing.
public var NSPersistentStoreIncompatibleSchemaError: Int { 134020 }

/// A save failed for a reason without a more specific code.
public var NSPersistentStoreSaveError: Int { 134030 }

/// One or more stores failed to save.
public var NSPersistentStoreIncompleteSaveError: Int { 134040 }

/// A save has unresolved merge conflicts.
public var NSPersistentStoreSaveConflictsError: Int { 134050 }

/// An error of Core Data without a more specific code.
public var NSCoreDataError: Int { 134060 }

/// An operation on a store failed.
public var NSPersistentStoreOperationError: Int { 134070 }

/// A store could not be opened.
public var NSPersistentStoreOpenError: Int { 134080 }

/// A store was in use for longer than `NSPersistentStoreTimeoutOption`.
public var NSPersistentStoreTimeoutError: Int { 134090 }

/// A store does not support the request.
public var NSPersistentStoreUnsupportedRequestTypeError: Int { 134091 }

/// The store's version hashes do not match the model.
public var NSPersistentStoreIncompatibleVersionHashError: Int { 134100 }

/// A migration failed for a reason without a more specific code.
public var NSMigrationError: Int { 134110 }

/// A migration violates a uniqueness constraint.
public var NSMigrationConstraintViolationError: Int { 134111 }

/// A migration was cancelled.
public var NSMigrationCancelledError: Int { 134120 }

/// The source model of a migration was not found.
public var NSMigrationMissingSourceModelError: Int { 134130 }

/// The mapping model of a migration was not found.
public var NSMigrationMissingMappingModelError: Int { 134140 }

/// A migration could not read the source store.
public var NSMigrationManagerSourceStoreError: Int { 134150 }

/// A migration could not write the destination store.
public var NSMigrationManagerDestinationStoreError: Int { 134160 }

/// A migration policy failed.
public var NSEntityMigrationPolicyError: Int { 134170 }

/// An error of SQLite, whose code is under `NSSQLiteErrorDomain` in the user info.
public var NSSQLiteError: Int { 134180 }

/// A mapping model could not be inferred.
public var NSInferredMappingModelError: Int { 134190 }

/// An external record could not be imported; never used here.
public var NSExternalRecordImportError: Int { 134200 }

/// A history token has expired.
public var NSPersistentHistoryTokenExpiredError: Int { 134301 }

/// A referenced model could not be resolved.
public var NSManagedObjectModelReferenceNotFoundError: Int { 134504 }

/// The store's metadata must be updated before a staged migration.
public var NSStagedMigrationFrameworkVersionMismatchError: Int { 134505 }

/// A staged migration would lead back to an earlier stage.
public var NSStagedMigrationBackwardMigrationError: Int { 134506 }

/// Key: the errors that an `NSValidationMultipleErrorsError` combines.
public let NSDetailedErrorsKey = "NSDetailedErrors"
/// Key: the object that failed validation.
public let NSValidationObjectErrorKey = "NSValidationErrorObject"
/// Key: the name of the property that failed validation.
public let NSValidationKeyErrorKey = "NSValidationErrorKey"
/// Key: the predicate that the value violates.
public let NSValidationPredicateErrorKey = "NSValidationErrorPredicate"
/// Key: the value that failed validation.
public let NSValidationValueErrorKey = "NSValidationErrorValue"
/// Key: the affected stores.
public let NSAffectedStoresErrorKey = "NSAffectedStoresErrorKey"
/// Key: the affected objects.
public let NSAffectedObjectsErrorKey = "NSAffectedObjectsErrorKey"
/// Key: the conflicts that a save met, as `NSMergeConflict`s and `NSConstraintConflict`s.
public let NSPersistentStoreSaveConflictsErrorKey = "conflictList"
/// The domain of SQLite's result codes, and the key of such a code in other errors.
public let NSSQLiteErrorDomain = "NSSQLiteErrorDomain"

/// Core Data's error codes with their Swift names.
///
/// A program that throws its own errors should compare `domain` and `code` of `error as NSError`. On Linux,
/// Foundation's casts to `CocoaError`, and a `catch` of one of its codes, match an `NSError` of any domain.
extension CocoaError.Code {
  /// A validation failure without a more specific code.
  public static var managedObjectValidation: Self { Self(rawValue: NSManagedObjectValidationError) }

  /// Several errors, which are under `NSDetailedErrorsKey`.
  public static var validationMultipleErrors: Self { Self(rawValue: NSValidationMultipleErrorsError) }

  /// A property that is not optional has no value.
  public static var validationMissingMandatoryProperty: Self {
    Self(rawValue: NSValidationMissingMandatoryPropertyError)
  }

  /// A to-many relationship has too few members.
  public static var validationRelationshipLacksMinimumCount: Self {
    Self(rawValue: NSValidationRelationshipLacksMinimumCountError)
  }

  /// A to-many relationship has too many members.
  public static var validationRelationshipExceedsMaximumCount: Self {
    Self(rawValue: NSValidationRelationshipExceedsMaximumCountError)
  }

  /// A relationship with the delete rule deny has members.
  public static var validationRelationshipDeniedDelete: Self {
    Self(rawValue: NSValidationRelationshipDeniedDeleteError)
  }

  /// A number is greater than its maximum.
  public static var validationNumberTooLarge: Self { Self(rawValue: NSValidationNumberTooLargeError) }

  /// A number is less than its minimum.
  public static var validationNumberTooSmall: Self { Self(rawValue: NSValidationNumberTooSmallError) }

  /// A date is later than its maximum.
  public static var validationDateTooLate: Self { Self(rawValue: NSValidationDateTooLateError) }

  /// A date is earlier than its minimum.
  public static var validationDateTooSoon: Self { Self(rawValue: NSValidationDateTooSoonError) }

  /// A date does not match its pattern.
  public static var validationInvalidDate: Self { Self(rawValue: NSValidationInvalidDateError) }

  /// A string is longer than its maximum length.
  public static var validationStringTooLong: Self { Self(rawValue: NSValidationStringTooLongError) }

  /// A string is shorter than its minimum length.
  public static var validationStringTooShort: Self { Self(rawValue: NSValidationStringTooShortError) }

  /// A string does not match its regular expression.
  public static var validationStringPatternMatching: Self { Self(rawValue: NSValidationStringPatternMatchingError) }

  /// A context could not be locked.
  public static var managedObjectContextLocking: Self { Self(rawValue: NSManagedObjectContextLockingError) }

  /// A coordinator could not be locked.
  public static var persistentStoreCoordinatorLocking: Self { Self(rawValue: NSPersistentStoreCoordinatorLockingError) }

  /// The row of an object is missing in the store.
  public static var managedObjectReferentialIntegrity: Self { Self(rawValue: NSManagedObjectReferentialIntegrityError) }

  /// An object refers to an object in another store.
  public static var managedObjectExternalRelationship: Self { Self(rawValue: NSManagedObjectExternalRelationshipError) }

  /// The merge policy could not resolve all conflicts.
  public static var managedObjectMerge: Self { Self(rawValue: NSManagedObjectMergeError) }

  /// The merge policy could not resolve all violations of uniqueness constraints.
  public static var managedObjectConstraintMerge: Self { Self(rawValue: NSManagedObjectConstraintMergeError) }

  /// The type, format or version of the store is unknown.
  public static var persistentStoreInvalidType: Self { Self(rawValue: NSPersistentStoreInvalidTypeError) }

  /// The store is not of the given type.
  public static var persistentStoreTypeMismatch: Self { Self(rawValue: NSPersistentStoreTypeMismatchError) }

  /// The database cannot save, for example because a table is missing.
  public static var persistentStoreIncompatibleSchema: Self { Self(rawValue: NSPersistentStoreIncompatibleSchemaError) }

  /// A save failed for a reason without a more specific code.
  public static var persistentStoreSave: Self { Self(rawValue: NSPersistentStoreSaveError) }

  /// One or more stores failed to save.
  public static var persistentStoreIncompleteSave: Self { Self(rawValue: NSPersistentStoreIncompleteSaveError) }

  /// A save has unresolved merge conflicts.
  public static var persistentStoreSaveConflicts: Self { Self(rawValue: NSPersistentStoreSaveConflictsError) }

  /// An error of Core Data without a more specific code.
  public static var coreData: Self { Self(rawValue: NSCoreDataError) }

  /// An operation on a store failed.
  public static var persistentStoreOperation: Self { Self(rawValue: NSPersistentStoreOperationError) }

  /// A store could not be opened.
  public static var persistentStoreOpen: Self { Self(rawValue: NSPersistentStoreOpenError) }

  /// A store was in use for longer than `NSPersistentStoreTimeoutOption`.
  public static var persistentStoreTimeout: Self { Self(rawValue: NSPersistentStoreTimeoutError) }

  /// A store does not support the request.
  public static var persistentStoreUnsupportedRequestType: Self {
    Self(rawValue: NSPersistentStoreUnsupportedRequestTypeError)
  }

  /// The store's version hashes do not match the model.
  public static var persistentStoreIncompatibleVersionHash: Self {
    Self(rawValue: NSPersistentStoreIncompatibleVersionHashError)
  }

  /// A migration failed for a reason without a more specific code.
  public static var migration: Self { Self(rawValue: NSMigrationError) }

  /// A migration was cancelled.
  public static var migrationCancelled: Self { Self(rawValue: NSMigrationCancelledError) }

  /// The source model of a migration was not found.
  public static var migrationMissingSourceModel: Self { Self(rawValue: NSMigrationMissingSourceModelError) }

  /// The mapping model of a migration was not found.
  public static var migrationMissingMappingModel: Self { Self(rawValue: NSMigrationMissingMappingModelError) }

  /// A migration could not read the source store.
  public static var migrationManagerSourceStore: Self { Self(rawValue: NSMigrationManagerSourceStoreError) }

  /// A migration could not write the destination store.
  public static var migrationManagerDestinationStore: Self { Self(rawValue: NSMigrationManagerDestinationStoreError) }

  /// A migration policy failed.
  public static var entityMigrationPolicy: Self { Self(rawValue: NSEntityMigrationPolicyError) }

  /// An error of SQLite, whose code is under `NSSQLiteErrorDomain` in the user info.
  public static var sqlite: Self { Self(rawValue: NSSQLiteError) }

  /// A mapping model could not be inferred.
  public static var inferredMappingModel: Self { Self(rawValue: NSInferredMappingModelError) }

  /// An external record could not be imported; never used here.
  public static var externalRecordImport: Self { Self(rawValue: NSExternalRecordImportError) }
}

extension CocoaError {
  /// A validation failure without a more specific code.
  public static var managedObjectValidation: Code { .managedObjectValidation }

  /// Several errors, which are under `NSDetailedErrorsKey`.
  public static var validationMultipleErrors: Code { .validationMultipleErrors }

  /// A property that is not optional has no value.
  public static var validationMissingMandatoryProperty: Code { .validationMissingMandatoryProperty }

  /// A to-many relationship has too few members.
  public static var validationRelationshipLacksMinimumCount: Code { .validationRelationshipLacksMinimumCount }

  /// A to-many relationship has too many members.
  public static var validationRelationshipExceedsMaximumCount: Code { .validationRelationshipExceedsMaximumCount }

  /// A relationship with the delete rule deny has members.
  public static var validationRelationshipDeniedDelete: Code { .validationRelationshipDeniedDelete }

  /// A number is greater than its maximum.
  public static var validationNumberTooLarge: Code { .validationNumberTooLarge }

  /// A number is less than its minimum.
  public static var validationNumberTooSmall: Code { .validationNumberTooSmall }

  /// A date is later than its maximum.
  public static var validationDateTooLate: Code { .validationDateTooLate }

  /// A date is earlier than its minimum.
  public static var validationDateTooSoon: Code { .validationDateTooSoon }

  /// A date does not match its pattern.
  public static var validationInvalidDate: Code { .validationInvalidDate }

  /// A string is longer than its maximum length.
  public static var validationStringTooLong: Code { .validationStringTooLong }

  /// A string is shorter than its minimum length.
  public static var validationStringTooShort: Code { .validationStringTooShort }

  /// A string does not match its regular expression.
  public static var validationStringPatternMatching: Code { .validationStringPatternMatching }

  /// A context could not be locked.
  public static var managedObjectContextLocking: Code { .managedObjectContextLocking }

  /// A coordinator could not be locked.
  public static var persistentStoreCoordinatorLocking: Code { .persistentStoreCoordinatorLocking }

  /// The row of an object is missing in the store.
  public static var managedObjectReferentialIntegrity: Code { .managedObjectReferentialIntegrity }

  /// An object refers to an object in another store.
  public static var managedObjectExternalRelationship: Code { .managedObjectExternalRelationship }

  /// The merge policy could not resolve all conflicts.
  public static var managedObjectMerge: Code { .managedObjectMerge }

  /// The merge policy could not resolve all violations of uniqueness constraints.
  public static var managedObjectConstraintMerge: Code { .managedObjectConstraintMerge }

  /// The type, format or version of the store is unknown.
  public static var persistentStoreInvalidType: Code { .persistentStoreInvalidType }

  /// The store is not of the given type.
  public static var persistentStoreTypeMismatch: Code { .persistentStoreTypeMismatch }

  /// The database cannot save, for example because a table is missing.
  public static var persistentStoreIncompatibleSchema: Code { .persistentStoreIncompatibleSchema }

  /// A save failed for a reason without a more specific code.
  public static var persistentStoreSave: Code { .persistentStoreSave }

  /// One or more stores failed to save.
  public static var persistentStoreIncompleteSave: Code { .persistentStoreIncompleteSave }

  /// A save has unresolved merge conflicts.
  public static var persistentStoreSaveConflicts: Code { .persistentStoreSaveConflicts }

  /// An error of Core Data without a more specific code.
  public static var coreData: Code { .coreData }

  /// An operation on a store failed.
  public static var persistentStoreOperation: Code { .persistentStoreOperation }

  /// A store could not be opened.
  public static var persistentStoreOpen: Code { .persistentStoreOpen }

  /// A store was in use for longer than `NSPersistentStoreTimeoutOption`.
  public static var persistentStoreTimeout: Code { .persistentStoreTimeout }

  /// A store does not support the request.
  public static var persistentStoreUnsupportedRequestType: Code { .persistentStoreUnsupportedRequestType }

  /// The store's version hashes do not match the model.
  public static var persistentStoreIncompatibleVersionHash: Code { .persistentStoreIncompatibleVersionHash }

  /// A migration failed for a reason without a more specific code.
  public static var migration: Code { .migration }

  /// A migration was cancelled.
  public static var migrationCancelled: Code { .migrationCancelled }

  /// The source model of a migration was not found.
  public static var migrationMissingSourceModel: Code { .migrationMissingSourceModel }

  /// The mapping model of a migration was not found.
  public static var migrationMissingMappingModel: Code { .migrationMissingMappingModel }

  /// A migration could not read the source store.
  public static var migrationManagerSourceStore: Code { .migrationManagerSourceStore }

  /// A migration could not write the destination store.
  public static var migrationManagerDestinationStore: Code { .migrationManagerDestinationStore }

  /// A migration policy failed.
  public static var entityMigrationPolicy: Code { .entityMigrationPolicy }

  /// An error of SQLite, whose code is under `NSSQLiteErrorDomain` in the user info.
  public static var sqlite: Code { .sqlite }

  /// A mapping model could not be inferred.
  public static var inferredMappingModel: Code { .inferredMappingModel }

  /// An external record could not be imported; never used here.
  public static var externalRecordImport: Code { .externalRecordImport }
}
