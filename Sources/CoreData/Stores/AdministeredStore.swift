// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// A store in a server that can be examined, and backed up by the server's own tools.
package protocol AdministeredStore: ServerStore {
  /// Examines the server, the role of the connection, and the store. Changes nothing.
  ///
  /// - Throws: the errors of connecting, and of the server.
  static func examine(at url: URL) throws -> [ServerFinding]

  /// Writes a backup of a store into a directory.
  ///
  /// - Parameter name: the name of the new file, without an extension.
  /// - Returns: the file, which has its name only once it is complete, and the commands that restore it.
  /// - Throws: `BackupToolMissing`; 134070 if the tool fails. No file is left then.
  static func backUp(at url: URL, to directory: URL, name: String) throws -> ServerBackup
}

/// A fact about a server or a store in it.
package struct ServerFinding: Hashable, Sendable {
  package enum Level: Sendable {
    case ok, note, problem
  }

  package let level: Level
  /// The subject in one or two words.
  package let subject: String
  /// A sentence.
  package let text: String
  /// What to do, as a sentence; nil if there is nothing to do.
  package let cure: String?

  package init(_ level: Level, _ subject: String, _ text: String, cure: String? = nil) {
    (self.level, self.subject, self.text, self.cure) = (level, subject, text, cure)
  }
}

package struct ServerBackup: Sendable {
  package let file: URL
  /// The commands that replace the store by the backup, without a password.
  package let restoring: [String]

  package init(file: URL, restoring: [String]) { (self.file, self.restoring) = (file, restoring) }
}

/// The tool that makes backups is not installed.
package struct BackupToolMissing: Error {
  package let program: String
  /// A sentence that says how to install it.
  package let advice: String

  package init(program: String, advice: String) { (self.program, self.advice) = (program, advice) }
}
