// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

// Names of store types, options, and keys of notifications. Raw values that Apple documents, or that its notifications
// show, are Apple's; the others are the names themselves.

/// The type name of binary stores.
public let NSBinaryStoreType = "Binary"
/// The type name of stores in memory.
public let NSInMemoryStoreType = "InMemory"
/// The type name of XML stores.
public let NSXMLStoreType = "XML"

/// Option: a Bool; opening an XML store validates it against its document type.
public let NSValidateXMLStoreOption = "NSValidateXMLStoreOption"
/// Option: a set of classes besides Core Data's that a binary store may contain.
public let NSBinaryStoreSecureDecodingClasses = "NSBinaryStoreSecureDecodingClasses"
/// Option: a Bool; a binary store may contain any class.
public let NSBinaryStoreInsecureDecodingCompatibilityOption = "NSBinaryStoreInsecureDecodingCompatibilityOption"
/// Option: a Bool, or a dictionary of options; the store records persistent history.
public let NSPersistentHistoryTrackingKey = "NSPersistentHistoryTrackingKey"
/// Option: a Bool; the coordinator posts `NSPersistentStoreRemoteChange` after each write to the store.
public let NSPersistentStoreRemoteChangeNotificationPostOptionKey = "NSPersistentStoreRemoteChangeNotificationOptionKey"
/// Option: the maximum number of connections to a SQLite store.
public let NSPersistentStoreConnectionPoolMaxSizeKey = "NSPersistentStoreConnectionPoolMaxSizeKey"

/// Key of `NSPersistentStoreRemoteChange`: the token of the history transaction.
public let NSPersistentHistoryTokenKey = "historyToken"
/// Key of `NSPersistentStoreRemoteChange`: the location of the store.
public let NSPersistentStoreURLKey = "storeURL"
/// Key of `NSPersistentStoreCoordinatorStoresDidChange`: the stores whose UUID has changed.
public let NSUUIDChangedPersistentStoresKey = "NSUUIDChangedPersistentStoresKey"

/// Key of the parts of an external record's path: the name of the entity.
public let NSEntityNameInPathKey = "NSEntityNameInPathKey"
/// Key of the parts of an external record's path: the location of the model.
public let NSModelPathKey = "NSModelPathKey"
/// Key of the parts of an external record's path: the URI of the object.
public let NSObjectURIKey = "NSObjectURIKey"
/// Key of the parts of an external record's path: the location of the store.
public let NSStorePathKey = "NSStorePathKey"
/// Key of the parts of an external record's path: the UUID of the store.
public let NSStoreUUIDInPathKey = "NSStoreUUIDInPathKey"
