// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Finds the migration policies that mapping models name.
///
/// A name in a mapping model may carry its module (`App.NotePolicy`), begin with a dot, or be bare; the last two are looked
/// for in the main executable's module and among the classes that the program has registered.
public enum MigrationPolicyClasses {
  private static let registry = ClassRegistry()

  /// Makes a policy known under the name that mapping models use for it.
  ///
  /// Needed only for classes of modules other than the main executable's, or whose module is called otherwise than in the
  /// mapping model. An addition to Apple's API.
  ///
  /// - Parameters:
  ///   - type: the class.
  ///   - name: the name in the mapping model, with its module where it is written so; the class's own name unless given.
  public static func register(_ type: NSEntityMigrationPolicy.Type, as name: String? = nil) {
    registry.register(type, as: name ?? String(describing: type))
  }

  /// The policy class of that name; nil where there is none.
  static func type(named name: String) -> NSEntityMigrationPolicy.Type? {
    registry.type(named: name, of: NSEntityMigrationPolicy.self)
  }

  /// Whether there is a class of that name, be it a policy or not.
  static func isKnown(_ name: String) -> Bool { registry.anyType(named: name) != nil }
}
