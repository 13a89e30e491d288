// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// What the `VersionInfo.plist` of a compiled bundle says.
struct VersionInfo {
  private static let fileName = "VersionInfo.plist"
  private static let currentNameKey = "NSManagedObjectModel_CurrentVersionName"
  private static let hashesKey = "NSManagedObjectModel_VersionHashes"
  private static let checksumsKey = "NSManagedObjectModel_VersionChecksums"

  /// The version which new stores get.
  var currentVersionName: String?
  /// The hash of every entity, by version.
  var hashes: [String: [String: Data]] = [:]
  /// The checksum of every version.
  var checksums: [String: String] = [:]

  /// Reads the file in a folder; where it is absent nothing is known.
  init(folder: URL) throws {
    let file = folder.appendingPathComponent(Self.fileName)
    guard FileManager.default.fileExists(atPath: file.path) else { return }
    let contents = try PropertyLists.dictionary(at: file)
    currentVersionName = contents[Self.currentNameKey] as? String
    hashes = contents[Self.hashesKey] as? [String: [String: Data]] ?? [:]
    checksums = contents[Self.checksumsKey] as? [String: String] ?? [:]
  }

  /// What is to be said of versions.
  init(versions: [ModelBundle.Version], currentVersionName: String) {
    self.currentVersionName = currentVersionName
    for version in versions {
      let computed = VersionHashes(version.document)
      hashes[version.name] = computed.entities
      checksums[version.name] = computed.checksum
    }
  }

  /// Writes the file into a folder: a binary property list, as Xcode's compiler writes it.
  func write(to folder: URL) throws {
    var contents: [String: ArchiveValue] = [
      Self.hashesKey: .dictionary(hashes.mapValues { .dictionary($0.mapValues { .data($0) }) }),
      Self.checksumsKey: .dictionary(checksums.mapValues { .string($0) }),
    ]
    contents[Self.currentNameKey] = currentVersionName.map { .string($0) }
    let data = BinaryPropertyListWriter.data(of: .dictionary(contents))
    try data.write(to: folder.appendingPathComponent(Self.fileName))
  }
}
