// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Key: the errors that an `NSValidationMultipleErrorsError` is made of.
public let NSDetailedErrorsKey = "NSDetailedErrors"
/// Key: the object that failed validation.
public let NSValidationObjectErrorKey = "NSValidationErrorObject"
/// Key: the name of the property that failed validation.
public let NSValidationKeyErrorKey = "NSValidationErrorKey"
/// Key: the predicate that was not met.
public let NSValidationPredicateErrorKey = "NSValidationErrorPredicate"
/// Key: the value that failed validation.
public let NSValidationValueErrorKey = "NSValidationErrorValue"
/// Key: the stores that the error is about.
public let NSAffectedStoresErrorKey = "NSAffectedStoresErrorKey"
/// Key: the objects that the error is about.
public let NSAffectedObjectsErrorKey = "NSAffectedObjectsErrorKey"
/// Key: the merge conflicts of an `NSPersistentStoreSaveConflictsError`.
public let NSPersistentStoreSaveConflictsErrorKey = "NSPersistentStoreSaveConflictsErrorKey"
/// The domain of SQLite's result codes, and the key under which errors carry one.
public let NSSQLiteErrorDomain = "NSSQLiteErrorDomain"
