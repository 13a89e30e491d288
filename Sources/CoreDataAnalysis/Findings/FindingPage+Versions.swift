// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

/// Renaming identifiers.
extension FindingPage {
  static let probableRename = FindingPage(
    title: "something is probably renamed, and the model does not say so",
    what:
      "The old version has an entity or a property that the new one lacks, the new one has another that is much like it, "
      + "and there is no renaming identifier.",
    why:
      "Without a renaming identifier the migration drops the old values and begins the new property empty. The likeness is "
      + "that of the names, among properties of one type; it is a guess, and therefore a warning.",
    example:
      "Order has note in Model 1 and notes in Model 2, both String: \"Order.notes: probably note under another name "
      + "(likeness 86 %), without a renaming identifier\".",
    cure:
      "If it is the same, give the new one the old name as renaming identifier. If it is not, say so in the model: "
      + "coredata.allow in the user info, with a reason.")

  static let unclearRename = FindingPage(
    title: "a renaming identifier matches nothing, or is used twice",
    what:
      "A renaming identifier names nothing in the old version, or two entities or properties of the new version have the "
      + "same one.",
    why:
      "One that matches nothing carries over no values; it is a warning, since it may be meant for an older version. "
      + "Of two that are equal, no migration can tell which gets the values: no mapping is inferred (134190).",
    example:
      "Order.total has the renaming identifier sum, and Model 1 has no Order.sum: \"Order.total: the renaming identifier "
      + "sum names nothing in the older version\".",
    cure: "Correct the renaming identifier: it is the name in the version before, not a new one.")
}

/// The versions of a model as a whole.
extension FindingPage {
  static let shippedVersionEdited = FindingPage(
    title: "a version that was shipped has been edited",
    what: "The lock file has a version with other hashes than the model, or a version that the model lacks.",
    why:
      "Stores on users' devices have the hashes of the shipped version. After an edit none of the model's versions fits "
      + "them: they are refused (134100) and cannot be migrated, and the users lose access to their data.",
    example:
      "Model 3 was locked, and then Order.total became optional in it: \"Order.total: the version was shipped with other "
      + "contents: total\".",
    cure:
      "Undo the edit, and make the change in a new version. If the version was never shipped, lock it again: coredata model "
      + "lock MODEL --update.")

  static let noPath = FindingPage(
    title: "no path leads from a version to the current one",
    what: "Neither inferred steps nor the mapping models that were given lead from the version to the current one.",
    why: "Stores of that version cannot be opened any more: the migration fails with 134190 or 134140.",
    example: "Between Model 2 and Model 3 a String becomes a Date: \"no path leads to Model 3\".",
    cure:
      "Write a mapping model for the step that cannot be inferred, and name its directory with --mappings. If the app "
      + "migrates by stages of its own, lower the level: --level VR402=warn.")

  static let staleMapping = FindingPage(
    title: "a mapping model fits no two versions",
    what: "The version hashes in a mapping model are those of no two versions of the model.",
    why:
      "Core Data finds mapping models by these hashes. It does not find this one: the migration fails, or is inferred "
      + "instead and drops what the mapping model would have kept.",
    example:
      "Model 3 was edited after V2toV3.cdm had been compiled: \"V2toV3.cdm: the entity mapping OrderToOrder does not fit "
      + "the entity Order\".",
    cure: "Open the mapping model in Xcode and save it, or compile it again: coredata mapping compile FILE -o X.cdm.")

  static let equalVersions = FindingPage(
    title: "two versions have the same hashes",
    what: "Two versions differ only in what is not part of version hashes, or not at all.",
    why:
      "Core Data cannot tell their stores apart, and migrates none of them: new defaults, indexes and rules apply, but "
      + "nothing in the store changes.",
    example:
      "Model 2 has another default value than Model 1 and nothing else: \"has the same version hashes as Model 1\".",
    cure:
      "Where stores must be migrated, give the changed entity or property a hash modifier. Otherwise one version is enough."
  )

  static let currentMovedBack = FindingPage(
    title: "the current version is older than the one that was shipped",
    what: "The lock file says that a later version has been the current one.",
    why:
      "Users have stores of the later version. To open them with the current one is a step back, which loses what the "
      + "later version added.",
    example:
      "Model 5 was shipped, and a merge set the current version to Model 4: \"Model 5 was current when it was locked\".",
    cure: "Mark the later version as the current one, or add a new version that takes back what is not wanted.")
}

/// Staged migrations.
extension FindingPage {
  static let stagesOutOfOrder = FindingPage(
    title: "migration stages do not follow the order of the versions",
    what:
      "The stages of an NSStagedMigrationManager go back to an earlier version, leave a version out, name a version twice "
      + "or one that the model does not have, or do not lead to the current version.",
    why:
      "A staged migration begins at the stage that has the store's version and goes forward from there. Stores of a "
      + "version that is left out are refused (134504), and so are stores of a version that comes after the current one in "
      + "the stages (134506). Only the code of the app has the stages, so no command of coredata can judge them. With a "
      + "lock, a version that was never shipped may be left out.",
    example:
      "The stages are Model to Model 3 and then Model 2 to Model 3: \"stage 2 (Model 2 to Model 3) goes back: Model 2 "
      + "comes before Model 3\".",
    cure:
      "Order the stages by version and give each version a stage. To check them in a test of the app, set the stages of "
      + "ModelLint.Options (module CoreDataAnalysis) and expect no entries.")
}

/// A single model version.
extension FindingPage {
  static let missingInverse = FindingPage(
    title: "a relationship has no inverse",
    what: "The relationship has no inverse relationship.",
    why:
      "Core Data cannot keep the two sides consistent: a deleted object may still be referred to, and deletion rules of the "
      + "other side do not exist.",
    example: "Order.customer leads to Customer, which has no orders: \"Order.customer: has no inverse\".",
    cure: "Add the inverse. If it is left out on purpose, say so in the model: coredata.allow in the user info.")

  static let reservedName = FindingPage(
    title: "the name of a property is taken by NSManagedObject",
    what: "The property has the name of a property of NSManagedObject or NSObject.",
    why:
      "Its accessor would hide the one of the superclass, and Core Data may call it: no class can declare the property, and "
      + "value(forKey:) may return something else.",
    example: "Note has the attribute description: \"Note.description: NSManagedObject has a property of this name\".",
    cure: "Give the property another name, with the old one as renaming identifier.")

  static let insecureTransformer = FindingPage(
    title: "a transformable attribute has no secure transformer",
    what:
      "The attribute has no value transformer, or one that creates objects of any class that an archive names.",
    why:
      "A store from elsewhere could create any object of the app. Newer systems refuse such transformers, and Xcode warns "
      + "of them.",
    example: "Note.color is transformable without a transformer: \"Note.color: no value transformer\".",
    cure:
      "Use NSSecureUnarchiveFromDataTransformer, or a subclass that lists the classes. The stored data stay readable.")

  static let requiredPair = FindingPage(
    title: "two relationships require each other",
    what: "A relationship and its inverse are both required.",
    why:
      "Neither object can be saved, replaced or deleted without the other, and lightweight migration can add neither to "
      + "existing rows.",
    example:
      "Order.invoice and Invoice.order are both required: \"Invoice.order: it and its inverse Order.invoice require each "
      + "other\".",
    cure: "Make one of the two optional.")
}
