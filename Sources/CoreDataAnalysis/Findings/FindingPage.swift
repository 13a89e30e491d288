// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

/// The explanation of a finding's code, as printed by `coredata explain CODE`.
public struct FindingPage: Hashable, Sendable {
  /// The meaning in a few words.
  public let title: String
  /// What was found.
  public let what: String
  /// The importance of the finding, and how the rows of a store affect its level.
  public let why: String
  /// Two versions that cause the finding.
  public let example: String
  /// Ways to resolve the finding.
  public let cure: String
}

extension FindingCode {
  /// The explanation of the code.
  public var page: FindingPage {
    switch self {
    case .entityRemoved: .entityRemoved
    case .attributeRemoved: .attributeRemoved
    case .relationshipRemoved: .relationshipRemoved
    case .toManyBecomesToOne: .toManyBecomesToOne
    case .numberNarrowed: .numberNarrowed
    case .storedBecomesTransient: .storedBecomesTransient
    case .orderLost: .orderLost
    case .externalDataDropped: .externalDataDropped
    case .otherTableDropped: .otherTableDropped
    case .newRequiredAttribute: .newRequiredAttribute
    case .optionalBecomesRequired: .optionalBecomesRequired
    case .uniquenessAdded: .uniquenessAdded
    case .validationTightened: .validationTightened
    case .minimumCountRaised: .minimumCountRaised
    case .probableRename: .probableRename
    case .unclearRename: .unclearRename
    case .notInferable: .notInferable
    case .hierarchiesMerged: .hierarchiesMerged
    case .destinationChanged: .destinationChanged
    case .shippedVersionEdited: .shippedVersionEdited
    case .noPath: .noPath
    case .staleMapping: .staleMapping
    case .equalVersions: .equalVersions
    case .currentMovedBack: .currentMovedBack
    case .stagesOutOfOrder: .stagesOutOfOrder
    case .missingInverse: .missingInverse
    case .reservedName: .reservedName
    case .insecureTransformer: .insecureTransformer
    case .requiredPair: .requiredPair
    case .stepNeedsCopy: .stepNeedsCopy
    case .littleDiskSpace: .littleDiskSpace
    case .unmergedLog: .unmergedLog
    case .noModelInStore: .noModelInStore
    }
  }
}

/// Data that would be lost.
extension FindingPage {
  fileprivate static let entityRemoved = FindingPage(
    title: "rows of an entity would be dropped",
    what:
      "The new version does not have the entity, or a mapping model has no entity mapping that makes objects of its "
      + "rows.",
    why:
      "All rows of the entity are dropped, with everything in them. Without rows the finding is information. Where an "
      + "entity mapping removes the entity by name it is a warning, and where that mapping has a policy, information.",
    example:
      "Model 4 has the entity Legacy with 1,204 rows, and Model 5 does not have it: \"Legacy: 1,204 rows would be "
      + "dropped\".",
    cure: "If the entity only has another name, give it its old name as renaming identifier. If its rows go elsewhere, "
      + "write a mapping model that takes them. If they are not needed, allow it: --allow DS101:Legacy.")

  fileprivate static let attributeRemoved = FindingPage(
    title: "values of an attribute would be dropped",
    what: "The new version does not have the attribute, or no expression of a mapping model reads it.",
    why:
      "Its values are dropped in every row. Without values the finding is information; with a mapping model that says so it "
      + "is a warning, and where a policy makes the objects, information.",
    example:
      "Order has the attribute note in Model 1, and text in Model 2 without a renaming identifier: \"Order.note: "
      + "12 values would be dropped\".",
    cure:
      "If the attribute only has another name, give the new one the old name as renaming identifier. If its values go "
      + "elsewhere, write a mapping model that reads them. If they are not needed, allow it: --allow DS102:Order.note, or let "
      + "the mapping say so: drops note in a .mapping, coredata.drops in the user info of an entity mapping.")

  fileprivate static let relationshipRemoved = FindingPage(
    title: "links of a relationship would be dropped",
    what:
      "The new version does not have the relationship, or no expression of a mapping model reads it or its inverse.",
    why:
      "The objects stay, but which of them belong together is lost. Where the inverse relationship stays, it keeps the "
      + "links, and the finding is information; so it is where there are no links.",
    example:
      "Order.customer and Customer.orders are both gone in Model 2: \"Order.customer: 340 links would be dropped\".",
    cure:
      "Use a renaming identifier for another name, keep one of the two ends, or write a mapping model. If the links are "
      + "not needed, allow it: --allow DS103:Order.customer.")

  fileprivate static let toManyBecomesToOne = FindingPage(
    title: "a to-many relationship becomes to-one",
    what: "An object may have had several others at the end of the relationship, and will have one at most.",
    why: "There is no telling which of them to keep. The links are counted; without links the finding is information.",
    example:
      "Note.tags is to-many in Model 1 and to-one in Model 2: \"Note.tags: to-many becomes to-one, with 78 links\".",
    cure:
      "Write a mapping model, or a migration policy that chooses the object to keep. Or add a new to-one relationship, "
      + "fill it in the app, and remove the old one in a later version.")

  fileprivate static let numberNarrowed = FindingPage(
    title: "a number gets a type that holds less",
    what: "An attribute becomes a type of numbers that is smaller or less exact.",
    why:
      "The values decide. If all fit, the finding is information. Values that are out of range stop the migration: it "
      + "changes no number into another one altogether, and no allowance helps. Values that would lose their fraction, be "
      + "rounded, or become a Boolean although they are neither 0 nor 1 are a loss, which can be allowed.",
    example: "Order.total is Integer 32 in Model 1 and Integer 16 in Model 2, and two orders have the total 100000: "
      + "\"Order.total: Integer 32 becomes Integer 16; 2 values are out of range and stop the migration\".",
    cure:
      "Keep the larger type, change the values first, or write a mapping model with an expression that says what becomes "
      + "of them. Where only fractions or digits are lost and that is meant: --allow DS105:Order.total.")

  fileprivate static let storedBecomesTransient = FindingPage(
    title: "a stored attribute becomes transient",
    what: "The attribute is still there in code, but stores no longer keep its values.",
    why: "Every value in the store is dropped. Without values the finding is information.",
    example: "Person.age is stored in Model 1 and transient in Model 2: \"Person.age: 52 values would be dropped\".",
    cure:
      "If the value can be computed from others, check that they are complete. If not, keep it stored. If the values are "
      + "not needed: --allow DS106:Person.age.")

  fileprivate static let orderLost = FindingPage(
    title: "the order of a relationship is lost",
    what: "A relationship was ordered and no longer is.",
    why: "The links stay; in which order the objects stood is dropped. Without links the finding is information.",
    example:
      "Playlist.songs is ordered in Model 1 and not in Model 2: \"Playlist.songs: the order of 310 links is lost\".",
    cure:
      "Keep the relationship ordered, or give the objects an attribute for their position and fill it by a mapping model "
      + "or policy. If the order means nothing: --allow DS107:Playlist.songs.")

  fileprivate static let externalDataDropped = FindingPage(
    title: "values that may be in files of their own would be dropped",
    what: "The new version does not have an attribute that allows external storage.",
    why: "Its values are often the largest of a store, as photos and documents, and their files are removed with them. "
      + "Without values the finding is information.",
    example: "Photo.data allows external storage in Model 1 and is gone in Model 2: \"Photo.data: 85 values would be "
      + "dropped\".",
    cure: "Use a renaming identifier for another name, or export the values first. If they are not needed: "
      + "--allow DS108:Photo.data.")

  fileprivate static let otherTableDropped = FindingPage(
    title: "a table that is not part of the model would be dropped",
    what: "A step with a mapping model creates a new store, and the old one has a table that belongs to no entity of "
      + "the model.",
    why: "NSPersistentCloudKitContainer keeps in such tables, ANSCKRECORDMETADATA and others, which objects it has "
      + "synchronized. Without them it would take all objects for new ones. A migration in place keeps all tables, and "
      + "adapts the entity numbers in them. Without rows the finding is information.",
    example: "A store of Model 1 is migrated to Model 2 by a mapping model: \"ANSCKRECORDMETADATA: the table is not "
      + "part of the model; its 310 rows would be dropped\".",
    cure: "Make the change so that it can be inferred, with renaming identifiers and default values. If nobody needs "
      + "the table: --allow DS109:ANSCKRECORDMETADATA.")

  fileprivate static let destinationChanged = FindingPage(
    title: "a relationship has a different destination entity",
    what:
      "The destination of the relationship is neither its former entity, nor that by another name, nor an ancestor of it.",
    why:
      "Objects of the former destination cannot be at the end of the relationship any more, so that the links are dropped, "
      + "or the mapping cannot be inferred at all.",
    example:
      "Order.customer leads to Person in Model 1 and to Company in Model 2: \"Order.customer: leads to Company instead "
      + "of Person; 340 links would be dropped\".",
    cure:
      "If the entity only has another name, give it a renaming identifier. Otherwise write a mapping model that says "
      + "which objects the links lead to. If they are not needed: --allow CM305:Order.customer.")
}

/// Findings that depend on the data, or prevent inference.
extension FindingPage {
  fileprivate static let newRequiredAttribute = FindingPage(
    title: "a new attribute is required",
    what: "The new version has a required attribute that the old one does not have, or that was not stored.",
    why:
      "Every row needs a value. With a default value all rows get it, which is a warning, for it may not be true of them. "
      + "Without one the migration fails where there are rows, also by a mapping model that has no expression for it. Where "
      + "a policy makes the objects, the policy decides.",
    example:
      "Order.status is new in Model 2, required and without a default value: \"Order.status: required, without a "
      + "default for 52,340 rows\".",
    cure: "Give the attribute a default value, make it optional, or set its values by a mapping model or policy.")

  fileprivate static let optionalBecomesRequired = FindingPage(
    title: "something optional becomes required",
    what:
      "An attribute or a relationship may have been empty, and must not be any more; or a relationship is new and required.",
    why:
      "Rows without a value get the default value; without one the migration fails. The rows are counted: where all have a "
      + "value, the finding is information. Objects without a required relationship are migrated, but cannot be saved "
      + "until they have it. A to-many relationship without a minimum count may be empty even if it is not optional.",
    example:
      "Order.total is optional in Model 1 and required in Model 2, without a default value: \"Order.total: is required "
      + "now, without a default; 3 rows without a value\".",
    cure:
      "Give the attribute a default value, fill in the values before the migration, or set them by a mapping model or "
      + "policy. A migration by a mapping model validates its objects, unlike one in place: it fails for rows whose empty value "
      + "is copied, and for a required relationship without an expression.")

  fileprivate static let uniquenessAdded = FindingPage(
    title: "values must be unique now",
    what: "The new version has a uniqueness constraint that the old one does not have.",
    why:
      "Rows with equal values stop the migration (error 134111). They are counted, and the most frequent value is named; "
      + "without such rows the finding is information. It is a warning where they cannot be counted: where only the models "
      + "are judged, or where an earlier step or an expression of a mapping model gives the values.",
    example:
      "Model 2 has the constraint email on Customer, and two customers have one address: \"Customer: email must be "
      + "unique now; 2 rows with equal values stop the migration, such as 'ann@example.org' (2 rows)\".",
    cure: "Remove duplicates in the app before the version with the constraint, or have a policy merge them.")

  fileprivate static let validationTightened = FindingPage(
    title: "validation is stricter",
    what: "A minimum, a maximum, a length, a pattern or another rule refuses values that were allowed before.",
    why:
      "A migration in place does not validate: values that break the rule stay, and the object cannot be saved until they "
      + "are corrected. A migration by a mapping model validates its objects and fails. With a store, the values that break "
      + "the rule are counted; without any the finding is information.",
    example:
      "The maximum of Order.total was 1000 and is 500: \"Order.total: validation is stricter (maximum was 1000, is "
      + "500); stored values are not checked before they are saved again\".",
    cure: "Check the values in the app after the migration, or correct them by a mapping model or policy.")

  fileprivate static let minimumCountRaised = FindingPage(
    title: "a relationship needs more objects",
    what: "The minimum count of a relationship is greater than before.",
    why:
      "Objects with fewer are migrated in place as they are, and cannot be saved until they have enough. A migration by a "
      + "mapping model validates its objects and fails. With a store, the objects with fewer are counted; without any the "
      + "finding is information.",
    example:
      "Order.lines has no minimum in Model 1 and the minimum 1 in Model 2: \"Order.lines: at least 1 instead of 0; "
      + "objects with fewer cannot be saved\".",
    cure: "Add the missing objects in the app or by a policy, or leave the minimum out.")

  fileprivate static let notInferable = FindingPage(
    title: "a change for which no mapping can be inferred",
    what:
      "A type changes into one that its values cannot be converted to, or a new required to-one relationship has nothing "
      + "to lead to. Or a mapping model copies values into an attribute of such a type.",
    why:
      "The migration fails with 134190 unless a mapping model is there for the step, whose expression converts the values. "
      + "Nothing can allow it.",
    example:
      "Note.created is String in Model 1 and Date in Model 2: \"Note.created: String cannot be converted into Date\".",
    cure:
      "Write a mapping model: coredata mapping new FROM TO -o X.mapping begins one. Convert the values in it, such as a "
      + "number by FUNCTION($source.age, \"stringValue\"), or in a migration policy. If the old values may be dropped, give the attribute "
      + "another name.")

  fileprivate static let hierarchiesMerged = FindingPage(
    title: "an entity joins a hierarchy",
    what: "An entity gets a parent that existed before without it.",
    why:
      "The rows of both would have to share one table, and no mapping can be inferred for that. Nothing can allow it.",
    example: "Customer and Person are entities of their own in Model 1; in Model 2 Person is the parent of Customer: "
      + "\"Customer: joins a hierarchy that existed without it\".",
    cure: "Write a mapping model, or give both a new common parent.")
}
