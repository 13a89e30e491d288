// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

/// Stores.
extension ErrorPage {
  static let stores: [ErrorPage] = [
    ErrorPage(
      134_000, "NSPersistentStoreInvalidTypeError", "the store type is unknown",
      cause: "The type of a store is not known, or not registered.",
      example: "A store of a program's own type is added before registerStoreClass(_:type:) was called.",
      cure: "Use SQLite, Binary, XML or InMemory, or register the class first."),
    ErrorPage(
      134_010, "NSPersistentStoreTypeMismatchError", "the file is of another type",
      cause: "The file holds a store of another type than the one asked for.",
      example: "An XML store is opened as SQLite.",
      cure: "Open it with its own type: coredata store info STORE says which."),
    ErrorPage(
      134_020, "NSPersistentStoreIncompatibleSchemaError", "the tables do not fit the model",
      cause:
        "The store has the model's version hashes, but lacks a table or a column, or has one that must not be there.",
      example: "Another program has changed the tables of the database.",
      cure:
        "Restore a backup, or migrate a copy with the model that wrote it. Core Data's tables must not be changed by hand."
    ),
    ErrorPage(
      134_030, "NSPersistentStoreSaveError", "the store cannot be saved",
      cause: "Writing has failed: a full disk, a read-only file or directory, or an error of the file system.",
      example: "The disk is full when a context saves.",
      cure:
        "The error's reason and underlying error say what failed. The store has what it had before; free space and save again."
    ),
    ErrorPage(
      134_040, "NSPersistentStoreIncompleteSaveError", "only some stores were saved",
      cause: "Of several stores that a save concerns, one failed after others were written.",
      example: "One of two stores is on a disk that is full.",
      cure: "Correct the cause and save again: the changes are still there."),
    ErrorPage(
      134_050, "NSPersistentStoreSaveConflictsError", "saving met conflicts",
      cause: "Rows have changed since they were read.", example: "Two processes change the same rows.",
      cure:
        "The conflicts are under NSPersistentStoreSaveConflictsErrorKey. Set a merge policy, or refresh and save again."
    ),
    ErrorPage(
      134_060, "NSCoreDataError", "something else is wrong with a model or an object",
      cause:
        "A general error: a model that contradicts itself, a version or a configuration that does not exist, a value that "
        + "cannot be archived.",
      example: "A store is added for a configuration that the model lacks.", cure: "The error's reason names it."),
    ErrorPage(
      134_070, "NSPersistentStoreOperationError", "an operation on a store failed",
      cause: "The store does not belong to the coordinator, has been removed, or cannot do what was asked.",
      example: "A store is migrated to a place where there is one.", cure: "The error's reason says what is in the way."
    ),
    ErrorPage(
      134_080, "NSPersistentStoreOpenError", "the store cannot be opened",
      cause: "The file is missing, is not a database, is damaged, or cannot be read.",
      example: "A download that was cut off is opened as a store.",
      cure: "coredata store info STORE says what is wrong with the file. Restore a backup if there is one."),
    ErrorPage(
      134_090, "NSPersistentStoreTimeoutError", "another process holds the store",
      cause: "Another connection had the store locked for longer than the timeout.",
      example: "An extension of the app writes for a long time.",
      cure: "Try again, raise the timeout, or find who holds it."),
    ErrorPage(
      134_091, "NSPersistentStoreUnsupportedRequestTypeError", "the store does not know the request",
      cause: "A store was given a request that its type cannot carry out.",
      example: "A batch update is sent to an XML store.", cure: "Use fetched objects, or an SQLite store."),
    ErrorPage(
      134_100, "NSPersistentStoreIncompatibleVersionHashError",
      "the model is not the one that the store was written with",
      cause: "The version hashes in the store differ from those of the model, and migration was not asked for.",
      example: "A new release has changed the model, and opens the store of the old one.",
      cure:
        "Ask for migration (NSMigratePersistentStoresAutomaticallyOption), and keep the old version in the model's bundle. "
        + "coredata store match STORE MODEL shows which version wrote it, and what differs."),
    ErrorPage(
      134_180, "NSSQLiteError", "SQLite reports an error",
      cause: "A statement failed in SQLite; the underlying error has its code.",
      example: "The database file is damaged (code 11).",
      cure: "coredata store info STORE; for a damaged file restore a backup, or export what can be read."),
    ErrorPage(
      134_200, "NSExternalRecordImportError", "external records cannot be read",
      cause: "Records of Core Spotlight or another index cannot be imported.", example: "Apple's systems only.",
      cure: "Rebuild the index."),
    ErrorPage(
      134_301, "NSPersistentHistoryTokenExpiredError", "the history since then is gone",
      cause: "A history token is older than the oldest transaction that the store still has, or of another store.",
      example: "An extension asks for changes after the app has deleted the history.",
      cure: "Read the whole store again, and keep a new token."),
  ]
}

/// Migration.
extension ErrorPage {
  static let migration: [ErrorPage] = [
    ErrorPage(
      134_110, "NSMigrationError", "a migration failed",
      cause: "A step of a migration failed. The store is as it was.",
      example: "A new required attribute has no default value, and there are rows.",
      cure: "The error's reason names the entity and the property. coredata migrate plan STORE MODEL shows it "
        + "beforehand."),
    ErrorPage(
      134_111, "NSMigrationConstraintViolationError", "rows would break a uniqueness constraint",
      cause: "The new version has a uniqueness constraint, and the store has rows with equal values.",
      example: "email becomes unique, and two customers share one address.",
      cure: "Remove the duplicates in an earlier release, or merge them by a migration policy."),
    ErrorPage(
      134_120, "NSMigrationCancelledError", "the migration was cancelled",
      cause: "cancelMigrationWithError(_:) was called, or the process was asked to stop. The store is as it was.",
      example: "Ctrl-C during coredata migrate run.", cure: "Start again."),
    ErrorPage(
      134_130, "NSMigrationMissingSourceModelError", "no version fits the store",
      cause: "None of the model's versions has the store's version hashes, and the store carries no model.",
      example: "A version that was shipped has been edited or removed.",
      cure:
        "Find the version in the repository's history and add it again; coredata store extract-model writes the one that a "
        + "store carries. coredata model lock keeps shipped versions from being edited."),
    ErrorPage(
      134_140, "NSMigrationMissingMappingModelError", "there is no mapping model",
      cause:
        "Inferring a mapping was not asked for, and no mapping model is for these two versions; or its hashes are stale.",
      example: "A version was edited after the mapping model had been made.",
      cure:
        "Ask for inferred mappings, or create the mapping model again: coredata mapping new FROM TO -o "
        + "X.xcmappingmodel."),
    ErrorPage(
      134_150, "NSMigrationManagerSourceStoreError", "the old store cannot be read",
      cause: "The migration manager cannot open or read the source store.", example: "The old file is damaged.",
      cure: "The underlying error says why. Restore a backup."),
    ErrorPage(
      134_160, "NSMigrationManagerDestinationStoreError", "the new store cannot be written",
      cause: "The migration manager cannot make or write the destination store.", example: "The disk is full.",
      cure: "Free space: a copy of the store is needed. The old store is as it was."),
    ErrorPage(
      134_170, "NSEntityMigrationPolicyError", "a migration policy failed",
      cause: "A migration policy threw an error, or its class was not found.",
      example: "The mapping model names a class that the program does not have.",
      cure: "The underlying error is the policy's own. Make sure that its module is part of the program."),
    ErrorPage(
      134_190, "NSInferredMappingModelError", "no mapping can be inferred",
      cause: "The two versions differ in a way that a lightweight migration cannot carry over.",
      example: "A String becomes a Date.",
      cure:
        "coredata mapping infer A B names the entity and the property. Write a mapping model, or change the model in "
        + "two versions."
    ),
    ErrorPage(
      134_504, "NSManagedObjectModelReferenceNotFoundError", "a model of a staged migration is not found",
      cause:
        "A model reference names a file or a version that does not exist, or whose checksum differs; or no stage has "
        + "the version of the store.",
      example: "A version was edited after its stage had been written, or has no stage.",
      cure:
        "Correct the name or the checksum; the error has it, and coredata model versions MODEL the checksums. Give each "
        + "version a stage: coredata explain VR406."),
    ErrorPage(
      134_505, "NSStagedMigrationFrameworkVersionMismatchError", "the store's metadata cannot be compared with stages",
      cause:
        "The metadata have no version hashes, or hashes of another hash version than 3, from which the checksums of stages "
        + "are made.",
      example: "A store that was last saved by a system before hash version 3.",
      cure: "Open the store once with the model that it was made with, change something and save."),
    ErrorPage(
      134_506, "NSStagedMigrationBackwardMigrationError", "the stages would lead backwards",
      cause: "The store is newer than the last stage, or the stages are out of order.",
      example: "An older release opens the store of a newer one.",
      cure: "Use the newer release, or put the stages in order: coredata explain VR406."),
  ]
}
