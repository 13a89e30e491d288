// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Finds classes by the names that models and mapping models have for them.
///
/// A name may carry its module (`App.Person`), begin with a dot (`.Person`, Xcode's "current product module"), or be bare;
/// the last two are looked for among the classes that the program has registered, and in the main executable's module.
final class ClassRegistry: @unchecked Sendable {
  private let lock = NSLock()
  private var registered: [String: AnyClass] = [:]
  private var found: [String: AnyClass] = [:]
  private var isMissing: Set<String> = []

  /// Makes a class known under a name. A name that another class has stops the program: which of the two would be found
  /// would depend on what runs first.
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
        "The class \(String(reflecting: type)) cannot be registered as '\(name)': \(String(reflecting: other)) has that name. "
          + "Register it under another one, and let the model or mapping model say it.")
    }
  }

  /// The class of that name that is wanted; nil where there is none. What was looked for is remembered until a class is
  /// registered.
  func type<Class: AnyObject>(named name: String, of base: Class.Type) -> Class.Type? {
    lock.withLock {
      if let known = found[name] { return known as? Class.Type }
      if isMissing.contains(name) { return nil }
      let type = candidates(for: name).lazy.compactMap { $0 as? Class.Type }.first
      if let type { found[name] = type } else { isMissing.insert(name) }
      return type
    }
  }

  /// Any class of that name, of whatever kind: for messages.
  func anyType(named name: String) -> AnyClass? {
    lock.withLock { candidates(for: name).first }
  }

  private func candidates(for name: String) -> [AnyClass] {
    let bare = name.hasPrefix(".") ? String(name.dropFirst()) : name
    let known = [registered[name], registered[bare]].compactMap { $0 }
    // A name that has a module needs no other one; Foundation complains about names with two dots.
    let names = bare.contains(".") ? [bare] : [bare, "\(Self.mainModule).\(bare)"]
    return known + names.compactMap { NSClassFromString($0) }
  }

  /// The module of the main executable: its file name, with what no module name can hold replaced as SwiftPM does.
  private static let mainModule: String = {
    let name = URL(fileURLWithPath: CommandLine.arguments.first ?? "").deletingPathExtension().lastPathComponent
    return String(name.map { $0.isLetter || $0.isNumber || $0 == "_" ? $0 : "_" })
  }()
}
