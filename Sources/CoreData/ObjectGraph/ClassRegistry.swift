// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Finds classes by their names in models and mapping models.
///
/// A name may include its module (`App.Person`), begin with a dot (`.Person`, Xcode's "current product module"), or be
/// bare. The last two are looked up among the classes that the program has registered, and in the main executable's
/// module.
final class ClassRegistry: @unchecked Sendable {
  private let lock = NSLock()
  private var registered: [String: AnyClass] = [:]
  private var found: [String: AnyClass] = [:]
  private var isMissing: Set<String> = []

  /// Registers a class under a name. A name taken by another class stops the program, since which of the two would be
  /// found would depend on the order of registration.
  func register(_ type: AnyClass, as name: String) {
    let other: AnyClass? = lock.withLock {
      if let known = registered[name], known != type { return known }
      registered[name] = type
      found = [:]
      isMissing = []
      return nil
    }
    if let other {
      preconditionFailure(
        "The class \(String(reflecting: type)) cannot be registered as '\(name)', which is the name of "
          + "\(String(reflecting: other)). Register it under another name, and use that in the model or mapping model.")
    }
  }

  /// Returns the subclass of `base` with that name, if any. Results are cached until a class is registered.
  func type<Class: AnyObject>(named name: String, of base: Class.Type) -> Class.Type? {
    lock.withLock {
      if let known = found[name] { return known as? Class.Type }
      if isMissing.contains(name) { return nil }
      let type = candidates(for: name).lazy.compactMap { $0 as? Class.Type }.first
      if let type { found[name] = type } else { isMissing.insert(name) }
      return type
    }
  }

  /// Returns the class of that name, whatever its superclass, for error messages.
  func anyType(named name: String) -> AnyClass? {
    lock.withLock { candidates(for: name).first }
  }

  private func candidates(for name: String) -> [AnyClass] {
    let bare = name.hasPrefix(".") ? String(name.dropFirst()) : name
    let known = [registered[name], registered[bare]].compactMap { $0 }
    // Foundation complains about names with two dots.
    let names = bare.contains(".") ? [bare] : [bare, "\(Self.mainModule).\(bare)"]
    return known + names.compactMap { NSClassFromString($0) }
  }

  /// The module of the main executable: its file name, with invalid characters replaced as SwiftPM does.
  private static let mainModule: String = {
    let name = URL(fileURLWithPath: CommandLine.arguments.first ?? "").deletingPathExtension().lastPathComponent
    return String(name.map { $0.isLetter || $0.isNumber || $0 == "_" ? $0 : "_" })
  }()
}
