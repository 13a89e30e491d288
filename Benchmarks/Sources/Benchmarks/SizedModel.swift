// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Models that are large in one respect, in the form of Xcode's sources.
enum SizedModel: String, CaseIterable, Sendable {
  /// A ring of entities with an attribute and a relationship each.
  case entities2000
  case entities10000
  /// One entity below the other, each with an attribute.
  case depth499
  /// Fifty entities.
  case attributes1000
  /// Versions of nine entities, of which one changes its name from each to the next.
  case versions500

  /// How the rows of the results call the size.
  var title: String {
    switch self {
    case .entities2000: "2,000 entities"
    case .entities10000: "10,000 entities"
    case .depth499: "inheritance of 499 entities"
    case .attributes1000: "50 entities of 1,000 attributes"
    case .versions500: "500 versions"
    }
  }

  func bundle(in folder: URL) -> URL { folder.appendingPathComponent("\(rawValue).xcdatamodeld", isDirectory: true) }

  var firstVersion: String { name(of: 1) }
  var lastVersion: String { name(of: versionCount) }

  private var versionCount: Int { self == .versions500 ? 500 : 2 }

  private func name(of version: Int) -> String { "Model \(version)" }

  /// Writes an `.xcdatamodeld` whose last version is the current one.
  func write(to url: URL) throws {
    for version in 1...versionCount {
      let package = url.appendingPathComponent("\(name(of: version)).xcdatamodel", isDirectory: true)
      try FileManager.default.createDirectory(at: package, withIntermediateDirectories: true)
      try Data(text(of: version).utf8).write(to: package.appendingPathComponent("contents"))
    }
    let mark = """
      <?xml version="1.0" encoding="UTF-8"?>
      <plist version="1.0">
      <dict><key>_XCCurrentVersionName</key><string>\(lastVersion).xcdatamodel</string></dict>
      </plist>

      """
    try Data(mark.utf8).write(to: url.appendingPathComponent(".xccurrentversion"))
  }

  private func text(of version: Int) -> String {
    let lines = [
      #"<?xml version="1.0" encoding="UTF-8" standalone="yes"?>"#,
      #"<model type="com.apple.IDECoreDataModeler.DataModel" documentVersion="1.0" lastSavedToolsVersion="22522" "#
        + #"systemVersion="23A344" minimumToolsVersion="Automatic" sourceLanguage="Swift">"#,
    ]
    return (lines + entities(of: version) + ["</model>", ""]).joined(separator: "\n")
  }

  private func entities(of version: Int) -> [String] {
    let added = version == 2 ? [Self.attribute("more")] : []
    switch self {
    case .entities2000: return Self.ring(2_000, [Self.attribute("name")] + added)
    case .entities10000: return Self.ring(10_000, [Self.attribute("name")] + added)
    case .depth499:
      return (0..<499).map { number in
        let parent = number == 0 ? "" : " parentEntity=\"Entity\(number - 1)\""
        let renamed = version == 2 && number == 5
        let attribute = Self.attribute(renamed ? "renamed" : "value\(number)", renamed ? "value5" : nil)
        return "<entity name=\"Entity\(number)\"\(parent)>\(attribute)</entity>"
      }
    case .attributes1000:
      let attributes = (0..<1_000).map { number in
        version == 2 && number == 7 ? Self.attribute("renamed", "value7") : Self.attribute("value\(number)")
      }
      return (0..<50).map { "<entity name=\"Entity\($0)\">\(attributes.joined())</entity>" }
    case .versions500:
      let attributes = (0..<version / 10 + 3).map { Self.attribute("value\($0)") }.joined()
      return (0..<8).map { "<entity name=\"Entity\($0)\">\(attributes)</entity>" }
        + ["<entity name=\"Changing\(version)\">\(Self.attribute("name"))</entity>"]
    }
  }

  private static func ring(_ count: Int, _ attributes: [String]) -> [String] {
    (0..<count).map { number in
      let (next, previous) = ("Entity\((number + 1) % count)", "Entity\((number + count - 1) % count)")
      return "<entity name=\"Entity\(number)\">\(attributes.joined())"
        + "<relationship name=\"next\" optional=\"YES\" maxCount=\"1\" deletionRule=\"Nullify\" "
        + "destinationEntity=\"\(next)\" inverseName=\"previous\" inverseEntity=\"\(next)\"/>"
        + "<relationship name=\"previous\" optional=\"YES\" toMany=\"YES\" deletionRule=\"Nullify\" "
        + "destinationEntity=\"\(previous)\" inverseName=\"next\" inverseEntity=\"\(previous)\"/></entity>"
    }
  }

  private static func attribute(_ name: String, _ old: String? = nil) -> String {
    "<attribute name=\"\(name)\" optional=\"YES\" attributeType=\"String\"\(old.map { " elementID=\"\($0)\"" } ?? "")/>"
  }
}
