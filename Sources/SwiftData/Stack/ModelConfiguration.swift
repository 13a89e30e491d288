// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import Foundation

/// Where and how a container keeps models.
public struct ModelConfiguration: DataStoreConfiguration, Identifiable, CustomDebugStringConvertible, Sendable {
  /// A Core Data store.
  public typealias Store = DefaultStore

  /// The name, which is also that of the file unless a URL is given.
  public let name: String
  /// The location of the store: a file, or a PostgreSQL URL as in `CoreDataPostgreSQL`.
  public let url: URL
  /// Whether the models are kept in memory and lost with the container.
  public let isStoredInMemoryOnly: Bool
  /// Whether models can be saved.
  public let allowsSave: Bool
  /// The container of an app group.
  public let groupContainer: GroupContainer
  /// The CloudKit database; without effect here.
  public let cloudKitDatabase: CloudKitDatabase
  /// The types in this store; nil for all those of the container.
  public var schema: Schema?
  /// The name of the model's part in this store: that of the configuration, unless another one has it.
  var part: String
  /// How the store is migrated. An addition to Apple's API.
  public var migration = MigrationOptions()

  /// The identifier of the app group; nil if there is none.
  public var groupAppContainerIdentifier: String? { groupContainer.identifier }
  /// The identifier of the CloudKit container; nil, since there is no CloudKit here.
  public var cloudKitContainerIdentifier: String? { nil }
  /// The location of the store.
  public var id: URL { url }

  /// Creates a configuration for all types of the container.
  ///
  /// - Parameter isStoredInMemoryOnly: whether the models are lost with the container.
  public init(isStoredInMemoryOnly: Bool = false) {
    self.init(nil, schema: nil, isStoredInMemoryOnly: isStoredInMemoryOnly)
  }

  /// Creates a configuration for some types.
  public init(for types: any PersistentModel.Type..., isStoredInMemoryOnly: Bool = false) {
    self.init(nil, schema: Schema(types), isStoredInMemoryOnly: isStoredInMemoryOnly)
  }

  /// Creates a configuration whose file has a name in the default directory: `NAME.store`, or `default.store`.
  ///
  /// - Parameters:
  ///   - name: the name; nil for `default`.
  ///   - schema: the types in this store; nil for all.
  ///   - isStoredInMemoryOnly: whether the models are lost with the container.
  ///   - allowsSave: whether models can be saved.
  ///   - groupContainer: the app group, a directory of its name beside those of apps.
  ///   - cloudKitDatabase: without effect.
  public init(
    _ name: String? = nil, schema: Schema? = nil, isStoredInMemoryOnly: Bool = false, allowsSave: Bool = true,
    groupContainer: GroupContainer = .automatic, cloudKitDatabase: CloudKitDatabase = .automatic
  ) {
    self.name = name ?? "default"
    part = self.name
    self.schema = schema
    self.isStoredInMemoryOnly = isStoredInMemoryOnly
    self.allowsSave = allowsSave
    self.groupContainer = groupContainer
    self.cloudKitDatabase = cloudKitDatabase
    url =
      isStoredInMemoryOnly
      ? URL(fileURLWithPath: "/dev/null")
      : groupContainer.directory.appendingPathComponent("\(self.name).store")
  }

  /// Creates a configuration for a store at a location.
  ///
  /// - Parameters:
  ///   - name: the name; nil for that of the file.
  ///   - schema: the types in this store; nil for all.
  ///   - url: a file, or a PostgreSQL URL. `/dev/null` keeps the models in memory.
  ///   - allowsSave: whether models can be saved.
  ///   - cloudKitDatabase: without effect.
  public init(
    _ name: String? = nil, schema: Schema? = nil, url: URL, allowsSave: Bool = true,
    cloudKitDatabase: CloudKitDatabase = .automatic
  ) {
    self.name = name ?? url.deletingPathExtension().lastPathComponent
    part = self.name
    self.schema = schema
    self.url = url
    isStoredInMemoryOnly = url.isFileURL && url.path == "/dev/null"
    self.allowsSave = allowsSave
    groupContainer = .none
    self.cloudKitDatabase = cloudKitDatabase
  }

  /// A CloudKit database. None is used here.
  public struct CloudKitDatabase: Hashable, Sendable {
    private let name: String

    /// The database of the app's entitlements.
    public static let automatic = CloudKitDatabase(name: "automatic")
    /// No database.
    public static let none = CloudKitDatabase(name: "none")

    /// The user's database in a CloudKit container.
    public static func `private`(_ privateDBName: String) -> CloudKitDatabase {
      CloudKitDatabase(name: "private \(privateDBName)")
    }
  }

  /// The container of an app group, which apps share. Here it is a directory.
  public struct GroupContainer: Hashable, Sendable {
    let identifier: String?

    /// The container of the app's entitlements: none here.
    public static let automatic = GroupContainer(identifier: nil)
    /// No container.
    public static let none = GroupContainer(identifier: nil)

    /// The container of a group.
    public static func identifier(_ groupName: String) -> GroupContainer { GroupContainer(identifier: groupName) }

    /// The directory of the stores: that of `NSPersistentContainer.defaultDirectoryURL()`, or one beside it with the name
    /// of the group.
    fileprivate var directory: URL {
      let own = NSPersistentContainer.defaultDirectoryURL()
      guard let identifier else { return own }
      return own.deletingLastPathComponent().appendingPathComponent(identifier, isDirectory: true)
    }
  }

  /// Checks that the name can be that of a file.
  ///
  /// - Throws: `SwiftDataError.configurationFileNameContainsInvalidCharacters` and `.configurationFileNameTooLong`.
  public func validate() throws {
    if name.contains("/") || name.contains("\0") || name.isEmpty {
      throw SwiftDataError(
        .configurationFileNameContainsInvalidCharacters, "The name '\(name)' of a configuration cannot be a file name.")
    }
    // SQLite's files have a suffix of four characters.
    if "\(name).store".utf8.count > 251 {
      throw SwiftDataError(
        .configurationFileNameTooLong, "The name '\(name)' of a configuration has more than 245 bytes.")
    }
  }

  /// Returns whether both have equal contents.
  public static func == (left: ModelConfiguration, right: ModelConfiguration) -> Bool {
    left.name == right.name && left.url == right.url && left.isStoredInMemoryOnly == right.isStoredInMemoryOnly
      && left.allowsSave == right.allowsSave && left.schema == right.schema
  }

  /// Hashes the name and the location.
  public func hash(into hasher: inout Hasher) {
    hasher.combine(name)
    hasher.combine(url)
  }

  /// The name and the location.
  public var debugDescription: String { "ModelConfiguration \(name) at \(isStoredInMemoryOnly ? "memory" : url.path)" }
}
