// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataTerminal
import CoreDataTestSupport
import Foundation
import PostgreSQLTestServer
import Testing

@testable import CoreDataCommand

/// What commands write to a terminal of 80 columns.
@Suite("Output at 80 columns")
struct TerminalWidthTests {
  private static let columns = TextLayout.terminalWidth

  /// The commands whose output is a file for programs, or that do not end, and so have no width.
  private static let withoutWidth: [[String]: String] = [
    ["completions"]: "a script for a shell",
    ["manual"]: "a page for man, which wraps it",
    ["mapping", "show"]: "a source for mapping compile",
    ["model", "graph"]: "a source for other programs",
    ["store", "browse"]: "serves pages until it is stopped",
    ["store", "export"]: "lines of JSON, or CSV",
    ["store", "report"]: "a page",
  ]

  /// Whether a command line asks for something that has no width: another format, SQL or a patch.
  private static func isForPrograms(_ words: [String]) -> Bool {
    let formats = zip(words, words.dropFirst()).filter { $0.0 == "--format" }.map(\.1)
    return formats.contains { $0 != "text" && $0 != "table" } || words.contains("--sql") || words.contains("--as")
      || (words.first == "port" && words.contains("--dry-run")) || withoutWidth[Array(words.prefix(1))] != nil
      || withoutWidth[Array(words.prefix(2))] != nil
  }

  /// The lines that are too wide. Those with a URL, a path of the test or a command to copy may be.
  private static func wide(_ text: String, except place: String? = nil) -> [String] {
    text.components(separatedBy: .newlines).map { TextLayout.withoutStyles($0) }.filter { line in
      TextLayout.width(of: line) > columns && !line.contains("://") && place.map { !line.contains($0) } ?? true
        && !line.drop { $0 == " " }.hasPrefix("coredata ")
        // The first line of an inferred mapping, which has three names, as in a .mapping.
        && !line.hasPrefix("IEM_")
    }
  }

  /// The words of values for which transcripts have placeholders: units of sizes, and the name of the server.
  private static let units: Set<Substring> = ["bytes", "kB", "MB", "GB", "TB", "PostgreSQL"]

  /// The words that a terminal shows and a file does not have: parts of broken ones.
  private static func broken(_ text: String, _ whole: [String]) -> [String] {
    func words(_ text: String) -> Set<Substring> {
      Set(TextLayout.withoutStyles(text).split(whereSeparator: \.isWhitespace).filter { $0.allSatisfy(\.isLetter) })
    }
    return words(text).subtracting(words(whole.joined(separator: "\n"))).subtracting(units).sorted().map(String.init)
  }

  @Test("No help is wider", arguments: CommandLineTool.commands.map { $0.specification.path })
  func help(path: [String]) {
    for words in [[], Array(path.prefix(1)), path] {
      let run = CommandRun(words + ["--help"], terminalWidth: Self.columns, showsOutput: true)
      #expect(run.status == .done && Self.wide(run.output) == [], "coredata \(words.joined(separator: " "))")
    }
  }

  @Test(
    "No command of a transcript writes a wider line, or breaks a word", arguments: try Transcript.names(needing: nil))
  func transcript(_ name: String) throws { try check(name) }

  @Test(
    "Nor does one of a transcript with stores in PostgreSQL", .needsPostgreSQL,
    arguments: try Transcript.names(needing: .server))
  func server(_ name: String) throws { try check(name) }

  private func check(_ name: String) throws {
    let transcript = try Transcript(named: name)
    let outcomes = try TranscriptRun(transcript, columns: Self.columns).commands()
    for (expected, outcome) in zip(transcript.commands, outcomes)
    where !Self.isForPrograms(Array(expected.words.dropFirst())) && expected.words.first == "coredata" {
      let lines = (outcome.output + outcome.error).joined(separator: "\n")
      #expect(Self.wide(lines) == [], "\(name).txt:\(expected.line): $ \(expected.text)")
      let broken = Self.broken(outcome.output.joined(separator: "\n"), expected.output)
      #expect(broken == [], "\(name).txt:\(expected.line): $ \(expected.text)")
    }
  }

  @Test("Nor does any other command, with names of usual length")
  func others() throws {
    let gallery = try Gallery()
    for words in Gallery.commands {
      let run = CommandRun(words.map(gallery.path), terminalWidth: Self.columns, showsOutput: true)
      let command = "coredata \(words.joined(separator: " "))"
      let isRun = run.status.rawValue < ExitStatus.failed.rawValue || words.contains("again.jsonl")
      #expect(isRun, "\(command): \(run.error)")
      #expect(Self.wide(run.output + run.error, except: gallery.directory.url.path) == [], "\(command)")
    }
  }

  @Test("Every command is looked at")
  func everyCommand() throws {
    let lines = try Transcript.names.flatMap { try Transcript(named: $0).commands.map { Array($0.words.dropFirst()) } }
    let seen = Set(
      (lines + Gallery.commands).filter { !Self.isForPrograms($0) }.flatMap {
        [Array($0.prefix(1)), Array($0.prefix(2))]
      })
    for path in CommandLineTool.commands.map({ $0.specification.path }) {
      #expect(seen.contains(path) != (Self.withoutWidth[path] != nil), "coredata \(path.joined(separator: " "))")
    }
  }
}

/// A model of two versions and a store of the first, with entities and properties that have long names.
private final class Gallery {
  let directory: TemporaryDirectory

  /// The command lines, in their order. Words that name files do so in the directory.
  static let commands: [[String]] = [
    ["model", "show", "Gallery.xcdatamodeld"], ["model", "versions", "Gallery.xcdatamodeld", "--hashes"],
    ["model", "diff", "Gallery.xcdatamodeld@Gallery", "Gallery.xcdatamodeld@Gallery 2"],
    ["model", "compile", "Gallery.xcdatamodeld", "-o", "Gallery.momd"],
    ["model", "decompile", "Gallery.momd", "-o", "Copy.xcdatamodeld"],
    ["model", "lint", "Gallery.xcdatamodeld", "--rolling", "--all-steps", "-v"],
    ["mapping", "infer", "Gallery.xcdatamodeld@Gallery", "Gallery.xcdatamodeld@Gallery 2"],
    [
      "mapping", "new", "Gallery.xcdatamodeld@Gallery", "Gallery.xcdatamodeld@Gallery 2", "-o",
      "Gallery.xcmappingmodel",
    ],
    [
      "mapping", "check", "Gallery.xcmappingmodel", "Gallery.xcdatamodeld@Gallery", "Gallery.xcdatamodeld@Gallery 2",
    ],
    ["mapping", "compile", "Gallery.xcmappingmodel", "-o", "Gallery.cdm"],
    ["store", "info", "Gallery.sqlite"], ["store", "info", "Gallery.sqlite", "-v"],
    ["store", "match", "Gallery.sqlite", "Gallery.xcdatamodeld"], ["store", "verify", "Gallery.sqlite"],
    ["store", "query", "Gallery.sqlite", "InstallationPhotograph"],
    ["store", "query", "Gallery.sqlite", "ExhibitionCatalogue", "--show", "titleOfTheExhibition,openedOn"],
    ["store", "get", "Gallery.sqlite", "InstallationPhotograph/p1"],
    ["store", "set", "Gallery.sqlite", "InstallationPhotograph/p1", "isReleasedForPrint=true"],
    ["store", "set", "Gallery.sqlite", "InstallationPhotograph/p1", "isReleased=true"],
    ["store", "import", "Gallery.sqlite", "again.jsonl"],
    ["store", "delete", "Gallery.sqlite", "InstallationPhotograph/p2"],
    ["store", "create", "Empty.sqlite", "Gallery.xcdatamodeld"], ["store", "copy", "Gallery.sqlite", "Copy.sqlite"],
    ["store", "diff", "Gallery.sqlite", "Gallery~.sqlite"],
    ["store", "extract-model", "Gallery.sqlite", "-o", "Extracted.xcdatamodel"],
    ["migrate", "status", "Gallery.sqlite", "Gallery.xcdatamodeld"],
    ["migrate", "plan", "Gallery.sqlite", "Gallery.xcdatamodeld"],
    ["migrate", "run", "Gallery.sqlite", "Gallery.xcdatamodeld", "--allow-loss"],
    ["migrate", "rehearse", "Gallery.xcdatamodeld"], ["migrate", "check", "Gallery.xcdatamodeld"],
    ["migrate", "recover", "Gallery.sqlite"], ["migrate", "restore", "Gallery.sqlite", "Gallery~.sqlite"],
    ["doctor", "Gallery.sqlite", "Gallery.xcdatamodeld"], ["doctor", "none.sqlite"], ["explain"], ["explain", "DS102"],
    ["explain", "134110"], ["explain", "nothing"],
  ]

  init() throws {
    directory = try TemporaryDirectory()
    try directory.write(Self.model(Self.first), to: "Gallery.xcdatamodeld/Gallery.xcdatamodel/contents")
    let run = CommandRun("store", "create", path("Gallery.sqlite"), path("Gallery.xcdatamodeld"))
    try #require(run.status == .done, "\(run.error)")
    try directory.write(Self.rows, to: "rows.jsonl")
    let filled = CommandRun("store", "import", path("Gallery.sqlite"), path("rows.jsonl"), "--no-backup")
    try #require(filled.status == .done, "\(filled.error)")
    try directory.write(Self.rows, to: "again.jsonl")
    try directory.write(Self.model(Self.second), to: "Gallery.xcdatamodeld/Gallery 2.xcdatamodel/contents")
    let marker = try PropertyListSerialization.data(
      fromPropertyList: ["_XCCurrentVersionName": "Gallery 2.xcdatamodel"], format: .xml, options: 0)
    try directory.write(marker, to: "Gallery.xcdatamodeld/.xccurrentversion")
  }

  /// Returns a word with its directory if it names a file.
  func path(_ word: String) -> String {
    word.wholeMatch(of: /[A-Za-z~]+\.[a-z]+(@.*)?/) == nil ? word : directory.path(word)
  }

  private static let rows = (1...3).map { number in
    """
    {"entity":"ExhibitionCatalogue","id":"c\(number)","values":{"titleOfTheExhibition":"The gardens of the north, part \
    \(number)","numberOfCopies":\(number * 1_000),"openedOn":"2026-03-0\(number)T10:00:00.000000Z"}}
    {"entity":"InstallationPhotograph","id":"p\(number)","values":{"photographerOfTheOriginal":"Nora Example and her \
    three assistants","isReleasedForPrint":false,"catalogueOfTheExhibition":"c\(number)"}}

    """
  }.joined()

  private static func model(_ entities: String) -> String {
    """
    <?xml version="1.0" encoding="UTF-8" standalone="yes"?>
    <model type="com.apple.IDECoreDataModeler.DataModel" documentVersion="1.0" userDefinedModelVersionIdentifier="">
    \(entities)
    </model>
    """
  }

  private static func catalogue(_ attributes: String) -> String {
    """
    <entity name="ExhibitionCatalogue">
    <attribute name="titleOfTheExhibition" attributeType="String" defaultValueString=""/>
    <attribute name="openedOn" optional="YES" attributeType="Date"/>\(attributes)
    <relationship name="photographsOfTheRooms" optional="YES" toMany="YES" deletionRule="Cascade"
    destinationEntity="InstallationPhotograph" inverseName="catalogueOfTheExhibition"
    inverseEntity="InstallationPhotograph"/>
    <uniquenessConstraints><uniquenessConstraint><constraint value="titleOfTheExhibition"/></uniquenessConstraint>
    </uniquenessConstraints></entity>
    """
  }

  private static func photograph(_ attributes: String) -> String {
    """
    <entity name="InstallationPhotograph">\(attributes)
    <attribute name="isReleasedForPrint" attributeType="Boolean" defaultValueString="NO"/>
    <relationship name="catalogueOfTheExhibition" optional="YES" maxCount="1" deletionRule="Nullify"
    destinationEntity="ExhibitionCatalogue" inverseName="photographsOfTheRooms" inverseEntity="ExhibitionCatalogue"/>
    </entity>
    """
  }

  private static let first =
    catalogue(#"<attribute name="numberOfCopies" attributeType="Integer 64" defaultValueString="0"/>"#)
    + photograph(#"<attribute name="photographerOfTheOriginal" optional="YES" attributeType="String"/>"#)
  private static let second =
    catalogue(#"<attribute name="numberOfPrintedCopies" attributeType="Integer 64" defaultValueString="0"/>"#)
    + photograph(
      #"<attribute name="photographer" optional="YES" attributeType="String" elementID="photographerOfTheOriginal"/>"#)
}
