// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataAnalysis
import CoreDataFileSystem
import CoreDataStoreFiles
import CoreDataTerminal
import Foundation

/// The files that no output of a command may overwrite: those that the command reads or modifies, and their companions.
///
/// Which files a command reads and writes follows from its specification (`PathRole`). Files are compared by device and
/// inode, and by their directory, so that links and spellings do not matter.
struct ProtectedFiles {
  /// Files and directories, which need not exist yet. The contents of directories are protected too.
  private var files: [(url: URL, meaning: String)] = []
  /// Stores, which may have backups beside them.
  private var stores: [URL] = []
  /// Directories in which backups may be created.
  private var backupFolders: [URL] = []
  /// Whether the command may make a backup.
  private let makesBackups: Bool

  /// Throws a `CommandFailure` with the status for a usage error if an output of a command line is one of its inputs,
  /// is in one, contains one, or is a companion of one, such as the log of a store; and if two outputs are the same.
  static func check(_ arguments: ParsedCommand) throws {
    let outputs = arguments.paths.filter { $0.role.isWritten && !isURL($0.value) }
    guard !outputs.isEmpty else { return }
    let protected = ProtectedFiles(arguments)
    for (position, output) in outputs.enumerated() {
      try protected.check(output.value, of: output.name, output.role)
      let url = URL(fileURLWithPath: output.value)
      for other in outputs[..<position] where areSame(url, URL(fileURLWithPath: other.value)) {
        // Options come before arguments.
        let isResult = other.name.hasPrefix("--") && !output.name.hasPrefix("--")
        throw CommandFailure(
          .usage,
          isResult
            ? "\(other.name) \(other.value) names \(output.name), which the command creates. Nothing was changed. Name "
              + "another file."
            : "\(output.name) and \(other.name) name the same file. Name another file.")
      }
    }
  }

  /// Whether a value is the URL of a store on a server.
  private static func isURL(_ value: String) -> Bool { value.contains("://") }

  /// Collects the protected files of a command line.
  private init(_ arguments: ParsedCommand) {
    let options = Set(arguments.specification.options.map(\.name))
    makesBackups = options.contains("backup")
    for path in arguments.paths where path.role.isRead && !Self.isURL(path.value) { add(path.value, path.name) }
    if !options.isDisjoint(with: ["lock", "file"]) {
      // The lock is beside the bundle, or beside the named version.
      for positional in arguments.specification.positionals {
        for path in arguments.arguments(positional.name) {
          let folder = URL(fileURLWithPath: path).deletingLastPathComponent()
          for folder in [folder, folder.deletingLastPathComponent()] {
            files.append((folder.appendingPathComponent(VersionLock.defaultName), "the lock of \(positional.name)"))
          }
        }
      }
    }
    if makesBackups, let path = arguments.value("backup") {
      backupFolders.append(URL(fileURLWithPath: path, isDirectory: true))
    }
  }

  private mutating func add(_ path: String, _ meaning: String) {
    // The argument can be MODEL@VERSION, or a file whose name contains an @.
    let plain = path.lastIndex(of: "@").map { String(path[..<$0]) }
    for path in [path, plain].compactMap({ $0 }) where !path.isEmpty {
      add(URL(fileURLWithPath: path), meaning)
      // The bundle of a version given by its own path.
      let bundle = URL(fileURLWithPath: path).deletingLastPathComponent()
      if ["xcdatamodeld", "momd"].contains(bundle.pathExtension) { files.append((bundle, meaning)) }
    }
  }

  private mutating func add(_ given: URL, _ meaning: String) {
    for url in FileCalls.isSymbolicLink(given) ? [given, given.resolvingSymlinksInPath()] : [given] {
      files.append((url, meaning))
      if Self.isDirectory(url) {
        for link in Self.members(of: url).filter(FileCalls.isSymbolicLink) {
          addStore(link.resolvingSymlinksInPath(), "a file in \(meaning)")
        }
      } else {
        addStore(url, meaning)
      }
    }
  }

  /// Adds a file that may be a store, with its companion files.
  private mutating func addStore(_ url: URL, _ meaning: String) {
    files.append((url, meaning))
    stores.append(url)
    for suffix in StoreFiles.companionSuffixes {
      files.append((Self.sibling(of: url, url.lastPathComponent + suffix), "a companion file of \(meaning)"))
    }
    files.append((StoreFiles.externalData(of: url), "the external data of \(meaning)"))
    files.append((Self.sibling(of: url, ".\(url.lastPathComponent)-migration"), "the work directory of \(meaning)"))
  }

  private func check(_ path: String, of option: String, _ role: PathRole) throws {
    let given = URL(fileURLWithPath: path)
    for output in FileCalls.isSymbolicLink(given) ? [given, given.resolvingSymlinksInPath()] : [given] {
      guard let meaning = meaning(of: output, option, role) else { continue }
      let harm = role == .outputDirectory ? "which files would be written into" : "which the result would replace"
      throw CommandFailure(
        .usage, "\(option) \(path) names \(meaning), \(harm). Nothing was changed. Name another file.")
    }
  }

  /// - Parameter option: the name of the output, which is not an input of itself.
  private func meaning(of output: URL, _ option: String, _ role: PathRole) -> String? {
    // A lock may be in the bundle that it locks, but must not be another file of it.
    let identities = role == .updated ? Set([Self.identity(output)].compactMap { $0 }) : Self.identities(of: output)
    let own = Self.identity(output)
    let missing = role == .updated ? [] : Self.missingFolders(of: output)
    let isFolder = role == .output && Self.isDirectory(output)
    for (url, meaning) in files where meaning != option {
      if Self.areSame(output, url) { return meaning }
      if missing.contains(where: { Self.areSame($0, url) }) { return "a place in \(meaning)" }
      if let found = Self.identity(url), identities.contains(found) { return "a place in \(meaning)" }
      // A directory that will be replaced must not contain an input.
      if isFolder, let own, Self.identities(of: url).contains(own) { return "a directory that contains \(meaning)" }
      // The output may be a hard link to a file in a directory.
      if let own, Self.isDirectory(url), FileCalls.linkCount(output) > 1,
        Self.members(of: url).contains(where: { Self.identity($0) == own })
      {
        return "a file in \(meaning)"
      }
    }
    // An argument, unlike an option, never replaces a file.
    guard makesBackups || own != nil || option.hasPrefix("--") else { return nil }
    let (folder, name) = (Self.identity(output.deletingLastPathComponent()), output.lastPathComponent)
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

  /// Whether two URLs refer to the same file, or would if it existed. On a case-insensitive file system this can be
  /// determined only for an existing file.
  private static func areSame(_ one: URL, _ other: URL) -> Bool {
    if let identity = identity(one), identity == Self.identity(other) { return true }
    guard let folder = identity(one.deletingLastPathComponent()),
      folder == identity(other.deletingLastPathComponent())
    else { return false }
    let (name, second) = (one.lastPathComponent, other.lastPathComponent)
    if FileCalls.exists(one) || FileCalls.exists(other) { return name == second }
    return name.compare(second, options: [.caseInsensitive]) == .orderedSame
  }

  /// The maximum number of files in a directory that are compared one by one.
  private static let maxMemberCount = 100_000

  /// Returns the files in a directory and below it, without following links to directories.
  private static func members(of directory: URL) -> [URL] {
    guard let all = FileManager.default.enumerator(at: directory, includingPropertiesForKeys: nil) else { return [] }
    return all.lazy.prefix(maxMemberCount).compactMap { $0 as? URL }
  }

  /// Whether a name belongs to a backup or its companions: `Data~2.sqlite`, `Data~_SUPPORT`.
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

  /// Returns the directories that must be created to contain a file.
  private static func missingFolders(of output: URL) -> [URL] {
    var found: [URL] = []
    var folder = output.deletingLastPathComponent()
    while folder.path != folder.deletingLastPathComponent().path, !FileCalls.exists(folder) {
      found.append(folder)
      folder = folder.deletingLastPathComponent()
    }
    return found
  }

  /// Returns the identity of a file, following symbolic links.
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
  ///   - what: The kind of file, for messages: `compiled model`.
  ///   - extensions: The permitted extensions of the name.
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

  /// Whether a path is that of a mapping model rather than of a file for the report.
  static func isMapping(_ path: String?) -> Bool {
    path.map { ["cdm", "xcmappingmodel", "mapping"].contains(URL(fileURLWithPath: $0).pathExtension) } ?? false
  }

  /// Returns the option that replaces the common one.
  static func option(_ placeholder: String) -> OptionSpecification {
    OptionSpecification(
      "output", short: "o", .path(placeholder, .output),
      summary: "The file to create. An existing one is never replaced.")
  }
}
