// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataMistakes
import Foundation

// Apple's declarations for services that exist only on Apple's systems: CloudKit, Core Spotlight, iCloud documents and
// external records. Using one is a compile-time error that says what to use instead. Declarations with types of those
// services, such as `CKRecord`, are left out.

// MARK: CloudKit

/// A container that mirrors its stores to CloudKit.
@available(
  *, unavailable,
  message: "CloudKit exists only on Apple's systems: use NSPersistentContainer, and persistent history to synchronize."
)
open class NSPersistentCloudKitContainer: NSPersistentContainer, @unchecked Sendable {
  /// The name of the notification of a started or finished event.
  public class var eventChangedNotification: NSNotification.Name { unavailable() }
  /// The key of the event in that notification.
  public class var eventNotificationUserInfoKey: String { unavailable() }

  /// Sends the model's record types to CloudKit.
  open func initializeCloudKitSchema(options: NSPersistentCloudKitContainerSchemaInitializationOptions = []) throws {
    unavailable()
  }

  /// Returns whether the user may change the record of an object.
  open func canUpdateRecord(forManagedObjectWith objectID: NSManagedObjectID) -> Bool { unavailable() }

  /// Returns whether the user may delete the record of an object.
  open func canDeleteRecord(forManagedObjectWith objectID: NSManagedObjectID) -> Bool { unavailable() }

  /// Returns whether the user may change the objects of a store.
  open func canModifyManagedObjects(in store: NSPersistentStore) -> Bool { unavailable() }

  /// The type of a mirroring event.
  @available(*, unavailable, message: "CloudKit exists only on Apple's systems: there are no events of mirroring.")
  public enum EventType: Int, Sendable {
    /// Setting up the mirroring.
    case setup
    /// Reading changes from CloudKit.
    case `import`
    /// Sending changes to CloudKit.
    case export
  }

  /// A mirroring event.
  @available(
    *, unavailable,
    message:
      "CloudKit exists only on Apple's systems: observe NSPersistentStoreRemoteChange, or read persistent history."
  )
  open class Event: NSObject {
    /// The identifier of the event.
    open var identifier: UUID { unavailable() }
    /// The identifier of the store.
    open var storeIdentifier: String { unavailable() }
    /// The type of the event.
    open var type: EventType { unavailable() }
    /// The time at which the event began.
    open var startDate: Date { unavailable() }
    /// The time at which the event ended.
    open var endDate: Date? { unavailable() }
    /// Whether the event succeeded.
    open var succeeded: Bool { unavailable() }
    /// The error of a failed event.
    open var error: (any Error)? { unavailable() }
  }
}

/// Options for sending a model to CloudKit.
@available(*, unavailable, message: "CloudKit exists only on Apple's systems.")
public struct NSPersistentCloudKitContainerSchemaInitializationOptions: OptionSet, Sendable {
  /// The raw value.
  public let rawValue: UInt

  /// Creates options from a raw value.
  public init(rawValue: UInt) {
    self.rawValue = rawValue
  }

  /// Checks the model without sending it.
  public static var dryRun: Self { Self(rawValue: 2) }
  /// Prints the record types.
  public static var printSchema: Self { Self(rawValue: 4) }
}

/// The CloudKit container of a store.
@available(
  *, unavailable, message: "CloudKit exists only on Apple's systems: leave the description without these options."
)
open class NSPersistentCloudKitContainerOptions: NSObject {
  /// The identifier of the CloudKit container.
  open var containerIdentifier: String { unavailable() }

  /// Creates options.
  ///
  /// - Parameter containerIdentifier: the identifier of the CloudKit container.
  public init(containerIdentifier: String) { unavailable() }
}

/// A request for mirroring events.
@available(*, unavailable, message: "CloudKit exists only on Apple's systems: use NSPersistentHistoryChangeRequest.")
open class NSPersistentCloudKitContainerEventRequest: NSPersistentStoreRequest, @unchecked Sendable {
  /// The kind of result.
  open var resultType: NSPersistentCloudKitContainerEventResult.ResultType {
    get { unavailable() }
    set { unavailable() }
  }

  /// Returns a request for the events after a given one.
  open class func fetchEvents(after event: NSPersistentCloudKitContainer.Event?) -> Self { unavailable() }

  /// Returns a request for the events after a date.
  open class func fetchEvents(after date: Date) -> Self { unavailable() }

  /// Returns a request for the events that match a fetch request.
  open class func fetchEvents(matchingFetch fetchRequest: NSFetchRequest<any NSFetchRequestResult>) -> Self {
    unavailable()
  }

  /// Returns a fetch request for events.
  open class func fetchForEvents() -> NSFetchRequest<any NSFetchRequestResult> { unavailable() }
}

/// The result of a request for mirroring events.
@available(*, unavailable, message: "CloudKit exists only on Apple's systems: use NSPersistentHistoryResult.")
open class NSPersistentCloudKitContainerEventResult: NSPersistentStoreResult, @unchecked Sendable {
  /// The kind of result of a request for events.
  @available(*, unavailable, message: "CloudKit exists only on Apple's systems: use NSPersistentHistoryResultType.")
  public enum ResultType: Int, Sendable {
    /// The events.
    case events
    /// The number of events.
    case countEvents
  }

  /// The events, or their number.
  open var result: Any? { unavailable() }
  /// The kind of the result.
  open var resultType: ResultType { unavailable() }
}

extension NSPersistentStoreDescription {
  /// The CloudKit container of the store.
  @available(*, unavailable, message: "CloudKit exists only on Apple's systems: remove the assignment.")
  public var cloudKitContainerOptions: NSPersistentCloudKitContainerOptions? {
    get { unavailable() }
    set { unavailable() }
  }
}

// MARK: Core Spotlight

/// An index of a store's objects in Spotlight.
@available(
  *, unavailable,
  message: "Core Spotlight exists only on Apple's systems: fetch with a predicate such as \"name CONTAINS[cd] %@\"."
)
open class NSCoreDataCoreSpotlightDelegate: NSObject {
  /// The name of the notification of a changed index.
  public static var indexDidUpdateNotification: Notification.Name { unavailable() }

  /// Whether objects are being indexed.
  open var isIndexingEnabled: Bool { unavailable() }

  /// Creates a delegate for a store.
  public init(forStoreWith description: NSPersistentStoreDescription, coordinator psc: NSPersistentStoreCoordinator) {
    unavailable()
  }

  /// Creates a delegate for a store.
  public convenience init(forStoreWith description: NSPersistentStoreDescription, model: NSManagedObjectModel) {
    unavailable()
  }

  /// Returns the domain of the indexed objects.
  open func domainIdentifier() -> String { unavailable() }

  /// Returns the name of the index.
  open func indexName() -> String? { unavailable() }

  /// Starts indexing.
  open func startSpotlightIndexing() { unavailable() }

  /// Stops indexing.
  open func stopSpotlightIndexing() { unavailable() }

  /// Removes the index.
  open func deleteSpotlightIndex(completionHandler: @escaping ((any Error)?) -> Void) { unavailable() }
}

extension NSPersistentStore {
  /// The store's index in Spotlight.
  @available(*, unavailable, message: "Core Spotlight exists only on Apple's systems: fetch with a predicate.")
  public var coreSpotlightExporter: NSCoreDataCoreSpotlightDelegate { unavailable() }
}

extension NSEntityDescription {
  /// The expression for the name that Spotlight shows for an object.
  @available(*, unavailable, message: "Core Spotlight exists only on Apple's systems: remove the assignment.")
  public var coreSpotlightDisplayNameExpression: NSExpression {
    get { unavailable() }
    set { unavailable() }
  }
}

/// Option: the store's index in Spotlight.
@available(*, unavailable, message: "Core Spotlight exists only on Apple's systems: remove the option.")
public var NSCoreDataCoreSpotlightExporter: String { unavailable() }

// MARK: iCloud documents

/// Option: the name of a store in iCloud.
@available(*, unavailable, message: "iCloud exists only on Apple's systems: remove the option.")
public var NSPersistentStoreUbiquitousContentNameKey: String { unavailable() }
/// Option: the location of a store in iCloud.
@available(*, unavailable, message: "iCloud exists only on Apple's systems: remove the option.")
public var NSPersistentStoreUbiquitousContentURLKey: String { unavailable() }
/// Option: the iCloud container of a store.
@available(*, unavailable, message: "iCloud exists only on Apple's systems: remove the option.")
public var NSPersistentStoreUbiquitousContainerIdentifierKey: String { unavailable() }
/// Option: an identifier that distinguishes the apps of one device in iCloud.
@available(*, unavailable, message: "iCloud exists only on Apple's systems: remove the option.")
public var NSPersistentStoreUbiquitousPeerTokenOption: String { unavailable() }
/// Option: a Bool; a store is rebuilt from iCloud.
@available(*, unavailable, message: "iCloud exists only on Apple's systems: restore the store by StoreBackup.")
public var NSPersistentStoreRebuildFromUbiquitousContentOption: String { unavailable() }
/// Option: a Bool; a moved store loses its iCloud metadata.
@available(*, unavailable, message: "iCloud exists only on Apple's systems: remove the option.")
public var NSPersistentStoreRemoveUbiquitousMetadataOption: String { unavailable() }
/// Key of notifications: the reason why iCloud has changed the stores.
@available(*, unavailable, message: "iCloud exists only on Apple's systems: stores change only by the program itself.")
public var NSPersistentStoreUbiquitousTransitionTypeKey: String { unavailable() }

/// The reason why iCloud has changed the stores of a coordinator.
@available(*, unavailable, message: "iCloud exists only on Apple's systems: stores change only by the program itself.")
public enum NSPersistentStoreUbiquitousTransitionType: UInt, Sendable {
  /// An account was added.
  case accountAdded = 1
  /// An account was removed.
  case accountRemoved = 2
  /// The contents were removed.
  case contentRemoved = 3
  /// The initial import has ended.
  case initialImportCompleted = 4
}

extension Notification.Name {
  /// Posted after changes by iCloud.
  @available(*, unavailable, message: "iCloud exists only on Apple's systems: observe NSPersistentStoreRemoteChange.")
  public static var NSPersistentStoreDidImportUbiquitousContentChanges: Notification.Name { unavailable() }
  /// Posted before iCloud changes the stores of a coordinator.
  @available(
    *, unavailable,
    message: "iCloud exists only on Apple's systems: observe NSPersistentStoreCoordinatorStoresDidChange."
  )
  public static var NSPersistentStoreCoordinatorStoresWillChange: Notification.Name { unavailable() }
}

extension NSPersistentStoreCoordinator {
  /// Removes a store, including its data in iCloud.
  @available(
    *, unavailable, message: "iCloud exists only on Apple's systems: use destroyPersistentStore(at:type:options:)."
  )
  public class func removeUbiquitousContentAndPersistentStore(
    at storeURL: URL, options: [AnyHashable: Any]? = nil
  ) throws { unavailable() }

  // MARK: External records

  /// Returns the parts of an external record's path.
  @available(*, unavailable, message: "External records were made for Spotlight, which exists only on Apple's systems.")
  public class func elementsDerived(fromExternalRecordAt fileURL: URL) -> [AnyHashable: Any] { unavailable() }

  /// Creates a store from external records.
  @available(*, unavailable, message: "External records were made for Spotlight, which exists only on Apple's systems.")
  public func importStore(
    withIdentifier storeIdentifier: String?, fromExternalRecordsDirectoryAt externalRecordsURL: URL,
    to destinationURL: URL, options: [AnyHashable: Any]? = nil, ofType storeType: String
  ) throws -> NSPersistentStore { unavailable() }
}

/// The format of external records as XML.
@available(*, unavailable, message: "External records were made for Spotlight, which exists only on Apple's systems.")
public var NSXMLExternalRecordType: String { unavailable() }
/// The format of external records as binary files.
@available(*, unavailable, message: "External records were made for Spotlight, which exists only on Apple's systems.")
public var NSBinaryExternalRecordType: String { unavailable() }
/// Option: the format of external records.
@available(*, unavailable, message: "External records were made for Spotlight, which exists only on Apple's systems.")
public var NSExternalRecordsFileFormatOption: String { unavailable() }
/// Option: the directory of external records.
@available(*, unavailable, message: "External records were made for Spotlight, which exists only on Apple's systems.")
public var NSExternalRecordsDirectoryOption: String { unavailable() }
/// Option: the file name extension of external records.
@available(*, unavailable, message: "External records were made for Spotlight, which exists only on Apple's systems.")
public var NSExternalRecordExtensionOption: String { unavailable() }

// MARK: Objective-C

extension NSManagedObjectContext {
  /// Called after an observed value has changed.
  @available(
    *, unavailable,
    message: "There is no key-value observing without Objective-C: observe didChangeObjectsNotification."
  )
  public func observeValue(
    forKeyPath keyPath: String?, of object: Any?, change: [String: Any]?, context: UnsafeMutableRawPointer?
  ) { unavailable() }

  /// Waits for exclusive access.
  @available(*, unavailable, message: "Apple has removed locks of contexts: use performAndWait(_:).")
  public func lock() { unavailable() }

  /// Releases exclusive access.
  @available(*, unavailable, message: "Apple has removed locks of contexts: use performAndWait(_:).")
  public func unlock() { unavailable() }

  /// Tries to obtain exclusive access.
  @available(*, unavailable, message: "Apple has removed locks of contexts: use performAndWait(_:).")
  public func tryLock() -> Bool { unavailable() }
}

extension NSManagedObject {
  /// Returns the observers' registrations.
  @available(
    *, unavailable,
    message: "There is no key-value observing without Objective-C: observe didChangeObjectsNotification."
  )
  public func observationInfo() -> UnsafeMutableRawPointer? { unavailable() }

  /// Sets the observers' registrations.
  @available(
    *, unavailable,
    message: "There is no key-value observing without Objective-C: observe didChangeObjectsNotification."
  )
  public func setObservationInfo(_ inObservationInfo: UnsafeMutableRawPointer?) { unavailable() }
}

extension NSPersistentStoreCoordinator {
  /// Waits for exclusive access.
  @available(*, unavailable, message: "Apple has removed locks of coordinators: use performAndWait(_:).")
  public func lock() { unavailable() }

  /// Releases exclusive access.
  @available(*, unavailable, message: "Apple has removed locks of coordinators: use performAndWait(_:).")
  public func unlock() { unavailable() }

  /// Tries to obtain exclusive access.
  @available(*, unavailable, message: "Apple has removed locks of coordinators: use performAndWait(_:).")
  public func tryLock() -> Bool { unavailable() }
}

/// The body of unavailable declarations, which the compiler rejects.
private func unavailable() -> Never { trap("The declaration is unavailable.") }
