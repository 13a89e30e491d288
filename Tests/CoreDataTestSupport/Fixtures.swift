// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Models and stores of other projects, made by Apple's tools, which lie outside the repository.
///
/// They are looked for in the folder named by `COREDATA_FIXTURES`, else in `../shared/fixtures` beside the repository.
/// Tests that need them say `.enabled(if: Fixtures.isPresent, "…")`, and so are skipped by name where they are absent.
public enum Fixtures {
  /// The folder of the fixtures, whether it is there or not.
  public static let root: URL = {
    if let path = ProcessInfo.processInfo.environment["COREDATA_FIXTURES"] {
      return URL(fileURLWithPath: path, isDirectory: true)
    }
    // This file is <repository>/Tests/CoreDataTestSupport/Fixtures.swift.
    let repository = URL(fileURLWithPath: #filePath)
      .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
    return repository.deletingLastPathComponent().appendingPathComponent("shared/fixtures", isDirectory: true)
  }()

  /// Whether the fixtures are there.
  public static let isPresent = FileManager.default.fileExists(atPath: root.appendingPathComponent("README.md").path)

  /// All `.xcdatamodel` packages that hold a `contents` file.
  public static let modelSources = files { $0.lastPathComponent == "contents" && $0.path.contains(".xcdatamodel/") }
    .map { $0.deletingLastPathComponent() }

  /// All `.xcdatamodeld` packages.
  public static let modelBundles = Array(Set(modelSources.map { $0.deletingLastPathComponent() }))
    .filter { $0.pathExtension == "xcdatamodeld" }.sorted { $0.path < $1.path }

  /// All compiled models; a project keeps folders of that extension too.
  public static let compiledModels = files { $0.pathExtension == "mom" && !$0.hasDirectoryPath }

  /// All folders of compiled models.
  public static let compiledBundles = Array(Set(compiledModels.map { $0.deletingLastPathComponent() }))
    .filter { $0.pathExtension == "momd" }.sorted { $0.path < $1.path }

  /// All sources of mapping models.
  public static let mappingSources = files { $0.lastPathComponent == "xcmapping.xml" }
    .map { $0.deletingLastPathComponent() }

  /// All compiled mapping models.
  public static let compiledMappings = files { $0.pathExtension == "cdm" }

  /// All SQLite stores.
  public static let stores = files { $0.pathExtension == "sqlite" }

  /// All stores that SwiftData made, under the extension that it gives them.
  public static let swiftDataStores = files { $0.pathExtension == "store" && $0.path.contains("/swiftdata/") }

  /// The file or folder at a path relative to the fixtures.
  public static func url(_ path: String) -> URL {
    root.appendingPathComponent(path)
  }

  /// The path of a fixture relative to the fixtures, for messages.
  public static func name(of url: URL) -> String {
    String(url.path.dropFirst(root.path.count).drop { $0 == "/" })
  }

  /// Copies a store, with its write-ahead log and shared memory where it has them, into a temporary directory.
  ///
  /// SQLite writes even when it reads, so fixtures are never opened where they are.
  public static func copy(ofStore store: URL) throws -> TemporaryStore {
    let target = try TemporaryStore(store.lastPathComponent)
    for suffix in ["", "-wal", "-shm"] where FileManager.default.fileExists(atPath: store.path + suffix) {
      let copy = URL(fileURLWithPath: target.url.path + suffix)
      try FileManager.default.copyItem(at: URL(fileURLWithPath: store.path + suffix), to: copy)
      try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: copy.path)
    }
    return target
  }

  private static func files(where matches: (URL) -> Bool) -> [URL] {
    guard isPresent, let walk = FileManager.default.enumerator(at: root, includingPropertiesForKeys: nil) else {
      return []
    }
    return walk.compactMap { $0 as? URL }.filter(matches).sorted { $0.path < $1.path }
  }
}
