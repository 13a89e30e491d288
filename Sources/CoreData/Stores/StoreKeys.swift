// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataStoreFiles

// Names of store types, options, and keys of notifications. Raw values that Apple documents, or that Apple's
// notifications show, are the same here. The others are the names themselves.

/// The version of Apple's framework whose store format this framework writes.
public let NSCoreDataVersionNumber = Double(StoreMetadata.frameworkVersion)

/// Option: a Bool; opening an XML store validates it against its document type.
public let NSValidateXMLStoreOption = "NSValidateXMLStoreOption"
/// Option: a set of classes besides Core Data's that a binary store may contain.
public let NSBinaryStoreSecureDecodingClasses = "NSBinaryStoreSecureDecodingClasses"
/// Option: a Bool; a binary store may contain any class.
public let NSBinaryStoreInsecureDecodingCompatibilityOption = "NSBinaryStoreInsecureDecodingCompatibilityOption"
/// Option: a number; the maximum number of connections with which a store in a server reads at the same time, 8 by
/// default. Further reads wait for one of them. The option has no effect on a SQLite store.
public let NSPersistentStoreConnectionPoolMaxSizeKey = "NSPersistentStoreConnectionPoolMaxSizeKey"

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
