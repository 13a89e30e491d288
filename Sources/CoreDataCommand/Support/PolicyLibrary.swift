// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataFileSystem
import CoreDataTerminal
import Foundation

/// A shared library with the app's migration policies and other classes, given by `--policies`.
enum PolicyLibrary {
  /// Loads a library for the lifetime of the process, and finds the classes of its module: `Shop` for `libShop.so`.
  ///
  /// - Throws: `CommandFailure`, with the status for a usage error if there is no such file, otherwise with that for
  ///   missing code.
  static func load(_ path: String) throws {
    let url = URL(fileURLWithPath: path)
    guard FileCalls.exists(url) else { throw CommandFailure(.usage, "There is no library \(path).") }
    do {
      // Loading a FIFO would block forever.
      try RegularFile.check(url)
    } catch {
      throw CommandFailure(.usage, "There is no library \(path). \(CommandFailure(error).message)")
    }
    guard sharesRuntime else {
      throw CommandFailure(
        .migrationImpossible,
        "This tool has Swift's runtime linked in, so that it cannot load \(url.lastPathComponent), which would bring a "
          + "second one. Use the tool that `make build` makes in .build/debug, or run `swift package coredata` in the "
          + "app's package.")
    }
    guard let library = dlopen(url.path, RTLD_NOW | RTLD_LOCAL) else {
      throw CommandFailure(
        .migrationImpossible, refusal(of: url, dlerror().map { String(cString: $0) } ?? "unknown error"))
    }
    // The symbol of the class's type descriptor, which a library that shares the tool's `CoreData` does not define.
    guard dlsym(library, "$s8CoreData23NSEntityMigrationPolicyCMn") == nil else {
      throw CommandFailure(
        .migrationImpossible,
        "\(url.lastPathComponent) contains CoreData itself, so that its policies are not those that this tool calls. "
          + "Link it without the product CoreData, or run `swift package coredata` in the app's package.")
    }
    ProgramClasses.add(modules: [module(of: url)])
  }

  /// Whether the Swift runtime is a shared library in this process.
  private static var sharesRuntime: Bool {
    guard let runtime = dlopen("libswiftCore.so", RTLD_NOW | RTLD_NOLOAD) else { return false }
    dlclose(runtime)
    return true
  }

  static let advice =
    "Name a library that has them with --policies, or run `swift package coredata` in the app's package: that is this "
    + "tool with the app's classes."

  /// A paragraph for the help of commands that run policies.
  static let help =
    "Migration policies are classes of the app: --policies loads them from a library that was built for this very tool, and "
    + "`swift package coredata` is the tool with the classes of the package that it runs in."

  /// Returns the module built into a library with the file name.
  static func module(of library: URL) -> String {
    let name = library.lastPathComponent.prefix { $0 != "." }
    return String(name.hasPrefix("lib") ? name.dropFirst(3) : name)
  }

  private static func refusal(of library: URL, _ reason: String) -> String {
    guard reason.contains("undefined symbol: $s8CoreData") else {
      return "\(library.lastPathComponent) cannot be loaded: \(reason)."
    }
    return
      "\(library.lastPathComponent) needs symbols of CoreData that this tool does not have or show: it was built for "
      + "another version of it, or the tool was not linked with --export-dynamic, as `make build` does. In the "
      + "app's package, `swift package coredata` needs no library. (\(reason))"
  }
}
