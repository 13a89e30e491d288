// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Model sources: `.xcdatamodel` packages, and `.xcdatamodeld` folders of them.
extension ModelBundle {
  /// Writes all versions as an `.xcdatamodeld`, with the mark of the current one, in one step: the old folder stays until
  /// the new one is complete.
  ///
  /// - Parameters:
  ///   - versions: the versions by name; the names become those of the packages.
  ///   - current: the version which new stores get.
  /// - Throws: `ModelFileError` for a model that makes no sense, or holds what a source cannot say, or for a name that no
  ///   file can have; else what the file system says.
  package static func writeSource(
    _ versions: [Version], current: String, style: SourceStyle = .current, to url: URL
  ) throws {
    try checkNames(of: versions, current: current, for: url)
    try FolderReplacement.write(to: url) { folder in
      for version in versions {
        let package = folder.appendingPathComponent(version.name + ".xcdatamodel", isDirectory: true)
        try FileManager.default.createDirectory(at: package, withIntermediateDirectories: false)
        try contents(of: version.document, style, file: url).write(to: package.appendingPathComponent("contents"))
      }
      try currentVersionMark(current).write(to: folder.appendingPathComponent(".xccurrentversion"))
    }
  }

  /// Writes one version as an `.xcdatamodel`, in one step.
  /// - Throws: as for an `.xcdatamodeld`.
  package static func writeSource(_ document: ModelDocument, style: SourceStyle = .current, to url: URL) throws {
    try FolderReplacement.write(to: url) { folder in
      try contents(of: document, style, file: url).write(to: folder.appendingPathComponent("contents"))
    }
  }

  private static func contents(of document: ModelDocument, _ style: SourceStyle, file: URL) throws -> Data {
    do {
      try document.validate()
      return Data(try XCDataModelWriter.text(of: document, style: style).utf8)
    } catch let error as ModelFileError {
      throw error.inFile(file)
    }
  }

  /// The property list that names the current version, laid out as Xcode does.
  private static func currentVersionMark(_ name: String) -> Data {
    Data(
      """
      <?xml version="1.0" encoding="UTF-8"?>
      <!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
      <plist version="1.0">
      <dict>
      \t<key>_XCCurrentVersionName</key>
      \t<string>\(XMLOutput.escaped(name)).xcdatamodel</string>
      </dict>
      </plist>

      """.utf8)
  }
}
