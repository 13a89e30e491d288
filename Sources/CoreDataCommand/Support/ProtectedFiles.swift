// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataAnalysis
import CoreDataFileSystem
import CoreDataStoreFiles
import CoreDataTerminal
import Foundation

/// The files that `--output` must not name: those that a command reads or creates, and what belongs to them.
///
/// Files are compared by device and inode, and by their directory, so that links do not matter.
struct ProtectedFiles {
  /// Files and directories, which need not exist yet. The contents of a directory are protected too.
  private var files: [(url: URL, meaning: String)] = []
  /// Stores, which may have backups beside them.
  private var stores: [URL] = []
  /// Directories in which backups may be created.
  private var backupFolders: [URL] = []

  /// Collects the protected files of a command line.
  init(_ arguments: ParsedCommand) {
    for positional in arguments.specification.positionals {
      for path in arguments.arguments(positional.name) { add(path, positional.name) }
    }
    let options = Set(arguments.specification.options.map(\.name))
    for name in ["model", "mappings", "policies", "allowances", "lock", "file"] where options.contains(name) {
      for path in arguments.values(name) { add(path, "--\(name)") }
    }
    if !options.isDisjoint(with: ["lock", "file"]) {
      // Beside the bundle, or beside the version that is named.
      for positional in arguments.specification.positionals {
        for path in arguments.arguments(positional.name) {
          let folder = URL(fileURLWithPath: path).deletingLastPathComponent()
          for folder in [folder, folder.deletingLastPathComponent()] {
            files.append((folder.appendingPathComponent(VersionLock.defaultName), "the lock of \(positional.name)"))
          }
        }
      }
    }
    // In other commands --to names a version.
    if options.contains("from") {
      for name in ["from", "to"] where options.contains(name) {
        for path in arguments.values(name) { add(path, "--\(name)") }
      }
    }
    if options.contains("backup"), let path = arguments.value("backup") {
      backupFolders.append(URL(fileURLWithPath: path, isDirectory: true))
    }
  }

  private mutating func add(_ path: String, _ meaning: String) {
    // MODEL@VERSION, and files whose name contains an @.
    let plain = path.lastIndex(of: "@").map { String(path[..<$0]) }
    for path in [path, plain].compactMap({ $0 }) where !path.isEmpty {
      let given = URL(fileURLWithPath: path)
      for url in FileCalls.isSymbolicLink(given) ? [given, given.resolvingSymlinksInPath()] : [given] {
        files.append((url, meaning))
        guard !Self.isDirectory(url) else { continue }
        stores.append(url)
        for suffix in ["-wal", "-shm", "-journal"] {
          files.append((Self.sibling(of: url, url.lastPathComponent + suffix), "a companion file of \(meaning)"))
        }
        files.append((StoreFiles.externalData(of: url), "the external data of \(meaning)"))
        files.append((Self.sibling(of: url, ".\(url.lastPathComponent)-migration"), "the work directory of \(meaning)"))
      }
    }
  }

  /// Throws a `CommandFailure` with the status for a usage error if a path names a protected file.
  ///
  /// - Parameter option: the option that has the path.
  func check(_ path: String, of option: String) throws {
    let given = URL(fileURLWithPath: path)
    for output in FileCalls.isSymbolicLink(given) ? [given, given.resolvingSymlinksInPath()] : [given] {
      guard let meaning = meaning(of: output) else { continue }
      throw CommandFailure(
        .usage,
        "\(option) \(path) names \(meaning), which the result would replace. Nothing was changed. Name another file.")
    }
  }

  private func meaning(of output: URL) -> String? {
    let identities = Self.identities(of: output)
    let (folder, name) = (Self.identity(output.deletingLastPathComponent()), output.lastPathComponent)
    for (url, meaning) in files {
      let isSame =
        name == url.lastPathComponent && folder != nil && folder == Self.identity(url.deletingLastPathComponent())
      if isSame || Self.identity(url).map({ identities.contains($0) }) == true { return meaning }
    }
    for store in stores {
      for place in [store.deletingLastPathComponent()] + backupFolders {
        if let folder, folder == Self.identity(place), Self.isBackup(name, of: store) {
          return "a backup of \(store.lastPathComponent)"
        }
        let support = output.deletingLastPathComponent().deletingLastPathComponent()
        if Self.identity(support.deletingLastPathComponent()) == Self.identity(place), Self.identity(place) != nil,
          Self.isBackup(String(support.lastPathComponent.dropFirst()), of: store)
        {
          return "the external data of a backup of \(store.lastPathComponent)"
        }
      }
    }
    return nil
  }

  /// Whether a name is that of a backup, or of something that belongs to one: `Data~2.sqlite`, `Data~_SUPPORT`.
  private static func isBackup(_ name: String, of store: URL) -> Bool {
    let prefix = "\(store.deletingPathExtension().lastPathComponent)~"
    guard name.hasPrefix(prefix) else { return false }
    let rest = name.dropFirst(prefix.count).drop { $0.isNumber }
    return rest.isEmpty || ".-_".contains(rest[rest.startIndex])
  }

  /// Returns the identities of a file and of all directories that contain it.
  private static func identities(of output: URL) -> Set<FileCalls.Identity> {
    var found: Set<FileCalls.Identity> = []
    if let own = identity(output) { found.insert(own) }
    var folder = output.deletingLastPathComponent().resolvingSymlinksInPath()
    while folder.path != "/", folder.path != folder.deletingLastPathComponent().path {
      if let own = identity(folder) { found.insert(own) }
      folder = folder.deletingLastPathComponent()
    }
    return found
  }

  /// Returns the identity of a file, following a symbolic link.
  private static func identity(_ url: URL) -> FileCalls.Identity? {
    FileCalls.identity(FileCalls.isSymbolicLink(url) ? url.resolvingSymlinksInPath() : url)
  }

  private static func isDirectory(_ url: URL) -> Bool {
    var isDirectory: ObjCBool = false
    return FileManager.default.fileExists(atPath: url.path, isDirectory: &isDirectory) && isDirectory.boolValue
  }

  private static func sibling(of url: URL, _ name: String) -> URL {
    url.deletingLastPathComponent().appendingPathComponent(name)
  }
}

/// The file or directory that a command creates. Existing files are never replaced.
struct NewFile {
  let url: URL

  /// Reads `--output`.
  ///
  /// - Parameters:
  ///   - what: What is created, for messages: `compiled model`.
  ///   - extensions: The extensions that the name may have.
  init(_ invocation: CommandInvocation, _ what: String, extensions: String...) throws {
    let list = extensions.map { ".\($0)" }.joined(separator: " or ")
    guard let path = invocation.arguments.value("output") else {
      let words = invocation.arguments.specification.path.joined(separator: " ")
      throw CommandFailure(.usage, "\(words) needs a name for the \(what) (\(list)): --output FILE.")
    }
    url = URL(fileURLWithPath: path)
    guard extensions.contains(url.pathExtension) else {
      throw CommandFailure(
        .usage, "The name of the \(what) must end in \(list), and \(url.lastPathComponent) does not.")
    }
    guard !FileManager.default.fileExists(atPath: url.path) else {
      throw CommandFailure(.failed, "\(url.path) already exists. Choose another name, or move it away first.")
    }
    let folder = url.deletingLastPathComponent().path
    guard FileManager.default.isWritableFile(atPath: folder) else {
      throw CommandFailure(.failed, "The \(what) cannot be created: \(folder) does not exist or is not writable.")
    }
  }

  /// Whether a path names a mapping model rather than a file for the report.
  static func isMapping(_ path: String?) -> Bool {
    path.map { ["cdm", "xcmappingmodel", "mapping"].contains(URL(fileURLWithPath: $0).pathExtension) } ?? false
  }

  /// The option that replaces the common one.
  static func option(_ placeholder: String) -> OptionSpecification {
    OptionSpecification(
      "output", short: "o", .text(placeholder), summary: "The file to create. An existing one is never replaced.")
  }
}
