// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import Foundation

extension NSManagedObjectModel {
  /// Reads a model: the current version of an `.xcdatamodeld` or `.momd`, a single `.xcdatamodel` or `.mom`, or the model that
  /// a SQLite store carries.
  ///
  /// Nil on any failure; `load(contentsOf:version:)` says why.
  public convenience init?(contentsOf url: URL) {
    do {
      try self.init(document: Self.document(at: url, version: nil))
      wasRead(from: url)
    } catch {
      return nil
    }
  }

  /// Reads a version of a model, or says why that cannot be done. An addition to Apple's interface.
  ///
  /// - Parameters:
  ///   - url: an `.xcdatamodeld`, `.xcdatamodel`, `.momd` or `.mom`, or a SQLite store that carries its model.
  ///   - version: the name of a version; nil for the current one.
  /// - Throws: 260 for a missing file, 259 for one that holds no model, `NSCoreDataError` for a model that contradicts
  ///   itself, or for a version that is not there; with file, entity and property as far as known.
  public static func load(contentsOf url: URL, version: String? = nil) throws -> NSManagedObjectModel {
    let model = try NSManagedObjectModel(document: document(at: url, version: version))
    model.wasRead(from: url)
    return model
  }

  /// Reads all versions of a model, in their order. An addition to Apple's interface.
  ///
  /// Numbers in their names tell the order: `Model`, `Model 2`, `Model 10`. Versions whose names do not tell it are in the
  /// order in which the model grew, as version hashes and changes tell, and the current version is the last.
  ///
  /// A version that cannot be read does not keep the others from being used: it is left out, and `warnings(contentsOf:)`
  /// says why.
  /// - Throws: as `load(contentsOf:version:)`, when no version can be read.
  public static func versions(contentsOf url: URL) throws -> [(name: String, model: NSManagedObjectModel)] {
    let found = try readableVersions(of: bundle(at: url))
    if found.versions.isEmpty, let first = found.unreadable.first { throw first.error }
    return found.versions
  }

  /// What was passed over or corrected when a model was read, one sentence each: versions that cannot be read, and values
  /// that are not of their attribute's type. An addition to Apple's interface.
  ///
  /// - Throws: as `load(contentsOf:version:)`, when the file holds no model.
  public static func warnings(contentsOf url: URL) throws -> [String] {
    let bundle = try bundle(at: url)
    return try readableVersions(of: bundle).unreadable.map { version in
      let reason = version.error.localizedFailureReason ?? version.error.localizedDescription
      return "The version '\(version.name)' cannot be read and is left out. \(reason)"
    } + bundle.warnings.map(\.description)
  }

  /// The versions of a model that can be used, and why the others cannot.
  internal static func readableVersions(
    at url: URL
  ) throws -> (versions: [(name: String, model: NSManagedObjectModel)], unreadable: [(name: String, error: NSError)]) {
    try readableVersions(of: bundle(at: url))
  }

  private static func readableVersions(
    of bundle: ModelBundle
  ) throws -> (versions: [(name: String, model: NSManagedObjectModel)], unreadable: [(name: String, error: NSError)]) {
    var versions: [(name: String, model: NSManagedObjectModel)] = []
    var unreadable = bundle.unreadable.map { (name: $0.name, error: ModelErrors.cannotRead($0.error)) }
    for version in bundle.versions {
      do {
        let model = try NSManagedObjectModel(document: version.document)
        model.wasRead(from: bundle.url)
        versions.append((version.name, model))
      } catch let error as NSError {
        unreadable.append((version.name, error))
      }
    }
    return (versions, unreadable)
  }

  /// The name of the current version of a model; nil where the file does not say. An addition to Apple's interface.
  ///
  /// - Throws: as `load(contentsOf:version:)`.
  public static func currentVersionName(contentsOf url: URL) throws -> String? {
    try bundle(at: url).currentVersionName
  }

  /// The version checksum of every version of a model, by the version's name.
  ///
  /// - Throws: as `load(contentsOf:version:)`.
  public class func __checksumsForVersionedModel(at url: URL) throws -> [String: String] {
    let versions = try bundle(at: url).versions
    return Dictionary(versions.map { ($0.name, VersionHashes($0.document).checksum) }) { first, _ in first }
  }

  func wasRead(from url: URL) {
    origins = [url]
    // Words for people are no part of what a model says: a model can be used without them.
    localizationDictionary = (try? Self.localizationDictionary(forModelAt: url)) ?? nil
  }

  private static func document(at url: URL, version: String?) throws -> ModelDocument {
    let bundle = try bundle(at: url)
    do {
      return try version.map(bundle.document(named:)) ?? bundle.currentDocument()
    } catch let error as ModelFileError {
      throw ModelErrors.cannotRead(error.inFile(url))
    }
  }
}
