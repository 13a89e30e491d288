// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataAnalysis
import Foundation
import PostgreSQLTestServer
import Testing

@Suite("Transcripts of the command")
struct TranscriptTests {
  /// `COREDATA_RECORD_TRANSCRIPTS=1` writes what comes out into the transcripts, to be read and committed.
  private static let isRecording = ProcessInfo.processInfo.environment["COREDATA_RECORD_TRANSCRIPTS"] != nil

  @Test("Every command writes what its transcript says", arguments: try Transcript.names(needing: nil))
  func transcript(_ name: String) throws { try check(name) { $0 } }

  @Test(
    "Every command that serves pages writes what its transcript says",
    .enabled(if: ProgramRun.isPresent, "The program was not built"), arguments: try Transcript.names(needing: .program))
  func program(_ name: String) throws { try check(name) { $0 } }

  /// The version of the server moves the breaks of lines.
  @Test(
    "Every command writes of a store in PostgreSQL what its transcript says", .needsPostgreSQL,
    arguments: try Transcript.names(needing: .server))
  func server(_ name: String) throws { try check(name, Self.unwrapped) }

  /// Returns lines without the breaks that the width of a terminal has made: the next line is indented further then.
  private static func unwrapped(_ lines: [String]) -> [String] {
    lines.reduce(into: []) { result, line in
      let isContinued = line.hasPrefix("           ") && !line.dropFirst(11).hasPrefix(" ") && !result.isEmpty
      if isContinued { result[result.count - 1] += " " + line.dropFirst(11) } else { result.append(line) }
    }
  }

  private func check(_ name: String, _ lines: ([String]) -> [String]) throws {
    let transcript = try Transcript(named: name)
    let outcomes = try TranscriptRun(transcript).commands()
    guard !Self.isRecording else { return try transcript.record(outcomes) }
    for (expected, outcome) in zip(transcript.commands, outcomes) {
      guard let difference = Placeholder.difference(lines(expected.lines), lines(outcome.lines)) else { continue }
      Issue.record("\(name).txt:\(expected.line): $ \(expected.text)\n\(difference)")
    }
  }

  @Test(
    "Every code has a transcript that raises it, and the same command does not in a case without harm",
    arguments: FindingCode.allCases)
  func covered(code: FindingCode) throws {
    let transcript = try Transcript(named: code.rawValue)
    #expect(transcript.title == "\(code.rawValue): \(code.page.title)")
    let raised = transcript.commands.filter { $0.raises(code) }
    #expect(!raised.isEmpty, "No command of \(code.rawValue).txt raises it.")
    let isQuiet = transcript.commands.contains { command in
      !command.mentions(code) && raised.contains { $0.words == command.words }
    }
    #expect(isQuiet, "No command of \(code.rawValue).txt raises it in one case and not in another.")
  }

  @Test("A text that is not of the form is refused, with the line")
  func malformed() {
    func reason(_ text: String) -> String {
      do {
        _ = try Transcript(name: "T", text: text)
        return "none"
      } catch { return "\(error)" }
    }
    #expect(reason("Title\n\n$ coredata explain\n[0]\n") == "none")
    #expect(reason("Title\n$ coredata explain\n[0]\n").hasPrefix("T.txt:1: The first line must be a title"))
    #expect(reason("Title\n\nText only.\n").hasSuffix("There is no command."))
    #expect(reason("Title\n\n$ coredata explain\nno status\n") == "T.txt:3: The command has no status, as [0].")
    #expect(
      reason("Title\n\n$ coredata a\n$ coredata b\n[0]\n") == "T.txt:3: The command has no status, as [0].")
    #expect(reason("Title\n\n$ coredata a\n2> e\no\n[0]\n") == "T.txt:5: Output must come before errors.")
    #expect(reason("Title\n\n$ coredata a\n«anything»\n[0]\n") == "T.txt:4: There is no placeholder «anything».")
    #expect(reason("Title\n\n  indented\n$ coredata a\n[0]\n").hasPrefix("T.txt:3: Neither text nor"))
    #expect(reason("Title\n\n$ coredata \"a\n[0]\n") == "T.txt:3: A quotation mark has no second one.")
  }

  @Test("Placeholders stand for what they name, and for nothing else; a difference shows both sides")
  func placeholders() {
    #expect(Placeholder.line("needs «size» here", isLike: "needs 97 MB here"))
    #expect(Placeholder.line("needs «size» (a.b)", isLike: "needs 1.5 kB (a.b)"))
    #expect(!Placeholder.line("needs «size» (a.b)", isLike: "needs 1.5 kB (aXb)"))
    #expect(!Placeholder.line("needs «size»", isLike: "needs much"))
    #expect(!Placeholder.line("needs «size»", isLike: "it needs 97 MB"))
    #expect(Placeholder.line("«number» bytes", isLike: "1,234,567 bytes"))
    #expect(!Placeholder.line("«number» bytes", isLike: "1,2 bytes"))
    #expect(Placeholder.difference(["a", "«size»"], ["a", "3 MB"]) == nil)
    #expect(Placeholder.difference(["a", "b", "[0]"], ["a", "c", "[1]"]) == "  a\n- b\n- [0]\n+ c\n+ [1]")
  }
}

extension Transcript.Command {
  /// Whether the output has the code as an error or a warning.
  fileprivate func raises(_ code: FindingCode) -> Bool {
    output.contains { line in
      line.contains(code.rawValue) && !line.trimmingCharacters(in: .whitespaces).hasPrefix("info ")
    }
  }

  fileprivate func mentions(_ code: FindingCode) -> Bool { lines.contains { $0.contains(code.rawValue) } }
}

extension Transcript {
  /// Writes what commands have written into the file. Lines with placeholders stay where they fit.
  fileprivate func record(_ outcomes: [Command]) throws {
    var lines = try String(contentsOf: url, encoding: .utf8).components(separatedBy: "\n")
    for (command, outcome) in zip(commands, outcomes).reversed() {
      let open = command.lines.filter { $0.contains("«") }
      let new = outcome.lines.map { line in open.first { Placeholder.line($0, isLike: line) } ?? line }
      lines.replaceSubrange(command.line..<command.line + command.lines.count, with: new)
    }
    try lines.joined(separator: "\n").write(to: url, atomically: true, encoding: .utf8)
  }
}
