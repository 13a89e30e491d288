// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Asks for a password on the terminal of the process, which does not show what is typed.
enum PasswordPrompt {
  /// Asks on the terminal that controls the process, even if its streams are redirected.
  ///
  /// - Returns: nil if there is no terminal, or no answer.
  static func ask(_ question: String) -> String? {
    let terminal = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY)
    guard terminal >= 0 else { return nil }
    defer { close(terminal) }
    return ask(question, on: terminal)
  }

  static func ask(_ question: String, on terminal: Int32) -> String? {
    var shown = termios()
    guard tcgetattr(terminal, &shown) == 0 else { return nil }
    var hidden = shown
    // Keys that would stop the program are read like others, so that the terminal is restored before it stops.
    hidden.c_lflag &= ~(tcflag_t(ECHO) | tcflag_t(ISIG) | tcflag_t(ICANON))
    withUnsafeMutableBytes(of: &hidden.c_cc) { characters in
      characters[Int(VMIN)] = 1
      characters[Int(VTIME)] = 0
    }
    guard tcsetattr(terminal, TCSAFLUSH, &hidden) == 0 else { return nil }
    write(question, to: terminal)
    let answer = line(from: terminal)
    write("\n", to: terminal)
    _ = tcsetattr(terminal, TCSAFLUSH, &shown)
    if case .stopped(let signal) = answer { raise(signal) }
    guard case .line(let bytes) = answer else { return nil }
    return String(bytes: bytes, encoding: .utf8)
  }

  private enum Answer {
    case line([UInt8])
    case stopped(Int32)
    case ended
  }

  private enum Key {
    static let interrupt: UInt8 = 0x03
    static let endOfFile: UInt8 = 0x04
    static let backspace: UInt8 = 0x08
    static let killLine: UInt8 = 0x15
    static let quit: UInt8 = 0x1C
    static let delete: UInt8 = 0x7F
  }

  private static func line(from terminal: Int32) -> Answer {
    var bytes: [UInt8] = []
    while true {
      var byte: UInt8 = 0
      let count = read(terminal, &byte, 1)
      if count < 0, errno == EINTR { continue }
      guard count == 1 else { return .ended }
      switch byte {
      case UInt8(ascii: "\n"), UInt8(ascii: "\r"): return .line(bytes)
      case Key.interrupt: return .stopped(SIGINT)
      case Key.quit: return .stopped(SIGQUIT)
      case Key.endOfFile: return bytes.isEmpty ? .ended : .line(bytes)
      case Key.killLine: bytes = []
      case Key.backspace, Key.delete:
        // Remove a whole character.
        while let last = bytes.popLast(), last & 0xC0 == 0x80 {}
      default: bytes.append(byte)
      }
    }
  }

  private static func write(_ text: String, to terminal: Int32) {
    let bytes = Array(text.utf8)
    // If the terminal is gone, reading from it ends.
    _ = Foundation.write(terminal, bytes, bytes.count)
  }
}
