// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Core Data's error codes as Swift spells them, for `catch let error as CocoaError where error.code == .migration`.
extension CocoaError.Code {
  /// Generic validation failure.
  public static var managedObjectValidation: Self { Self(rawValue: NSManagedObjectValidationError) }

  /// Wraps several; NSDetailedErrorsKey holds the array.
  public static var validationMultipleErrors: Self { Self(rawValue: NSValidationMultipleErrorsError) }

  /// Non-optional property is nil.
  public static var validationMissingMandatoryProperty: Self {
    Self(rawValue: NSValidationMissingMandatoryPropertyError)
  }

  /// To-many has too few.
  public static var validationRelationshipLacksMinimumCount: Self {
    Self(rawValue: NSValidationRelationshipLacksMinimumCountError)
  }

  /// To-many has too many.
  public static var validationRelationshipExceedsMaximumCount: Self {
    Self(rawValue: NSValidationRelationshipExceedsMaximumCountError)
  }

  /// Delete rule deny with non-empty relationship.
  public static var validationRelationshipDeniedDelete: Self {
    Self(rawValue: NSValidationRelationshipDeniedDeleteError)
  }

  /// Number above maximum.
  public static var validationNumberTooLarge: Self { Self(rawValue: NSValidationNumberTooLargeError) }

  /// Number below minimum.
  public static var validationNumberTooSmall: Self { Self(rawValue: NSValidationNumberTooSmallError) }

  /// Date after maximum.
  public static var validationDateTooLate: Self { Self(rawValue: NSValidationDateTooLateError) }

  /// Date before minimum.
  public static var validationDateTooSoon: Self { Self(rawValue: NSValidationDateTooSoonError) }

  /// Date does not match pattern.
  public static var validationInvalidDate: Self { Self(rawValue: NSValidationInvalidDateError) }

  /// String above max length.
  public static var validationStringTooLong: Self { Self(rawValue: NSValidationStringTooLongError) }

  /// String below min length.
  public static var validationStringTooShort: Self { Self(rawValue: NSValidationStringTooShortError) }

  /// String does not match regex.
  public static var validationStringPatternMatching: Self { Self(rawValue: NSValidationStringPatternMatchingError) }

  /// Cannot lock context.
  public static var managedObjectContextLocking: Self { Self(rawValue: NSManagedObjectContextLockingError) }

  /// Cannot lock coordinator.
  public static var persistentStoreCoordinatorLocking: Self { Self(rawValue: NSPersistentStoreCoordinatorLockingError) }

  /// Fault fired for an object that is not in the (reachable) store.
  public static var managedObjectReferentialIntegrity: Self { Self(rawValue: NSManagedObjectReferentialIntegrityError) }

  /// Saved object points to an object in another store.
  public static var managedObjectExternalRelationship: Self { Self(rawValue: NSManagedObjectExternalRelationshipError) }

  /// Merge policy could not complete.
  public static var managedObjectMerge: Self { Self(rawValue: NSManagedObjectMergeError) }

  /// Merge policy failed because of several conflicting constraint violations.
  public static var managedObjectConstraintMerge: Self { Self(rawValue: NSManagedObjectConstraintMergeError) }

  /// Unknown store type/format/version.
  public static var persistentStoreInvalidType: Self { Self(rawValue: NSPersistentStoreInvalidTypeError) }

  /// Store is not of the stated type.
  public static var persistentStoreTypeMismatch: Self { Self(rawValue: NSPersistentStoreTypeMismatchError) }

  /// Database-level error on save (missing table, no permission).
  public static var persistentStoreIncompatibleSchema: Self { Self(rawValue: NSPersistentStoreIncompatibleSchemaError) }

  /// Unclassified save failure of something underneath.
  public static var persistentStoreSave: Self { Self(rawValue: NSPersistentStoreSaveError) }

  /// One or more stores failed.
  public static var persistentStoreIncompleteSave: Self { Self(rawValue: NSPersistentStoreIncompleteSaveError) }

  /// Unresolved merge conflict.
  public static var persistentStoreSaveConflicts: Self { Self(rawValue: NSPersistentStoreSaveConflictsError) }

  /// General Core Data error.
  public static var coreData: Self { Self(rawValue: NSCoreDataError) }

  /// Store operation failed.
  public static var persistentStoreOperation: Self { Self(rawValue: NSPersistentStoreOperationError) }

  /// Store could not be opened.
  public static var persistentStoreOpen: Self { Self(rawValue: NSPersistentStoreOpenError) }

  /// No connection within NSPersistentStoreTimeoutOption.
  public static var persistentStoreTimeout: Self { Self(rawValue: NSPersistentStoreTimeoutError) }

  /// Store subclass got a request it does not understand.
  public static var persistentStoreUnsupportedRequestType: Self {
    Self(rawValue: NSPersistentStoreUnsupportedRequestTypeError)
  }

  /// Entity version hashes do not match the model.
  public static var persistentStoreIncompatibleVersionHash: Self {
    Self(rawValue: NSPersistentStoreIncompatibleVersionHashError)
  }

  /// General migration failure.
  public static var migration: Self { Self(rawValue: NSMigrationError) }

  /// Cancelled by hand.
  public static var migrationCancelled: Self { Self(rawValue: NSMigrationCancelledError) }

  /// Source model not found.
  public static var migrationMissingSourceModel: Self { Self(rawValue: NSMigrationMissingSourceModelError) }

  /// Mapping model not found.
  public static var migrationMissingMappingModel: Self { Self(rawValue: NSMigrationMissingMappingModelError) }

  /// Trouble with source store.
  public static var migrationManagerSourceStore: Self { Self(rawValue: NSMigrationManagerSourceStoreError) }

  /// Trouble with destination store.
  public static var migrationManagerDestinationStore: Self { Self(rawValue: NSMigrationManagerDestinationStoreError) }

  /// Failure inside a migration policy.
  public static var entityMigrationPolicy: Self { Self(rawValue: NSEntityMigrationPolicyError) }

  /// General SQLite error (SQLite code under NSSQLiteErrorDomain in userInfo).
  public static var sqlite: Self { Self(rawValue: NSSQLiteError) }

  /// Mapping model could not be inferred.
  public static var inferredMappingModel: Self { Self(rawValue: NSInferredMappingModelError) }

  /// External record import (macOS Spotlight, legacy).
  public static var externalRecordImport: Self { Self(rawValue: NSExternalRecordImportError) }
}

extension CocoaError {
  /// Generic validation failure.
  public static var managedObjectValidation: Code { .managedObjectValidation }

  /// Wraps several; NSDetailedErrorsKey holds the array.
  public static var validationMultipleErrors: Code { .validationMultipleErrors }

  /// Non-optional property is nil.
  public static var validationMissingMandatoryProperty: Code { .validationMissingMandatoryProperty }

  /// To-many has too few.
  public static var validationRelationshipLacksMinimumCount: Code { .validationRelationshipLacksMinimumCount }

  /// To-many has too many.
  public static var validationRelationshipExceedsMaximumCount: Code { .validationRelationshipExceedsMaximumCount }

  /// Delete rule deny with non-empty relationship.
  public static var validationRelationshipDeniedDelete: Code { .validationRelationshipDeniedDelete }

  /// Number above maximum.
  public static var validationNumberTooLarge: Code { .validationNumberTooLarge }

  /// Number below minimum.
  public static var validationNumberTooSmall: Code { .validationNumberTooSmall }

  /// Date after maximum.
  public static var validationDateTooLate: Code { .validationDateTooLate }

  /// Date before minimum.
  public static var validationDateTooSoon: Code { .validationDateTooSoon }

  /// Date does not match pattern.
  public static var validationInvalidDate: Code { .validationInvalidDate }

  /// String above max length.
  public static var validationStringTooLong: Code { .validationStringTooLong }

  /// String below min length.
  public static var validationStringTooShort: Code { .validationStringTooShort }

  /// String does not match regex.
  public static var validationStringPatternMatching: Code { .validationStringPatternMatching }

  /// Cannot lock context.
  public static var managedObjectContextLocking: Code { .managedObjectContextLocking }

  /// Cannot lock coordinator.
  public static var persistentStoreCoordinatorLocking: Code { .persistentStoreCoordinatorLocking }

  /// Fault fired for an object that is not in the (reachable) store.
  public static var managedObjectReferentialIntegrity: Code { .managedObjectReferentialIntegrity }

  /// Saved object points to an object in another store.
  public static var managedObjectExternalRelationship: Code { .managedObjectExternalRelationship }

  /// Merge policy could not complete.
  public static var managedObjectMerge: Code { .managedObjectMerge }

  /// Merge policy failed because of several conflicting constraint violations.
  public static var managedObjectConstraintMerge: Code { .managedObjectConstraintMerge }

  /// Unknown store type/format/version.
  public static var persistentStoreInvalidType: Code { .persistentStoreInvalidType }

  /// Store is not of the stated type.
  public static var persistentStoreTypeMismatch: Code { .persistentStoreTypeMismatch }

  /// Database-level error on save (missing table, no permission).
  public static var persistentStoreIncompatibleSchema: Code { .persistentStoreIncompatibleSchema }

  /// Unclassified save failure of something underneath.
  public static var persistentStoreSave: Code { .persistentStoreSave }

  /// One or more stores failed.
  public static var persistentStoreIncompleteSave: Code { .persistentStoreIncompleteSave }

  /// Unresolved merge conflict.
  public static var persistentStoreSaveConflicts: Code { .persistentStoreSaveConflicts }

  /// General Core Data error.
  public static var coreData: Code { .coreData }

  /// Store operation failed.
  public static var persistentStoreOperation: Code { .persistentStoreOperation }

  /// Store could not be opened.
  public static var persistentStoreOpen: Code { .persistentStoreOpen }

  /// No connection within NSPersistentStoreTimeoutOption.
  public static var persistentStoreTimeout: Code { .persistentStoreTimeout }

  /// Store subclass got a request it does not understand.
  public static var persistentStoreUnsupportedRequestType: Code { .persistentStoreUnsupportedRequestType }

  /// Entity version hashes do not match the model.
  public static var persistentStoreIncompatibleVersionHash: Code { .persistentStoreIncompatibleVersionHash }

  /// General migration failure.
  public static var migration: Code { .migration }

  /// Cancelled by hand.
  public static var migrationCancelled: Code { .migrationCancelled }

  /// Source model not found.
  public static var migrationMissingSourceModel: Code { .migrationMissingSourceModel }

  /// Mapping model not found.
  public static var migrationMissingMappingModel: Code { .migrationMissingMappingModel }

  /// Trouble with source store.
  public static var migrationManagerSourceStore: Code { .migrationManagerSourceStore }

  /// Trouble with destination store.
  public static var migrationManagerDestinationStore: Code { .migrationManagerDestinationStore }

  /// Failure inside a migration policy.
  public static var entityMigrationPolicy: Code { .entityMigrationPolicy }

  /// General SQLite error (SQLite code under NSSQLiteErrorDomain in userInfo).
  public static var sqlite: Code { .sqlite }

  /// Mapping model could not be inferred.
  public static var inferredMappingModel: Code { .inferredMappingModel }

  /// External record import (macOS Spotlight, legacy).
  public static var externalRecordImport: Code { .externalRecordImport }
}
