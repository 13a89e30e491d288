// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

/// Validation.
extension ErrorPage {
  static let validation: [ErrorPage] = [
    ErrorPage(
      1550, "NSManagedObjectValidationError", "an object breaks a rule",
      cause: "A validation method of the class, or a rule without a code of its own, has refused an object.",
      example: "A subclass throws it in validateForInsert() for an order without lines.",
      cure:
        "The error has the object under NSValidationObjectErrorKey and the property under NSValidationKeyErrorKey: correct "
        + "the value, or the rule."),
    ErrorPage(
      1551, "NSManagedObjectConstraintValidationError", "a uniqueness constraint is broken",
      cause:
        "Two objects have the same values under a uniqueness constraint, and no merge policy decides between them.",
      example: "Two customers with one e-mail address are saved, where email must be unique.",
      cure:
        "Set a merge policy such as mergeByPropertyObjectTrump, or find the existing object before a new one is inserted."
    ),
    ErrorPage(
      1560, "NSValidationMultipleErrorsError", "several objects or properties break rules",
      cause: "Saving found more than one validation error.",
      example: "A form is saved with two required fields empty.",
      cure: "Each error is in the array under NSDetailedErrorsKey, with its object and key."),
    ErrorPage(
      1570, "NSValidationMissingMandatoryPropertyError", "a required property has no value",
      cause: "An attribute or to-one relationship that is not optional is empty when the object is saved.",
      example: "Order.customer is required, and an order is saved without one.",
      cure:
        "Set the value before saving, give the attribute a default value, or make the property optional in a new version."
    ),
    ErrorPage(
      1580, "NSValidationRelationshipLacksMinimumCountError", "a relationship has too few objects",
      cause: "A to-many relationship has fewer members than its minimum count.",
      example: "Order.lines needs one line at least, and the last one was removed.",
      cure: "Add members before saving, or lower the minimum in a new version."),
    ErrorPage(
      1590, "NSValidationRelationshipExceedsMaximumCountError", "a relationship has too many objects",
      cause: "A to-many relationship has more members than its maximum count.",
      example: "Team.players allows 11, and a twelfth was added.",
      cure: "Remove members before saving, or raise the maximum in a new version."),
    ErrorPage(
      1600, "NSValidationRelationshipDeniedDeleteError", "a deletion is denied",
      cause: "The object still has members in a relationship with the delete rule Deny.",
      example: "A customer with orders is deleted, where Customer.orders has the rule Deny.",
      cure: "Delete or move the members first, or choose another delete rule."),
    ErrorPage(
      1610, "NSValidationNumberTooLargeError", "a number is too large",
      cause: "The value is greater than the maximum of the attribute, or than its type can hold.",
      example: "Order.discount allows 100, and 120 is saved.", cure: "Correct the value, or raise the maximum."),
    ErrorPage(
      1620, "NSValidationNumberTooSmallError", "a number is too small",
      cause: "The value is less than the minimum of the attribute, or than its type can hold.",
      example: "Order.quantity must be at least 1, and 0 is saved.", cure: "Correct the value, or lower the minimum."),
    ErrorPage(
      1630, "NSValidationDateTooLateError", "a date is too late",
      cause: "The date is after the maximum of the attribute.", example: "A date of birth in the future is saved.",
      cure: "Correct the date, or the maximum."),
    ErrorPage(
      1640, "NSValidationDateTooSoonError", "a date is too early",
      cause: "The date is before the minimum of the attribute.", example: "A due date before the minimum is saved.",
      cure: "Correct the date, or the minimum."),
    ErrorPage(
      1650, "NSValidationInvalidDateError", "a date is invalid",
      cause: "The value of a date attribute is not a date that can be compared with its limits.",
      example: "A date that was computed from invalid components is saved.", cure: "Set a date, or no value."),
    ErrorPage(
      1660, "NSValidationStringTooLongError", "a text is too long",
      cause: "The text has more characters than the maximum length of the attribute.",
      example: "Customer.code allows five characters, and seven are saved.",
      cure: "Shorten the text, or raise the maximum."),
    ErrorPage(
      1670, "NSValidationStringTooShortError", "a text is too short",
      cause: "The text has fewer characters than the minimum length of the attribute.",
      example: "An empty name is saved, where one character is required.",
      cure: "Complete the text, or lower the minimum."),
    ErrorPage(
      1680, "NSValidationStringPatternMatchingError", "a text does not match its pattern",
      cause: "The text does not match the regular expression of the attribute.",
      example: "Order.reference must match WS-[0-9]{4}, and \"1234\" is saved.",
      cure: "Correct the text, or the pattern."),
    ErrorPage(
      1690, "NSValidationInvalidURIError", "a URI is invalid",
      cause: "The value of a URI attribute is not a valid URI.", example: "A text with spaces is set as a link.",
      cure: "Set a valid URI, or no value."),
  ]
}

/// Contexts and objects.
extension ErrorPage {
  static let objects: [ErrorPage] = [
    ErrorPage(
      132_000, "NSManagedObjectContextLockingError", "a context cannot be locked",
      cause: "Another thread holds the lock of the context.", example: "Old code calls lock() on a context.",
      cure: "Use perform(_:) or performAndWait(_:)."),
    ErrorPage(
      132_001, nil, "a context is saved while it is being saved",
      cause: "willSave(), the validation of an object, or an observer of the context has called save() during a save.",
      example: "An observer of NSManagedObjectContextObjectsDidChange saves after every change.",
      cure: "Only change objects there: the save that is running writes the changes."),
    ErrorPage(
      132_010, "NSPersistentStoreCoordinatorLockingError", "a coordinator cannot be locked",
      cause: "Another thread holds the lock of the coordinator.", example: "Old code calls lock() on a coordinator.",
      cure: "Use the coordinator's perform(_:) or performAndWait(_:)."),
    ErrorPage(
      133_000, "NSManagedObjectReferentialIntegrityError", "an object no longer exists",
      cause: "The row of an object was deleted while a context still refers to it.",
      example: "A fault is read whose row another context has deleted.",
      cure:
        "Merge the changes of other contexts, set shouldDeleteInaccessibleFaults, or look with existingObject(with:)."),
    ErrorPage(
      133_010, "NSManagedObjectExternalRelationshipError", "a relationship leads into another store",
      cause: "An object is related to one that is in another store of the coordinator.",
      example: "An order in one file is given a customer of another file.",
      cure: "Assign both to the same store, or keep the other object's URI instead of a relationship."),
    ErrorPage(
      133_020, "NSManagedObjectMergeError", "changes are in conflict",
      cause: "A row has changed in the store since the context read it, and the merge policy is the one that reports "
        + "errors.",
      example: "Two contexts change the same order, and the second one saves.",
      cure: "The conflicts are under \"conflictList\". Set a merge policy, or refresh the objects and save again."),
    ErrorPage(
      133_021, "NSManagedObjectConstraintMergeError", "a uniqueness constraint is in conflict",
      cause:
        "A saved object has the same unique values as a row of the store, and the merge policy is the one that "
        + "reports errors.",
      example: "A customer is imported whose number is in the store already.",
      cure: "Set a merge policy such as mergeByPropertyObjectTrump: it changes the existing row."),
  ]
}
