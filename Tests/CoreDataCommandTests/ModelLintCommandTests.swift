// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataTestSupport
import Foundation
import FoundationXML
import Testing

@Suite("coredata model lint, coredata model lock")
struct ModelLintCommandTests {
  private let folder: Workshop
  private let model: String

  /// A model of two versions, of which the second lacks Item.note and has Item.description.
  init() throws {
    folder = try Workshop()
    model = folder.path("M.xcdatamodeld")
    try write("M", ["note"])
    try write("M 2", ["description"])
    let current = """
      <?xml version="1.0" encoding="UTF-8"?>
      <plist version="1.0"><dict><key>_XCCurrentVersionName</key><string>M 2.xcdatamodel</string></dict></plist>
      """
    try Data(current.utf8).write(to: URL(fileURLWithPath: model + "/.xccurrentversion"))
  }

  private func write(_ version: String, _ attributes: [String]) throws {
    let url = URL(fileURLWithPath: "\(model)/\(version).xcdatamodel/contents")
    try FileManager.default.createDirectory(at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
    let lines = attributes.map { "    <attribute name=\"\($0)\" optional=\"YES\" attributeType=\"String\"/>\n" }
      .joined()
    let text = """
      <?xml version="1.0" encoding="UTF-8"?>
      <model type="com.apple.IDECoreDataModeler.DataModel" documentVersion="1.0">
        <entity name="Item">
      \(lines)  </entity>
      </model>

      """
    try Data(text.utf8).write(to: url)
  }

  @Test("A current version that does not exist is an error, which names it and those that exist")
  func missingCurrent() throws {
    let file = URL(fileURLWithPath: model + "/.xccurrentversion")
    let text = try String(contentsOf: file, encoding: .utf8).replacingOccurrences(of: "M 2.", with: "M 9.")
    try Data(text.utf8).write(to: file)
    for command in [["model", "lint"], ["model", "lock"], ["model", "lock", "--check"], ["migrate", "check"]] {
      let run = CommandRun(command + [model])
      #expect(run.status == .invalidModel, "\(command)")
      #expect(
        run.error.contains("the version marked as current, \"M 9\", is missing. Mark one of \"M\", \"M 2\""),
        "\(run.error)")
    }
    #expect(!FileManager.default.fileExists(atPath: folder.path("coredata.lock")))
    let versions = CommandRun("model", "versions", model)
    #expect(versions.status == .done && versions.error.contains("marked as current, \"M 9\", is missing"))
  }

  @Test("What many versions have in common is one note, and each is a warning in JSON")
  func repeatedNotes() throws {
    for number in 3...5 {
      try write("M \(number)", ["note"])
      let url = URL(fileURLWithPath: "\(model)/M \(number).xcdatamodel/contents")
      let text = try String(contentsOf: url, encoding: .utf8)
        .replacingOccurrences(of: "\"String\"", with: "\"Integer 16\" defaultValueString=\"NO\"")
      try Data(text.utf8).write(to: url)
    }
    let run = CommandRun(["model", "versions", model, "--format", "json"])
    #expect(run.error.split(separator: "\n").filter { $0.hasPrefix("note: ") }.count == 1, "\(run.error)")
    #expect(run.error.contains("The same was found in 2 other places."))
    #expect((try run.json["warnings"] as? [String])?.count == 3)
  }

  @Test("Findings are written by step, with a summary, and the exit status is 1 for errors")
  func text() {
    let run = CommandRun(["model", "lint", model])
    #expect(run.status == .no)
    #expect(
      run.output == """
        M.xcdatamodeld  2 versions, current M 2; 1 step judged

        M -> M 2
          error  DS102  Item.note: the attribute is removed
        M 2
          warn   MD502  Item.description: NSManagedObject has a property of this name

        1 error, 1 warning.

        """)
    let lowered = CommandRun(["model", "lint", model, "--level", "DS102=warn", "--level", "md502=off"])
    #expect(lowered.status == .done && lowered.output.hasSuffix("0 errors, 1 warning.\n"))
    let allowed = CommandRun(["model", "lint", model, "--allow", "DS102:Item.note"])
    #expect(allowed.status == .done)
    #expect(allowed.output.hasSuffix("0 errors, 1 warning; 1 more is information (-v shows them).\n"))
    #expect(CommandRun(["model", "lint", model, "--level", "DS999=off"]).status == .usage)
    #expect(CommandRun(["model", "lint", model + "x"]).status == .invalidModel)
  }

  @Test("Annotations, SARIF, JUnit, JSON and Markdown name file and line of the finding")
  func formats() throws {
    let contents = "\(model)/M 2.xcdatamodel/contents"
    let annotations = CommandRun(["model", "lint", model, "--format", "github"]).output
    #expect(
      annotations == """
        ::error file=\(contents),line=3,title=DS102%3A values of an attribute would be dropped::\
        Item.note: the attribute is removed
        ::warning file=\(contents),line=4,title=MD502%3A the name of a property is taken by NSManagedObject::\
        Item.description: NSManagedObject has a property of this name

        """)
    let json = try object(["model", "lint", model, "--format", "json"])
    #expect(json["format"] as? String == "coredata.model-lint/1")
    let findings = try #require(json["findings"] as? [[String: Any]])
    #expect(findings.map { $0["line"] as? Int } == [3, 4] && findings[0]["file"] as? String == contents)
    let sarif = try object(["model", "lint", model, "--format", "sarif"])
    #expect(sarif["version"] as? String == "2.1.0")
    let runs = try #require(sarif["runs"] as? [[String: Any]])
    let results = try #require(runs[0]["results"] as? [[String: Any]])
    #expect(results.map { $0["ruleId"] as? String } == ["DS102", "MD502"])
    #expect(results.map { $0["level"] as? String } == ["error", "warning"])
    let junit = CommandRun(["model", "lint", model, "--format", "junit"]).output
    #expect(try elements(junit) == ["testsuites", "testsuite", "testcase M -> M 2", "failure", "testcase M 2"])
    #expect(CommandRun(["model", "lint", model, "--format", "markdown"]).output.contains("| error | DS102 | M 2 |"))
  }

  private func object(_ arguments: [String]) throws -> [String: Any] {
    let output = CommandRun(arguments).output
    return try #require(try JSONSerialization.jsonObject(with: Data(output.utf8)) as? [String: Any])
  }

  /// The elements of an XML text, test cases with their names.
  private func elements(_ text: String) throws -> [String] {
    final class Collector: NSObject, XMLParserDelegate {
      var elements: [String] = []
      func parser(
        _ parser: XMLParser, didStartElement name: String, namespaceURI: String?, qualifiedName: String?,
        attributes: [String: String]
      ) {
        elements.append(name == "testcase" ? "testcase \(attributes["name"] ?? "")" : name)
      }
    }
    let collector = Collector()
    let parser = XMLParser(data: Data(text.utf8))
    parser.delegate = collector
    #expect(parser.parse())
    return collector.elements
  }

  @Test("A lock makes shipped steps information, and tells an edited version with file and line")
  func lock() throws {
    #expect(CommandRun(["model", "lock", model, "--check"]).status == .invalidModel)
    let first = CommandRun(["model", "lock", model])
    #expect(first.status == .done && first.output == "coredata.lock: locked M, M 2.\n")
    #expect(CommandRun(["model", "lock", model]).output == "coredata.lock: all versions were locked already.\n")
    let check = CommandRun(["model", "lock", model, "--check"])
    #expect(check.status == .done)
    #expect(check.output == "The locked versions of M.xcdatamodeld are as they were shipped.\n")
    #expect(CommandRun(["model", "lint", model]).status == .done)
    try write("M", ["note", "more"])
    let edited = CommandRun(["model", "lock", model, "--check", "--format", "github"])
    #expect(edited.status == .no)
    #expect(
      edited.output.hasPrefix("::error file=\(model)/M.xcdatamodel/contents,line=5,title=VR401")
        && edited.output.hasSuffix("::Item.more: was not in the version that was shipped\n"))
    #expect(CommandRun(["model", "lock", model]).output.hasSuffix("Nothing was written.\n"))
    #expect(CommandRun(["model", "lint", model]).output.contains("error  VR401  Item.more"))
    #expect(CommandRun(["model", "lock", model, "--update"]).output.hasSuffix("\ncoredata.lock: locked anew.\n"))
    #expect(CommandRun(["model", "lock", model, "--check"]).status == .done)
    #expect(CommandRun(["model", "lock", model, "--check", "--update"]).status == .usage)
    // A single version stands for its bundle.
    let single = CommandRun(["model", "lock", model + "/M.xcdatamodel", "--check"])
    #expect(single.status == .done && single.output.contains("M 2") == false)
    let other = folder.path("other.lock")
    try Data("{\"format\": \"coredata.lock/1\", \"models\": {}}".utf8).write(to: URL(fileURLWithPath: other))
    let unlocked = CommandRun(["model", "lint", model, "--lock", other])
    #expect(unlocked.status == .invalidModel && unlocked.error.contains("has no model M.xcdatamodeld"))
    #expect(mkfifo(folder.path("fifo.lock"), 0o600) == 0)
    #expect(CommandRun(["model", "lock", model, "--file", folder.path("fifo.lock")]).status == .invalidModel)
    #expect(CommandRun(["model", "lock", model, "--file", folder.path("none/x.lock")]).status == .failed)
  }

  @Test("A lock that does not protect the model stops the check: empty, or with the model under another name")
  func uselessLock() throws {
    try #require(CommandRun(["model", "lock", model]).status == .done)
    let file = URL(fileURLWithPath: folder.path("coredata.lock"))
    let text = try String(contentsOf: file, encoding: .utf8)
    for arguments in [["model", "lint", model], ["migrate", "check", model]] {
      try Data(text.replacingOccurrences(of: "\"M.xcdatamodeld\"", with: "\"Old.xcdatamodeld\"").utf8).write(to: file)
      let renamed = CommandRun(arguments)
      #expect(renamed.status == .invalidModel && renamed.error.contains("under the name Old.xcdatamodeld"))
      try Data().write(to: file)
      #expect(CommandRun(arguments).status == .invalidModel)
      // A lock of other models does not lock a new one.
      try Data("{\"format\": \"coredata.lock/1\", \"models\": {}}".utf8).write(to: file)
      #expect(CommandRun(arguments).status != .invalidModel)
    }
  }

  @Test("The lock is none of the files that a result may replace", arguments: ["lint", "lock"])
  func lockAsOutput(command: String) throws {
    try #require(CommandRun(["model", "lock", model]).status == .done)
    let lock = folder.path("coredata.lock")
    let before = try Data(contentsOf: URL(fileURLWithPath: lock))
    let option = command == "lock" ? "--file" : "--lock"
    for arguments in [[model], [model + "/M.xcdatamodel"], [model, option, lock]] {
      let run = CommandRun(["model", command] + arguments + ["--output", lock])
      #expect(run.status == .usage && run.error.contains("Nothing was changed"))
    }
    #expect(try Data(contentsOf: URL(fileURLWithPath: lock)) == before)
    let other = folder.path("Other.lock")
    try before.write(to: URL(fileURLWithPath: other))
    let run = CommandRun(["model", command, model, option, other, "--output", other])
    #expect(run.status == .usage && run.error.contains("names \(option)"))
    #expect(try Data(contentsOf: URL(fileURLWithPath: other)) == before)
  }

  @Test("Names that were made to harm do no harm in any format")
  func hostile() throws {
    let name = "a&#10;::error::x&#155;[31m&lt;/failure&gt;&amp;%0A"
    try write("M", [name])
    try write("M 2", [])
    for format in ["text", "json", "markdown", "github", "sarif", "junit"] {
      let output = CommandRun(["model", "lint", model, "--format", format, "-v"]).output
      #expect(output.contains("DS102") && !output.unicodeScalars.contains("\u{9B}"), "\(format)")
      if format == "github" {
        #expect(output.split(separator: "\n").allSatisfy { $0.hasPrefix("::") && !$0.hasPrefix("::error::") })
      }
      if format == "junit" { #expect(try elements(output).contains("failure")) }
    }
  }
}
