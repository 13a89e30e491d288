// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import CoreDataCommand

@Suite("coredata completions")
struct CompletionsCommandTests {
  /// What bash offers for a command line, whose last word is being written.
  private func offered(_ line: String) throws -> [String] {
    let script = CommandRun(["completions", "bash"]).output
    let words = line.split(separator: " ", omittingEmptySubsequences: false).map { "'\($0)'" }.joined(separator: " ")
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/bin/bash")
    process.arguments = [
      "-c",
      script
        + "\nCOMP_WORDS=(\(words)); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _coredata; printf '%s\\n' \"${COMPREPLY[@]}\"",
    ]
    let output = Pipe()
    process.standardOutput = output
    try process.run()
    let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    return text.split(separator: "\n").map(String.init)
  }

  @Test("bash completes groups, commands, options and the words of options")
  func bash() throws {
    #expect(try offered("coredata mig") == ["migrate"])
    #expect(try offered("coredata exp") == ["explain"])
    #expect(try offered("coredata migrate re") == ["rehearse", "recover", "restore"])
    #expect(try offered("coredata model lint --all-s") == ["--all-steps"])
    #expect(try offered("coredata model lint M --format sa") == ["sarif"])
    #expect(try offered("coredata port --dr") == ["--dry-run"])
    #expect(try offered("coredata store info /bin/bas").contains("/bin/bash"))
  }

  @Test("Every command and every option is in every script", arguments: ["bash", "zsh", "fish"])
  func whole(shell: String) {
    let script = CommandRun(["completions", shell]).output
    for command in CommandLineTool.commands.map({ $0.specification }) {
      #expect(script.contains(command.path.last ?? ""), "\(command.path)")
      for option in command.options { #expect(script.contains(option.name), "\(option.name)") }
    }
    // Quotes are in pairs, also around what help says.
    #expect(shell == "bash" || script.replacing("\\'", with: "").filter { $0 == "'" }.count % 2 == 0)
  }

  @Test("An unknown shell is an error")
  func unknown() {
    let run = CommandRun(["completions", "tcsh"])
    #expect(run.status == .usage && run.error.contains("bash, zsh, fish"))
  }
}
