// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// A new directory for the files of one test, removed with the last reference to it.
public final class TemporaryDirectory: Sendable {
  /// The directory.
  public let url: URL

  /// - Parameter pathExtension: the extension of the directory's name; empty for none.
  public init(pathExtension: String = "") throws {
    let name = "OpenCoreData-\(UUID().uuidString)" + (pathExtension.isEmpty ? "" : ".\(pathExtension)")
    url = FileManager.default.temporaryDirectory.appendingPathComponent(name)
    try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
  }

  deinit {
    // Some tests take away the permission to write. A directory that stays in the temporary one does no harm.
    try? FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: url.path)
    try? FileManager.default.removeItem(at: url)
  }

  /// The URL of a file in the directory.
  public func file(_ name: String) -> URL { url.appendingPathComponent(name) }

  /// The path of a file in the directory.
  public func path(_ name: String) -> String { file(name).path }

  /// Whether a file exists in the directory.
  public func exists(_ name: String) -> Bool { FileManager.default.fileExists(atPath: path(name)) }

  /// The names of the files in the directory, hidden ones included, sorted.
  public func files() throws -> [String] { try FileManager.default.contentsOfDirectory(atPath: url.path).sorted() }

  /// Writes text to a file, after making the directories of its path.
  @discardableResult
  public func write(_ text: String, to name: String) throws -> URL { try write(Data(text.utf8), to: name) }

  /// Writes bytes to a file, after making the directories of its path.
  @discardableResult
  public func write(_ bytes: Data, to name: String) throws -> URL {
    let url = file(name)
    try FileManager.default.createDirectory(at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
    try bytes.write(to: url)
    return url
  }
}
