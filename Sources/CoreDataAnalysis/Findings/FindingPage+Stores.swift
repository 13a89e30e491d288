// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

/// A store's files, and what a migration needs beside them.
extension FindingPage {
  static let stepNeedsCopy = FindingPage(
    title: "a step of the migration needs a copy of the store",
    what:
      "The step has a mapping model. It writes every row into a new store beside the old one, which then takes its place.",
    why:
      "A copy takes time and disk space in proportion to the rows of the whole store, and programs that have the store "
      + "open must close it before it can be replaced. Inferred steps change only the tables concerned. Without rows the "
      + "finding is information.",
    example:
      "Between Model 4 and Model 5 Order is split by a mapping model: \"the mapping model Model4to5.cdm writes all 52,340 "
      + "rows into a copy of the store\".",
    cure:
      "Nothing, if the time is acceptable: coredata migrate rehearse measures it. Otherwise design the change so "
      + "that it can be inferred, or let the app change the values after an inferred step. To accept it in the "
      + "model, put coredata.allow with a reason in the user info of an entity of the newer version.")

  static let littleDiskSpace = FindingPage(
    title: "there is less free disk space than the migration needs",
    what:
      "A backup takes the size of the store with its log and its external data. The migration itself takes up to the "
      + "size of the store with its log again, for the new store or the journal, and that of the external data if a "
      + "step with a mapping model, or one that moves values out of files, may write them anew. The disk of the store "
      + "has less.",
    why:
      "If the disk fills up, the migration stops and the store stays as it was, but the app cannot open it. Where not even "
      + "a backup fits, the finding is an error; where a backup fits but perhaps nothing else, it is a warning.",
    example:
      "A store of 97 MB on a disk with 80 MB left: \"up to 194,000,000 bytes are needed beside the store, for a backup and "
      + "the migration, and 80,000,000 are free\".",
    cure:
      "Free some space. Or put the backup on another disk with --backup DIR, or leave it out with --no-backup, and "
      + "allow the finding: --allow ST602.")

  static let unmergedLog = FindingPage(
    title: "the write-ahead log has not been merged into the store",
    what: "The -wal file beside the store has changes that may not be in the store's own file yet.",
    why:
      "A copy or backup of only the store's file lacks these changes. Migrations and backups made with "
      + "coredata include the log. A log without changes is not a finding.",
    example:
      "An app was killed with 12 saved orders in its log: \"Orders.sqlite-wal has 61,832 bytes that may not be in "
      + "Orders.sqlite yet\".",
    cure:
      "Close all programs that use the store: the last one merges the log. Or copy the store with coredata store copy, "
      + "which reads the log too.")

  static let noModelInStore = FindingPage(
    title: "the store does not carry its model",
    what: "The store has no model in Z_MODELCACHE, or one that cannot be read.",
    why:
      "Errors and reports about the store can name the entities that differ, but not the properties, and a store that no "
      + "version of the app's model fits cannot be migrated (134130). Where a version is known that fits the store, the "
      + "finding is information, since the migration adds the model.",
    example: "A store written by an old system, inspected without its model: \"Orders.sqlite carries no model\".",
    cure:
      "Keep every shipped version of the model in the app, and name the model in commands about the store. Opening and "
      + "saving the store with its own version adds the model.")
}
