// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataFileSystem
import CoreDataMigration
import CoreDataModelFiles
import Foundation

/// The hashes of a model's shipped versions, as a file in the app's repository.
///
/// A version that users' stores have must never change. The lock detects such changes, and shows which properties
/// differ. One file can contain several models, by the names of their bundles.
public struct VersionLock: Hashable, Sendable {
  /// A version as it was shipped.
  public struct Version: Hashable, Sendable, Codable {
    /// The name.
    public let name: String
    /// The checksum, as in `VersionInfo.plist`.
    public let checksum: String
    /// The entities by name.
    public let entities: [String: Entity]
  }

  /// An entity as it was shipped.
  public struct Entity: Hashable, Sendable, Codable {
    /// The version hash in hexadecimal digits.
    public let hash: String
    /// The first eight bytes of the hashes of its own properties, by name.
    public let properties: [String: String]
  }

  private struct Model: Hashable, Sendable, Codable {
    var current: String
    var versions: [Version]
  }

  private struct Contents: Codable {
    var format = VersionLock.format
    var models: [String: Model] = [:]
  }

  /// The default name of the file, which is beside the model.
  public static let defaultName = "coredata.lock"

  private static let format = "coredata.lock/1"
  private static let largestFile = 1 << 26

  /// The versions, in order.
  public let versions: [Version]
  /// The current version when the lock was written.
  public let current: String

  private init(_ model: Model) {
    versions = model.versions
    current = model.current
  }

  /// Whether a version with this name is locked.
  public func has(_ name: String) -> Bool { versions.contains { $0.name == name } }

  /// Whether a version is locked, under its name or another.
  private func holds(_ version: Version) -> Bool {
    versions.contains { $0.name == version.name || $0.checksum == version.checksum }
  }

  /// Reads the lock of a model.
  ///
  /// - Parameters:
  ///   - url: the file.
  ///   - model: the name of the model's bundle, such as `Shop.xcdatamodeld`.
  /// - Returns: nil if the file does not contain the model.
  /// - Throws: `ModelFileError` for a missing or empty file, and for one that is not a version lock.
  public init?(contentsOf url: URL, model: String) throws {
    guard FileCalls.exists(url) else {
      throw ModelFileError(
        .missingFile, found: "There is no lock.", advice: "Write it with coredata model lock MODEL.", file: url)
    }
    guard let found = try Self.contents(WholeFile(url)).models[model] else { return nil }
    self.init(found)
  }

  /// Returns the former name of a renamed bundle: the name under which a lock contains versions of a model that it does
  /// not have by its present name.
  package static func formerName(in url: URL, of known: ModelVersions) throws -> String? {
    let checksums = Set(known.versions.map { Version($0).checksum })
    return try contents(WholeFile(url)).models.sorted { $0.key < $1.key }
      .first { $0.value.versions.contains { checksums.contains($0.checksum) } }?.key
  }

  /// Locks the versions of a model, up to the current one, in a file.
  ///
  /// - Parameters:
  ///   - known: the versions.
  ///   - url: the file, which is created if it does not exist; other models in it stay.
  ///   - model: the name of the model's bundle.
  ///   - replacesEdited: whether versions that differ from the lock are locked in their present form.
  /// - Returns: the differences from the lock, and the names of the added versions. If there are differences that must
  ///   not be replaced, nothing is written.
  /// - Throws: `ModelFileError` for a file that is not a version lock; `FileFailure`.
  package static func lock(
    _ known: ModelVersions, in url: URL, model: String, replacesEdited: Bool
  ) throws -> (findings: [ModelLint.Entry], added: [String]) {
    let versions = known.versions
    guard let last = versions.lastIndex(where: { $0.name == known.currentName }) ?? versions.indices.last else {
      return ([], [])
    }
    let file = WholeFile(url)
    var contents = try Self.contents(file)
    let present = contents.models[model].map(VersionLock.init)
    let findings = present?.findings(versions, current: versions[last].name) ?? []
    guard findings.isEmpty || replacesEdited else { return (findings, []) }
    // A locked version stays locked, even if the current version has moved back before it.
    let shipped = versions.map(Version.init).enumerated().filter { index, version in
      index <= last || present?.holds(version) == true
    }.map(\.element)
    let added = shipped.map(\.name).filter { present?.has($0) != true }
    let model = (model, Model(current: versions[last].name, versions: shipped))
    guard contents.models[model.0] != model.1 else { return (findings, []) }
    contents.models[model.0] = model.1
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
    do {
      try file.write(try encoder.encode(contents) + Data("\n".utf8))
    } catch let problem as WholeFile.Problem {
      throw ModelFileError(.unsupportedFile, found: problem.description, advice: "Run the command again.", file: url)
    }
    return (findings, added)
  }

  private static func contents(_ file: WholeFile) throws -> Contents {
    do {
      guard let data = try file.read(limit: largestFile) else {
        guard FileCalls.exists(file.url) else { return Contents() }
        throw ModelFileError(
          .unsupportedFile, found: "The lock is empty.",
          advice: "Take it from the repository's history, or remove it and write it again with coredata model lock.",
          file: file.url)
      }
      let contents = try JSONDecoder().decode(Contents.self, from: data)
      guard contents.format == format else {
        throw ModelFileError(
          .unsupportedFile, found: "The lock has the format \"\(contents.format)\".",
          advice: "This version reads \"\(format)\". Use the version of coredata that wrote it.", file: file.url)
      }
      return contents
    } catch is DecodingError {
      throw ModelFileError(
        .unsupportedFile, found: "The file is not a valid coredata.lock file.",
        advice: "Take it from the repository's history, or write it again with coredata model lock.", file: file.url)
    } catch let problem as RegularFile.Problem {
      throw ModelFileError(.unsupportedFile, found: problem.description, advice: "Name another file.", file: file.url)
    }
  }
}

extension VersionLock.Version {
  fileprivate init(_ version: ModelVersion) {
    let hashes = version.versionHashes
    self.init(
      name: version.name, checksum: hashes.checksum,
      entities: Dictionary(
        version.document.entities.map { entity in
          let properties = (entity.attributes.map(\.name) + entity.relationships.map(\.name)).compactMap { name in
            hashes.property(name, of: entity.name).map { (name, Self.hexadecimal($0.prefix(8))) }
          }
          return (
            entity.name,
            VersionLock.Entity(
              hash: Self.hexadecimal(hashes.entities[entity.name] ?? Data()),
              properties: Dictionary(properties) { first, _ in first })
          )
        }
      ) { first, _ in first })
  }

  private static func hexadecimal(_ data: Data) -> String {
    data.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
  }
}

// MARK: Comparison

extension VersionLock {
  /// Returns the differences between versions and the lock.
  package func findings(in known: ModelVersions) -> [ModelLint.Entry] {
    let versions = known.versions
    return findings(versions, current: known.currentName ?? versions.last?.name ?? "")
  }

  /// Returns the names of versions that are not locked.
  package func unlocked(in known: ModelVersions) -> [String] { known.names.filter { !has($0) } }

  /// Returns the differences between versions and the lock.
  func findings(_ versions: [ModelVersion], current: String) -> [ModelLint.Entry] {
    let present = versions.map { (version: $0, locked: Version($0)) }
    var entries: [ModelLint.Entry] = []
    for shipped in self.versions {
      guard !present.contains(where: { $0.locked.checksum == shipped.checksum }) else { continue }
      guard let edited = present.first(where: { $0.version.name == shipped.name }) else {
        let text = "the version was shipped, and the model does not have it"
        entries.append(.init(shipped.name, ModelLint.finding(.shippedVersionEdited, .error, text)))
        continue
      }
      entries += Self.differences(shipped, edited.locked, edited.version.document)
        .map { .init(shipped.name, $0) }
    }
    // The version may have been renamed since.
    let shipped = self.versions.first { $0.name == self.current }?.checksum
    let before =
      present.firstIndex { $0.locked.checksum == shipped } ?? present.firstIndex { $0.version.name == self.current }
    if let before, let now = present.firstIndex(where: { $0.version.name == current }), now < before {
      let text = "\(self.current) was current when it was locked"
      entries.append(.init(current, ModelLint.finding(.currentMovedBack, .error, text)))
    }
    return entries
  }

  private static func differences(_ shipped: Version, _ edited: Version, _ document: ModelDocument) -> [Finding] {
    func finding(_ entity: String, _ property: String?, _ message: String) -> Finding {
      ModelLint.finding(.shippedVersionEdited, .error, entity: entity, property: property, message)
    }
    let index = EntityIndex(document)
    var findings: [Finding] = []
    var own: [(entity: String, findings: [Finding])] = []
    for name in Set(shipped.entities.keys).union(edited.entities.keys).sorted() {
      guard let before = shipped.entities[name] else {
        findings.append(finding(name, nil, "was not in the version that was shipped"))
        continue
      }
      guard let now = edited.entities[name] else {
        findings.append(finding(name, nil, "was in the version that was shipped, and is missing"))
        continue
      }
      guard before.hash != now.hash else { continue }
      let properties = Set(before.properties.keys).union(now.properties.keys).sorted().compactMap { property in
        switch (before.properties[property], now.properties[property]) {
        case (nil, _): finding(name, property, "was not in the version that was shipped")
        case (_, nil): finding(name, property, "was in the version that was shipped, and is missing")
        case (let old, let new): old == new ? nil : finding(name, property, "differs from the version that was shipped")
        }
      }
      own.append((name, properties))
    }
    let differing = Set(own.map(\.entity))
    for (name, properties) in own {
      findings += properties
      // The hash of an entity includes those of its ancestors.
      let inherits = index.lineage(of: name).dropFirst().contains { differing.contains($0.name) }
      guard properties.isEmpty, !inherits else { continue }
      findings.append(
        finding(
          name, nil,
          "its parent, its uniqueness constraints, its hash modifier, or whether it is abstract differs from the version "
            + "that was shipped"))
    }
    return findings
  }
}
