// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The tool's manual page in `man` format, generated from the same specification as its help.
extension ToolSpecification {
  package var manualPage: String {
    var page = ".TH \(name.uppercased()) 1 \"\" \"\(Self.text(name)) \(Self.text(version))\"\n"
    page += ".SH NAME\n\(Self.text(name)) \\- \(Self.text(summary))\n"
    page += ".SH SYNOPSIS\n.B \(Self.text(name))\nCOMMAND [OPTIONS]\n"
    for group in groups {
      page += ".SH \"\(Self.text(group.name).uppercased())\"\n\(Self.sentence(group.summary))\n"
      page += commands.filter { $0.path.count == 2 && $0.path[0] == group.name }.map(section).joined()
    }
    page += ".SH \"OTHER COMMANDS\"\n" + commands.filter { $0.path.count == 1 }.map(section).joined()
    page += ".SH \"OPTIONS OF EVERY COMMAND\"\n" + commonOptions.map(Self.entry).joined()
    page += ".SH \"EXIT STATUS\"\n"
    page += ExitStatus.allCases.map { ".TP\n.B \($0.rawValue)\n\(Self.text($0.meaning))\n" }.joined()
    return page
  }

  private func section(_ command: CommandSpecification) -> String {
    let words = ([name] + command.path).joined(separator: " ")
    let arguments = command.positionals.map(\.usage).joined(separator: " ")
    var text = ".SS \"\(Self.text("\(words) \(arguments)".trimmingCharacters(in: .whitespaces)))\"\n"
    text += "\(Self.text(command.summary))\n"
    for paragraph in command.discussion.components(separatedBy: "\n\n") where !paragraph.isEmpty {
      text += ".PP\n\(Self.text(paragraph))\n"
    }
    text += command.positionals.map { ".TP\n.I \(Self.text($0.name))\n\(Self.text($0.summary))\n" }.joined()
    return text + command.options.map(Self.entry).joined()
  }

  private static func entry(_ option: OptionSpecification) -> String {
    let short = option.short.map { "-\($0), " } ?? ""
    return ".TP\n.B \(text(short + option.usage))\n\(text(option.summary))\n"
  }

  /// Returns the text with an initial capital letter and a full stop.
  private static func sentence(_ summary: String) -> String {
    text(summary.prefix(1).uppercased() + summary.dropFirst() + (summary.hasSuffix(".") ? "" : "."))
  }

  /// Returns the text with characters escaped that would begin a request or a character name.
  private static func text(_ plain: String) -> String {
    let escaped = plain.replacingOccurrences(of: "\\", with: "\\e").replacingOccurrences(of: "-", with: "\\-")
      .replacingOccurrences(of: "\"", with: "\\(dq").replacingOccurrences(of: "…", with: "...")
    // A line that begins with a period or an apostrophe would be a request.
    return escaped.hasPrefix(".") || escaped.hasPrefix("'") ? "\\&" + escaped : escaped
  }
}
