// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataMistakes
import Foundation

/// A reference to a model: its location, and the checksum that it must have. Resolved on first use.
open class NSManagedObjectModelReference: NSObject, @unchecked Sendable {
  private enum Location {
    case model(NSManagedObjectModel)
    case file(URL)
    case name(String, ModelSearch)
    case hashes([String: Data]?, ModelSearch)
  }

  /// The checksum that the model must have: its `versionChecksum`.
  public let versionChecksum: String
  private let location: Location
  private let lock = NSLock()
  /// The resolved model. Guarded by `lock`.
  private var found: NSManagedObjectModel?

  /// Creates a reference to a given model.
  public init(model: NSManagedObjectModel, versionChecksum: String) {
    location = .model(model)
    self.versionChecksum = versionChecksum
  }

  /// Creates a reference to a model in a file.
  ///
  /// - Parameters:
  ///   - fileURL: an `.xcdatamodeld`, `.xcdatamodel`, `.momd` or `.mom`, with a version that has the checksum.
  ///   - versionChecksum: the checksum that the model must have.
  public init(fileURL: URL, versionChecksum: String) {
    location = .file(fileURL)
    self.versionChecksum = versionChecksum
  }

  /// Creates a reference to a model in the resources of a bundle.
  ///
  /// - Parameters:
  ///   - modelName: the name of a version, or of a model with a version that has the checksum.
  ///   - bundle: nil for the main bundle, or, if that has no model, the resource bundles beside the executable.
  ///   - versionChecksum: the checksum that the model must have.
  public init(name modelName: String, in bundle: Bundle?, versionChecksum: String) {
    location = .name(modelName, ModelSearch(bundles: bundle.map { [$0] }))
    self.versionChecksum = versionChecksum
  }

  /// Creates a reference to a model with certain entities in the resources of a bundle.
  ///
  /// - Parameters:
  ///   - versionHash: the version hashes of all entities of the model, by name.
  ///   - bundle: nil for the main bundle, or, if that has no model, the resource bundles beside the executable.
  ///   - versionChecksum: the checksum that the model must have.
  public init(entityVersionHashes versionHash: [AnyHashable: Any], in bundle: Bundle?, versionChecksum: String) {
    location = .hashes(versionHash as? [String: Data], ModelSearch(bundles: bundle.map { [$0] }))
    self.versionChecksum = versionChecksum
  }

  /// The model. Traps if it is not found or has another checksum; `resolve()` throws instead.
  open var resolvedModel: NSManagedObjectModel {
    do {
      return try resolve()
    } catch {
      let reason = (error as NSError).localizedFailureReason ?? error.localizedDescription
      trap("Error 134504: \(reason)")
    }
  }

  /// Returns the model, and throws the reason for a failure. An addition to Apple's API.
  ///
  /// - Throws: 134504 if the model is not found, cannot be read, or has another checksum.
  public func resolve() throws -> NSManagedObjectModel {
    try lock.withLock {
      if let found { return found }
      let model = try search()
      found = model
      return model
    }
  }

  private func search() throws -> NSManagedObjectModel {
    switch location {
    case .model(let model):
      return try choose(from: [("the given model", model)], "a given model", absent: "")
    case .file(let url):
      let versions: [(String, NSManagedObjectModel)]
      do {
        versions = try NSManagedObjectModel.versions(contentsOf: url).map { ("version '\($0.name)'", $0.model) }
      } catch {
        throw unresolved("the file '\(url.path)'", (error as NSError).localizedFailureReason ?? "", error)
      }
      return try choose(from: versions, "the file '\(url.path)'", absent: "It has no versions.")
    case .name(let name, let search):
      let subject = "the model named '\(name)'"
      let list = try versions(search, for: subject)
      let named = list.versions.filter { $0.name == name || $0.fileName == name }
      return try choose(
        from: named.map { ("'\($0.location)'", $0.model) }, subject,
        absent: Self.words("There is no model or version of that name", search, list))
    case .hashes(let hashes, let search):
      let subject = "the model with given entity version hashes"
      guard let hashes else { throw unresolved(subject, "The hashes must be data by entity name.") }
      let list = try versions(search, for: subject)
      let fitting = list.versions.filter { $0.model.entityVersionHashesByName == hashes }
      return try choose(
        from: fitting.map { ("'\($0.location)'", $0.model) }, subject,
        absent: Self.words("No model has these hashes", search, list))
    }
  }

  private func choose(
    from candidates: [(name: String, model: NSManagedObjectModel)], _ subject: String, absent: String
  ) throws -> NSManagedObjectModel {
    if let match = candidates.first(where: { $0.model.versionChecksum == versionChecksum }) { return match.model }
    let others = candidates.map { "\($0.name) has \($0.model.versionChecksum)" }.joined(separator: ", ")
    throw unresolved(subject, others.isEmpty ? absent : "The checksum must be \(versionChecksum), but \(others).")
  }

  private func versions(_ search: ModelSearch, for subject: String) throws -> ModelVersionList {
    do {
      return ModelVersionList(try search.models())
    } catch {
      throw unresolved(subject, error.localizedDescription, error)
    }
  }

  private static func words(_ problem: String, _ search: ModelSearch, _ list: ModelVersionList) -> String {
    let places = search.folders.map { "'\($0.path)'" }.joined(separator: ", ")
    let unreadable = list.unreadable.map { ($0 as NSError).localizedFailureReason ?? $0.localizedDescription }
    return "\(problem) in \(places)."
      + (unreadable.isEmpty ? "" : " Could not be read: \(unreadable.joined(separator: " "))")
  }

  private func unresolved(_ subject: String, _ reason: String, _ underlying: (any Error)? = nil) -> NSError {
    ModelErrors.unresolvedReference(subject, reason: reason, underlying: underlying)
  }
}
