// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// A behavior of the command as a text file: files, commands, and what each of them writes.
///
/// `Transcripts/README.md` describes the form. What is not of that form is an error, so that no line goes unread.
struct Transcript {
  /// A command line, and what it must write.
  struct Command {
    /// The line of the file, from 1, with the command.
    let line: Int
    /// The words after `$`.
    let words: [String]
    /// Lines of standard output.
    var output: [String] = []
    /// Lines of standard error.
    var error: [String] = []
    /// The exit status.
    var status = 0

    var text: String { words.joined(separator: " ") }
    /// All lines below the command, as the file has them.
    var lines: [String] { output + error.map { Transcript.errorMark + $0 } + ["[\(status)]"] }
  }

  /// A file to make or to change: the words after `+`, and the lines below it.
  struct Preparation {
    let line: Int
    let kind: String
    let arguments: [String]
    let block: [String]
  }

  enum Step {
    case text(String)
    case preparation(Preparation)
    case command(Command)
  }

  /// Why a text is no transcript.
  struct Malformed: Error, CustomStringConvertible {
    let file: String
    let line: Int
    let reason: String
    var description: String { "\(file):\(line): \(reason)" }
  }

  static let directory = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
    .appendingPathComponent("Transcripts")
  private static let commandMark = "$ "
  private static let preparationMark = "+ "
  private static let errorMark = "2> "
  private static let indent = "    "

  let name: String
  /// The first line.
  let title: String
  let steps: [Step]

  var url: URL { Self.directory.appendingPathComponent(name + ".txt") }
  var commands: [Command] {
    steps.compactMap { step in
      if case .command(let command) = step { command } else { nil }
    }
  }

  /// What a transcript needs besides this process.
  enum Need {
    /// A PostgreSQL server and its client.
    case server
    /// The program, for a command that does not end by itself.
    case program
  }

  /// The names of all transcripts, sorted.
  static var names: [String] {
    get throws {
      try FileManager.default.contentsOfDirectory(at: directory, includingPropertiesForKeys: nil)
        .filter { $0.pathExtension == "txt" }.map { $0.deletingPathExtension().lastPathComponent }.sorted()
    }
  }

  /// The names of the transcripts that need one thing, or nothing, besides this process.
  static func names(needing need: Need?) throws -> [String] {
    try names.filter { name in
      let text = try String(contentsOf: directory.appendingPathComponent(name + ".txt"), encoding: .utf8)
      let needsServer = text.contains("\n+ server ") || text.contains("\n+ no-server ")
      let found: Need? = needsServer ? .server : text.contains("\n$ coredata store browse ") ? .program : nil
      return found == need
    }
  }

  /// - Throws: `Malformed`; the errors of reading a file.
  init(named name: String) throws {
    let url = Self.directory.appendingPathComponent(name + ".txt")
    try self.init(name: name, text: String(contentsOf: url, encoding: .utf8))
  }

  /// - Throws: `Malformed`.
  init(name: String, text: String) throws {
    self.name = name
    var reader = Reader(name: name, lines: text.components(separatedBy: "\n"))
    title = try reader.title()
    var steps: [Step] = []
    while let step = try reader.step() { steps.append(step) }
    self.steps = steps
    guard !commands.isEmpty else { throw Malformed(file: name, line: 1, reason: "There is no command.") }
  }

  private struct Reader {
    let name: String
    let lines: [String]
    var position = 0

    init(name: String, lines: [String]) {
      self.name = name
      self.lines = lines
    }

    private func malformed(_ reason: String, line: Int? = nil) -> Malformed {
      Malformed(file: name + ".txt", line: line ?? position + 1, reason: reason)
    }

    mutating func title() throws -> String {
      guard let first = lines.first, !first.isEmpty, first.first != "$", first.first != "+", lines.count > 1,
        lines[1].isEmpty
      else { throw malformed("The first line must be a title, with an empty line below it.") }
      position = 2
      return first
    }

    mutating func step() throws -> Step? {
      guard position < lines.count else { return nil }
      let line = lines[position]
      if line.hasPrefix(Transcript.commandMark) { return .command(try command()) }
      if line.hasPrefix(Transcript.preparationMark) { return .preparation(try preparation()) }
      guard line.first != "$", line.first != "+", line.first != "[", line.first != " ",
        !line.hasPrefix(Transcript.errorMark)
      else { throw malformed("Neither text nor a command with its output: \(line)") }
      position += 1
      return .text(line)
    }

    private mutating func preparation() throws -> Preparation {
      let start = position
      let words = try words(lines[position].dropFirst(Transcript.preparationMark.count))
      position += 1
      var block: [String] = []
      // An empty line is one of the block if the block continues below it.
      while let line = lines[position...].first(where: { !$0.isEmpty }), line.hasPrefix(Transcript.indent) {
        block.append(String(lines[position].dropFirst(Transcript.indent.count)))
        position += 1
      }
      guard let kind = words.first else { throw malformed("The kind of file is missing.") }
      return Preparation(line: start + 1, kind: kind, arguments: Array(words.dropFirst()), block: block)
    }

    private mutating func command() throws -> Command {
      let start = position
      var command = Command(
        line: start + 1, words: try words(lines[position].dropFirst(Transcript.commandMark.count)))
      position += 1
      while position < lines.count {
        let line = lines[position]
        position += 1
        if let match = line.wholeMatch(of: /\[([0-9]+)\]/), let status = Int(match.1) {
          command.status = status
          return command
        }
        guard !line.hasPrefix("$ ") else { break }
        if line.hasPrefix(Transcript.errorMark) {
          command.error.append(String(line.dropFirst(Transcript.errorMark.count)))
        } else {
          guard command.error.isEmpty else { throw malformed("Output must come before errors.", line: position) }
          command.output.append(line)
        }
        for placeholder in line.matches(of: /«([^»]*)»/) where Placeholder(rawValue: String(placeholder.1)) == nil {
          throw malformed("There is no placeholder \(placeholder.0).", line: position)
        }
      }
      throw malformed("The command has no status, as [0].", line: start + 1)
    }

    private func words(_ line: Substring) throws -> [String] {
      guard let words = Transcript.words(line) else { throw malformed("A quotation mark has no second one.") }
      return words
    }
  }

  /// Returns the words of a line; quotation marks hold words together, and `#` begins a comment. Nil if a quotation mark
  /// has no second one.
  static func words(_ line: some StringProtocol) -> [String]? {
    var words: [String] = []
    var word: String?
    var quotation: Character?
    for character in line {
      switch character {
      case "\"", "'":
        if let mark = quotation, mark != character {
          word = (word ?? "") + String(character)
        } else {
          quotation = quotation == nil ? character : nil
          word = word ?? ""
        }
      case " " where quotation == nil:
        if let done = word { words.append(done) }
        word = nil
      case "#" where quotation == nil && word == nil: return words
      default: word = (word ?? "") + String(character)
      }
    }
    return quotation == nil ? words + [word].compactMap { $0 } : nil
  }
}

/// What a line of a transcript may leave open, written as `«size»`.
enum Placeholder: String, CaseIterable {
  /// A number of bytes in words, as `97 MB`.
  case size
  /// A number, as `61,832`.
  case number
  /// A UUID.
  case uuid
  /// A version hash or checksum.
  case hash
  /// A version of SQLite, as `3.45.1`.
  case version
  /// The absolute path of a directory.
  case path
  /// The address of a page on this machine.
  case address
  /// The version of a server, as `PostgreSQL 15.18 (Debian 15.18-0+deb12u1)`.
  case server
  /// A duration, as `4.6 ms`.
  case duration

  private var pattern: String {
    switch self {
    case .size: "[0-9]+(\\.[0-9])? (bytes|[kMGTPE]B)"
    case .number: "[0-9]{1,3}(,[0-9]{3})*"
    case .uuid: "[0-9A-F]{8}(-[0-9A-F]{4}){3}-[0-9A-F]{12}"
    case .hash: "([0-9a-f]{64}|[A-Za-z0-9+/]{43}=)"
    case .version: "[0-9]+\\.[0-9]+\\.[0-9]+"
    case .path: "(/[^/ ]*[^/ .])+"
    case .address: "http://127\\.0\\.0\\.1:[0-9]+/[0-9a-f]{32}/"
    case .server: "PostgreSQL [0-9.]+( \\([^()]*\\))?"
    case .duration: "[0-9]+(\\.[0-9])? (ms|s)"
    }
  }

  /// Whether a line is what a line with placeholders says.
  static func line(_ expected: String, isLike actual: String) -> Bool {
    guard expected.contains("«") else { return expected == actual }
    var pattern = NSRegularExpression.escapedPattern(for: expected)
    for placeholder in allCases {
      let mark = NSRegularExpression.escapedPattern(for: "«\(placeholder.rawValue)»")
      pattern = pattern.replacingOccurrences(of: mark, with: placeholder.pattern)
    }
    return actual.range(of: "^(\(pattern))$", options: .regularExpression) == actual.startIndex..<actual.endIndex
  }

  /// The lines that are expected and those that came, as one list: `-` for what is missing, `+` for what is new.
  static func difference(_ expected: [String], _ actual: [String]) -> String? {
    let changes = actual.difference(from: expected) { line($1, isLike: $0) || line($0, isLike: $1) }
    guard !changes.isEmpty else { return nil }
    var removed: Set<Int> = []
    var inserted: Set<Int> = []
    for change in changes {
      switch change {
      case .remove(let offset, _, _): removed.insert(offset)
      case .insert(let offset, _, _): inserted.insert(offset)
      }
    }
    var lines: [String] = []
    var (old, new) = (0, 0)
    while old < expected.count || new < actual.count {
      if removed.contains(old) {
        lines.append("- " + expected[old])
        old += 1
      } else if inserted.contains(new) {
        lines.append("+ " + actual[new])
        new += 1
      } else {
        lines.append("  " + actual[new])
        (old, new) = (old + 1, new + 1)
      }
    }
    return lines.joined(separator: "\n")
  }
}
