// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataFileSystem
import CoreDataModelFiles
import Foundation

/// The location of a finding in the sources of a model, for editors and code review pages.
public struct FindingPlace: Hashable, Sendable {
  /// The contents file of a version, or the model itself if it is compiled.
  public let url: URL
  /// The line number, from 1.
  public let line: Int

  /// Locates a finding.
  ///
  /// - Parameters:
  ///   - entry: the finding.
  ///   - model: the bundle of the versions, or a single version.
  public init(of entry: ModelLint.Entry, in model: URL) {
    let version = model.appendingPathComponent("\(entry.version).xcdatamodel")
    let directory = FileCalls.isDirectory(version) ? version : model
    let contents = directory.appendingPathComponent("contents")
    guard directory.pathExtension == "xcdatamodel", let text = try? RegularFile.read(contents, limit: 1 << 26) else {
      // A compiled model has no lines.
      (url, line) = (model, 1)
      return
    }
    url = contents
    let lines = String(decoding: text, as: UTF8.self).split(
      omittingEmptySubsequences: false, whereSeparator: \.isNewline)
    line = Self.line(of: entry.finding.entity, entry.finding.property, in: lines)
  }

  private static func line(of entity: String?, _ property: String?, in lines: [Substring]) -> Int {
    guard let entity, let start = lines.firstIndex(where: { isElement($0, ["entity"], named: entity) }) else {
      return 1
    }
    let body = lines[(start + 1)...].prefix { !$0.contains("</entity>") && !$0.contains("<entity ") }
    let kinds = ["attribute", "relationship", "fetchedProperty"]
    guard let property, let place = body.firstIndex(where: { isElement($0, kinds, named: property) }) else {
      return start + 1
    }
    return place + 1
  }

  private static func isElement(_ line: Substring, _ kinds: [String], named name: String) -> Bool {
    kinds.contains { line.contains("<\($0) ") } && line.contains(" name=\"\(XMLOutput.escaped(name))\"")
  }
}
