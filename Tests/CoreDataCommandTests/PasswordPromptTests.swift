// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import CoreDataCommand

@Suite("Asking for a password on a terminal")
struct PasswordPromptTests {
  @Test(
    "What is typed is the answer, and the terminal does not show it",
    arguments: [
      ("pass word\n", "pass word"), ("wroné\u{7F}\u{7F}te\n", "wrote"), ("gone\u{15}stay\n", "stay"), ("\u{4}", nil),
      ("\n", ""),
    ] as [(String, String?)])
  func typing(keys: String, answer: String?) throws {
    var ends: (master: Int32, terminal: Int32) = (-1, -1)
    try #require(openpty(&ends.master, &ends.terminal, nil, nil, nil) == 0)
    let (master, terminal) = ends
    defer {
      close(master)
      close(terminal)
    }
    func flags() -> tcflag_t {
      var settings = termios()
      tcgetattr(terminal, &settings)
      return settings.c_lflag
    }
    let before = flags()
    let thread = Thread {
      // The question is written after the terminal has stopped to show what is typed.
      var (shown, bytes) = ("", [UInt8](repeating: 0, count: 100))
      while !shown.contains("Password? ") {
        let count = read(master, &bytes, bytes.count)
        guard count > 0 else { return }
        shown += String(decoding: bytes[..<count], as: UTF8.self)
      }
      let typed = Array(keys.utf8)
      _ = write(master, typed, typed.count)
    }
    thread.start()
    #expect(PasswordPrompt.ask("Password? ", on: terminal) == answer)
    #expect(flags() == before)
    // Everything that the terminal has shown after the question.
    var bytes = [UInt8](repeating: 0, count: 100)
    let count = read(master, &bytes, bytes.count)
    #expect(String(decoding: bytes[..<max(0, count)], as: UTF8.self).allSatisfy { $0.isNewline })
  }

  @Test("A descriptor that is no terminal gives no answer")
  func noTerminal() throws {
    let file = open("/dev/null", O_RDWR)
    defer { close(file) }
    #expect(PasswordPrompt.ask("Password? ", on: file) == nil)
  }
}
