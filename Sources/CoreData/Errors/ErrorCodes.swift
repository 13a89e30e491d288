// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

/// Generic validation failure.
public var NSManagedObjectValidationError: Int { 1550 }

/// One or more uniqueness constraints violated.
public var NSManagedObjectConstraintValidationError: Int { 1551 }

/// Wraps several; NSDetailedErrorsKey holds the array.
public var NSValidationMultipleErrorsError: Int { 1560 }

/// Non-optional property is nil.
public var NSValidationMissingMandatoryPropertyError: Int { 1570 }

/// To-many has too few.
public var NSValidationRelationshipLacksMinimumCountError: Int { 1580 }

/// To-many has too many.
public var NSValidationRelationshipExceedsMaximumCountError: Int { 1590 }

/// Delete rule deny with non-empty relationship.
public var NSValidationRelationshipDeniedDeleteError: Int { 1600 }

/// Number above maximum.
public var NSValidationNumberTooLargeError: Int { 1610 }

/// Number below minimum.
public var NSValidationNumberTooSmallError: Int { 1620 }

/// Date after maximum.
public var NSValidationDateTooLateError: Int { 1630 }

/// Date before minimum.
public var NSValidationDateTooSoonError: Int { 1640 }

/// Date does not match pattern.
public var NSValidationInvalidDateError: Int { 1650 }

/// String above max length.
public var NSValidationStringTooLongError: Int { 1660 }

/// String below min length.
public var NSValidationStringTooShortError: Int { 1670 }

/// String does not match regex.
public var NSValidationStringPatternMatchingError: Int { 1680 }

/// URI not representable as string.
public var NSValidationInvalidURIError: Int { 1690 }

/// Cannot lock context.
public var NSManagedObjectContextLockingError: Int { 132000 }

/// Cannot lock coordinator.
public var NSPersistentStoreCoordinatorLockingError: Int { 132010 }

/// Fault fired for an object that is not in the (reachable) store.
public var NSManagedObjectReferentialIntegrityError: Int { 133000 }

/// Saved object points to an object in another store.
public var NSManagedObjectExternalRelationshipError: Int { 133010 }

/// Merge policy could not complete.
public var NSManagedObjectMergeError: Int { 133020 }

/// Merge policy failed because of several conflicting constraint violations.
public var NSManagedObjectConstraintMergeError: Int { 133021 }

/// Unknown store type/format/version.
public var NSPersistentStoreInvalidTypeError: Int { 134000 }

/// Store is not of the stated type.
public var NSPersistentStoreTypeMismatchError: Int { 134010 }

/// Database-level error on save (missing table, no permission).
public var NSPersistentStoreIncompatibleSchemaError: Int { 134020 }

/// Unclassified save failure of something underneath.
public var NSPersistentStoreSaveError: Int { 134030 }

/// One or more stores failed.
public var NSPersistentStoreIncompleteSaveError: Int { 134040 }

/// Unresolved merge conflict.
public var NSPersistentStoreSaveConflictsError: Int { 134050 }

/// General Core Data error.
public var NSCoreDataError: Int { 134060 }

/// Store operation failed.
public var NSPersistentStoreOperationError: Int { 134070 }

/// Store could not be opened.
public var NSPersistentStoreOpenError: Int { 134080 }

/// No connection within NSPersistentStoreTimeoutOption.
public var NSPersistentStoreTimeoutError: Int { 134090 }

/// Store subclass got a request it does not understand.
public var NSPersistentStoreUnsupportedRequestTypeError: Int { 134091 }

/// Entity version hashes do not match the model.
public var NSPersistentStoreIncompatibleVersionHashError: Int { 134100 }

/// General migration failure.
public var NSMigrationError: Int { 134110 }

/// Migration failed on a uniqueness constraint.
public var NSMigrationConstraintViolationError: Int { 134111 }

/// Cancelled by hand.
public var NSMigrationCancelledError: Int { 134120 }

/// Source model not found.
public var NSMigrationMissingSourceModelError: Int { 134130 }

/// Mapping model not found.
public var NSMigrationMissingMappingModelError: Int { 134140 }

/// Trouble with source store.
public var NSMigrationManagerSourceStoreError: Int { 134150 }

/// Trouble with destination store.
public var NSMigrationManagerDestinationStoreError: Int { 134160 }

/// Failure inside a migration policy.
public var NSEntityMigrationPolicyError: Int { 134170 }

/// General SQLite error (SQLite code under NSSQLiteErrorDomain in userInfo).
public var NSSQLiteError: Int { 134180 }

/// Mapping model could not be inferred.
public var NSInferredMappingModelError: Int { 134190 }

/// External record import (macOS Spotlight, legacy).
public var NSExternalRecordImportError: Int { 134200 }

/// History token not valid any more.
public var NSPersistentHistoryTokenExpiredError: Int { 134301 }

/// Referenced model not found or not instantiable.
public var NSManagedObjectModelReferenceNotFoundError: Int { 134504 }

/// Store metadata must be updated before staged migration can be used.
public var NSStagedMigrationFrameworkVersionMismatchError: Int { 134505 }

/// Staged migration would go backwards.
public var NSStagedMigrationBackwardMigrationError: Int { 134506 }
