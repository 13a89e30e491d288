// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

/// The explanations of the defects reported by `coredata store verify`, as printed by `coredata explain KIND`.
extension StoreDefect.Kind {
  /// The explanation of the kind.
  package var page: FindingPage {
    switch self {
    case .foreignLog, .missingLog, .uncertainLog: logPage
    case .pages, .index, .missingIndex, .unknownContent, .layout, .metadata: filePage
    case .privilege, .trigger: serverPage
    case .greatestKey, .entityNumber, .history: keyPage
    case .type, .requiredValue, .validation, .uniqueness: valuePage
    case .danglingKey, .wrongEntity, .entityKey, .joinRow, .orderKey, .count: relationshipPage
    case .inverse, .oneSidedInverse: inversePage
    case .missingFile, .orphanedFile: valueFilePage
    }
  }

  /// Creates the kind with a name.
  package init?(text: String) {
    guard let kind = Self.allCases.first(where: { $0.rawValue == text.lowercased() }) else { return nil }
    self = kind
  }
}

private let noGuess = "coredata store verify STORE --repair does that after a backup."

extension StoreDefect.Kind {
  private var logPage: FindingPage {
    switch self {
    case .foreignLog:
      FindingPage(
        title: "the write-ahead log is another database's",
        what:
          "SQLite takes any file NAME-wal for the log of the database NAME. This one has pages of another size, ends "
          + "before the last change of the database, is of a store with another UUID, or makes sound pages contradict "
          + "each other.",
        why:
          "Reading mixes pages of two databases, and the first program that opens the store to write makes that "
          + "permanent.",
        example:
          "A Data.sqlite from a backup is copied over the store of an app, whose Data.sqlite-wal stays where it was.",
        cure:
          "Open the store with no program. Move the -wal and the -shm to another place, and keep them. Look for the "
          + "log that belongs to the database: beside the original, in the backup, in the app's container. Then verify "
          + "again.")
    case .missingLog:
      FindingPage(
        title: "the write-ahead log is probably missing",
        what:
          "The store uses a write-ahead log, none is beside it, and its files show that rows are missing: all rows are "
          + "gone, or most files of large values belong to no row, or the index of the log (-shm) is there without it.",
        why:
          "The last transactions of a store are only in its log until they are checkpointed: seconds of work, or all "
          + "of it. A copy of the main file alone lacks them.",
        example:
          "Old.sqlite was copied out of an app that was running, without Old.sqlite-wal: 500 books became 0 rows, and "
          + "10 pictures in .Old_SUPPORT belong to none.",
        cure:
          "Look for NAME-wal beside the original, in the backup or in the container of the app, and copy it beside the "
          + "store before a program opens the store. Until then do not repair, migrate or save, since the log would "
          + "not fit any more, and do not remove the files in the _SUPPORT directory. If the log is gone for good, "
          + "coredata store verify --repair --without-log repairs what is left.")
    default:
      FindingPage(
        title: "the write-ahead log may be missing",
        what:
          "The store uses a write-ahead log and none is beside it. All its rows are gone, or the index of the log "
          + "(-shm) is there without it.",
        why:
          "Deleting all objects leaves a store like that too. But if objects are expected, they are in a log that was "
          + "not copied.",
        example: "The rows of Order had keys up to 500, by Z_MAX in Z_PRIMARYKEY, and the table is empty.",
        cure:
          "If the store should have objects, look for NAME-wal as coredata explain missing-log says. Otherwise do "
          + "nothing.")
    }
  }

  private var filePage: FindingPage {
    switch self {
    case .pages:
      FindingPage(
        title: "pages of the database are damaged",
        what: "SQLite's own check (PRAGMA integrity_check) finds pages that contradict each other, or cannot be read.",
        why:
          "Rows may be missing, duplicated or wrong. Everything else that is found may only follow from it, so rows "
          + "are not checked.",
        example:
          "“database disk image is malformed”, after a disk error, or after the file was copied while it was written.",
        cure:
          "Work with a copy of the store, its -wal and its _SUPPORT directory. Restore a backup. If there is none, "
          + "SQLite's program saves what can be read: sqlite3 Data.sqlite .recover > rows.sql. A store is not repaired "
          + "or migrated with damaged pages.")
    case .index:
      FindingPage(
        title: "an index does not agree with its table",
        what: "The index has entries for rows that do not exist, or lacks some.",
        why: "Queries that use it miss rows, or find the wrong ones; the rows themselves are right.",
        example: "“row 7 missing from index ZORDER_ZNUMBER_INDEX”.",
        cure: "The index is rebuilt from its table. " + noGuess)
    case .missingIndex:
      FindingPage(
        title: "an index that Core Data creates for the model is missing",
        what: "The model has a fetch index, a uniqueness constraint or a relationship whose index the database lacks.",
        why: "Fetches are slow, and without the index of a uniqueness constraint SQLite accepts equal values.",
        example: "A store that another program has written, or from which an index was dropped.",
        cure: "The index is created. " + noGuess)
    case .unknownContent:
      FindingPage(
        title: "something in the file belongs to no entity of the model",
        what: "A table, a column or a line of Z_PRIMARYKEY is of no entity or property.",
        why: "Core Data ignores it. A migration in place does not carry it over.",
        example: "A table ZNOTES with 12 rows that another program has added.",
        cure: "Nothing needs to be done. If the content matters, save it elsewhere before a migration.")
    case .layout:
      FindingPage(
        title: "the tables are not those of the model",
        what: "A table or a column of an entity is missing, or a column is declared with another type.",
        why:
          "Objects cannot be read or saved. Either the model is not the one that wrote the store, or another program "
          + "changed the tables.",
        example: "The table ZORDER is missing.",
        cure:
          "Name the model that wrote the store: coredata store verify STORE MODEL. If it is the right one, restore a "
          + "backup.")
    default:
      FindingPage(
        title: "the metadata, or the model in the store, are missing or contradict the store",
        what:
          "Z_METADATA is empty, has several rows or an unusable UUID, or the model in Z_MODELCACHE cannot be read or "
          + "has other hashes.",
        why:
          "The version of the store is found by them, and its identity for persistent history and object identifiers.",
        example: "Z_METADATA.Z_PLIST is empty: the store has no hashes of its own.",
        cure:
          "Empty metadata are made from the model that the store carries, and a model that cannot be read from MODEL. "
          + noGuess)
    }
  }

  private var serverPage: FindingPage {
    switch self {
    case .privilege:
      FindingPage(
        title: "the role of the connection lacks a privilege in the server",
        what:
          "A program needs SELECT, INSERT, UPDATE and DELETE on the tables of the store and USAGE on their sequences; "
          + "one that only reads needs SELECT. The role of the URL lacks some of them.",
        why: "The store is not opened, or saves fail.",
        example: "A table that a migration has added, on which nothing was granted to the role of the app.",
        cure:
          "Have the owner of the tables execute the GRANT. ALTER DEFAULT PRIVILEGES does that for later tables. "
          + "Nothing is granted by --repair.")
    default:
      FindingPage(
        title: "a trigger or a rule of somebody else runs when rows are written",
        what: "The table of an entity has a trigger or a rule that the framework did not create.",
        why:
          "One that runs before or instead of writing can change values, or discard rows. The framework notices "
          + "discarded rows, and the save fails; changed values are not noticed.",
        example: "An audit trigger AFTER UPDATE, which is harmless, or a BEFORE INSERT that returns NULL.",
        cure:
          "Nothing needs to be done if it leaves z_pk, z_ent, z_opt and the values of objects as they are. Otherwise "
          + "drop it.")
    }
  }

  private var keyPage: FindingPage {
    switch self {
    case .greatestKey:
      FindingPage(
        title: "the greatest key of an entity is too small",
        what: "Z_MAX in Z_PRIMARYKEY is below the greatest primary key of the table.",
        why: "The next object would get a key that is taken.",
        example: "Z_MAX of Order is 0, but the greatest key in ZORDER is 2.",
        cure: "Z_MAX is set to the greatest key. " + noGuess)
    case .entityNumber:
      FindingPage(
        title: "rows have an entity number that does not belong to their table",
        what: "Z_ENT of a row names no entity that is stored in the table.",
        why: "The row belongs to no object: fetches do not find it, and a migration may drop it.",
        example: "The row 4 of ZORDER has the entity number 9, which is not 2 (Order).",
        cure:
          "In a table of a single entity the rows get its number. " + noGuess + " Otherwise correct Z_ENT, or "
          + "restore a backup.")
    default:
      FindingPage(
        title: "a change of persistent history belongs to no transaction",
        what: "A row of ACHANGE names a transaction that ATRANSACTION does not have.",
        why: "Programs that read the history miss the change.",
        example: "The change 31 of persistent history belongs to the transaction 8, which does not exist.",
        cure: "Delete the history of the store. Programs that read it must then read the whole store again.")
    }
  }

  private var valuePage: FindingPage {
    switch self {
    case .type:
      FindingPage(
        title: "a value is not of its attribute's type",
        what: "SQLite keeps any type in any column. Here it is one that the attribute does not have.",
        why: "Objects read it converted, or not at all, and an export has it as it is stored.",
        example: "Order.total is an Integer 32, and the row 5 has the text x.",
        cure: "Give the objects a value of the type. There is no repair, because any value would be a guess.")
    case .requiredValue:
      FindingPage(
        title: "a required value is missing",
        what: "An attribute or a to-one relationship that is not optional has no value.",
        why: "The object cannot be saved until it has one, and a migration that checks values fails.",
        example: "Order.total is required, and 2 rows have none.",
        cure: "Give the objects a value, or delete them.")
    case .validation:
      FindingPage(
        title: "a value breaks a validation rule",
        what:
          "The value is beyond a minimum, a maximum, a length or the range of its type, or does not match the pattern.",
        why: "The object cannot be saved while it has the value.",
        example: "Order.total must be at least 0, and the row 3 has -1.",
        cure: "Change the values, or the rule in a new version of the model.")
    default:
      FindingPage(
        title: "a uniqueness constraint is violated",
        what: "Several rows have equal values in the attributes that must be unique.",
        why: "SQLite cannot make the index of the constraint, and saving such objects fails.",
        example: "Customer.email is unique, and two rows have a@example.org.",
        cure: "Decide which of the objects stays, and delete or change the others.")
    }
  }

  private var relationshipPage: FindingPage {
    switch self {
    case .danglingKey:
      FindingPage(
        title: "a to-one relationship leads to a row that does not exist",
        what: "The foreign key of the relationship is that of no row.",
        why: "The object has a destination that cannot be read (133000).",
        example: "Order.customer of the row 3 leads to the customer 8, which does not exist.",
        cure: "An optional relationship is set to none. " + noGuess + " A required one needs another destination.")
    case .wrongEntity:
      FindingPage(
        title: "a relationship leads to an object of a wrong entity",
        what: "The row at its end is of an entity outside the hierarchy of the relationship's destination.",
        why: "The app gets an object of a class that it does not expect.",
        example: "Order.customer leads to a row of Supplier, which is a Party but not a Customer.",
        cure: "Give the relationship another destination, or none.")
    case .entityKey:
      FindingPage(
        title: "the entity number beside a foreign key is wrong",
        what: "The column Z<number>_… beside the key names another entity than the row that the key leads to.",
        why: "Core Data looks for the object under the wrong entity.",
        example: "Z3_OWNER is 4, and the row is of the entity 5.",
        cure: "The number is set to that of the row. " + noGuess)
    case .joinRow:
      FindingPage(
        title: "a row of a join table refers to a missing row",
        what: "A pair of a many-to-many relationship names a row that does not exist.",
        why: "One of the two objects has a member that cannot be read.",
        example: "The row of Z_1TAGS with the keys 3 and 9: there is no tag 9.",
        cure: "The pair is deleted. " + noGuess)
    case .orderKey:
      FindingPage(
        title: "members of an ordered relationship have no position, or share one",
        what: "The column Z_FOK_… that keeps the order is empty, or the same for two members.",
        why: "The order of these members is undefined, and may be another at each fetch.",
        example: "Two lines of the order 3 have the order key 2048.",
        cure: "The members get positions in the order in which they are read. " + noGuess)
    default:
      FindingPage(
        title: "a to-many relationship has too few or too many members",
        what: "The number of members is below the minimum count of the relationship, or above its maximum.",
        why: "The object cannot be saved until that is corrected.",
        example: "Order.lines needs at least 1 member, and the order 4 has none.",
        cure: "Add or remove members, or delete the object.")
    }
  }

  private var inversePage: FindingPage {
    switch self {
    case .inverse:
      FindingPage(
        title: "the two sides of a one-to-one relationship disagree",
        what: "Both sides have a foreign key, but the two keys do not refer to each other's rows.",
        why: "What an object is related to depends on the side that is read.",
        example: "The person 1 has the passport 2, and the passport 2 has the person 3.",
        cure: "Decide which side is right, and set the relationship of both objects again.")
    default:
      FindingPage(
        title: "one side of a one-to-one relationship has no value in any row",
        what: "Both sides have a foreign key. One is set in some rows, the other in none of the whole table.",
        why:
          "The app sets only one side, by design: rows that were damaged would not all be alike. Read from the other "
          + "side, objects have no destination.",
        example: "Every note has its state, and the column for the note is empty in all states.",
        cure: "Nothing needs to be done. Read the side that has values.")
    }
  }

  private var valueFilePage: FindingPage {
    switch self {
    case .missingFile:
      FindingPage(
        title: "the file of a large value is missing",
        what:
          "A row says that its value is in a file of .NAME_SUPPORT/_EXTERNAL_DATA, which is missing or not a regular "
          + "file.",
        why: "The value cannot be read. All others can.",
        example: "Photo.data of the row 3, after Data.sqlite was copied without .Data_SUPPORT.",
        cure: "Copy the store together with its directory, or restore the files from a backup.")
    default:
      FindingPage(
        title: "a file of a large value belongs to no row",
        what: "A file of .NAME_SUPPORT/_EXTERNAL_DATA has the name of a value, and no row names it.",
        why:
          "A program that was killed while it saved leaves such files, which only take space. But they also show that "
          + "rows are missing, if the log of the store was lost or the store was replaced by an older one.",
        example: "10 files in .Old_SUPPORT belong to no row, and the store has no rows at all.",
        cure:
          "Make sure first that no rows are missing: coredata explain missing-log. Several stores may share the "
          + "directory, such as Data.sqlite and Data.store. Then move the files to another place, and delete them when "
          + "nothing is missed.")
    }
  }
}
