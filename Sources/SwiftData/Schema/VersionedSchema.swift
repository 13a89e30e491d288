// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

/// A version of an app's models.
public protocol VersionedSchema: SendableMetatype {
  /// The model types.
  static var models: [any PersistentModel.Type] { get }
  /// The version.
  static var versionIdentifier: Schema.Version { get }
}
