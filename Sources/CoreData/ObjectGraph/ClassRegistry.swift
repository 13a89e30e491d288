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

  /// Makes a class known under a name.
  func register(_ type: AnyClass, as name: String) {
    lock.withLock {
      registered[name] = type
      found = [:]
    }
  }

  /// The class of that name that is wanted; nil where there is none. What is found is remembered.
  func type<Class: AnyObject>(named name: String, of base: Class.Type) -> Class.Type? {
    lock.withLock {
      if let known = found[name] { return known as? Class.Type }
      let type = candidates(for: name).lazy.compactMap { $0 as? Class.Type }.first
      if let type { found[name] = type }
      return type
    }
  }

  /// Has later questions for a name answered with a class, until another one is registered.
  func remember(_ type: AnyClass, as name: String) {
    lock.withLock { found[name] = type }
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
