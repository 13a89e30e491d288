// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

/// Shell completion scripts, generated from the same specification as the help.
package enum ShellCompletions: String, CaseIterable, Sendable {
  case bash, zsh, fish

  /// Returns the script for a tool.
  package func script(for tool: ToolSpecification) -> String {
    switch self {
    case .bash: Self.bash(tool)
    case .zsh: Self.zsh(tool)
    case .fish: Self.fish(tool)
    }
  }

  // MARK: bash

  private static func bash(_ tool: ToolSpecification) -> String {
    let groups = tool.groups.map { group in
      "    \(group.name)) words=\"\(tool.commands(of: group.name).map { $0.path[1] }.joined(separator: " "))\" ;;"
    }
    let commands = tool.commands.map { command in
      "    \"\(command.path.joined(separator: " "))\") words=\"\(flags(tool, command).joined(separator: " "))\" ;;"
    }
    return """
      # Completions of \(tool.name) for bash: source this file, or put it into /etc/bash_completion.d.
      _\(tool.name)() {
        local cur="${COMP_WORDS[COMP_CWORD]}" previous="${COMP_WORDS[COMP_CWORD-1]}" words=""
        local command="${COMP_WORDS[1]}"
        COMPREPLY=()
        if (( COMP_CWORD == 1 )); then
          COMPREPLY=($(compgen -W "\(firstWords(tool).map(\.word).joined(separator: " "))" -- "$cur"))
          return
        fi
        case "$command" in
      \(groups.joined(separator: "\n"))
        esac
        if [[ -n "$words" ]]; then
          if (( COMP_CWORD == 2 )); then
            COMPREPLY=($(compgen -W "$words" -- "$cur"))
            return
          fi
          command="$command ${COMP_WORDS[2]}"
        fi
        case "$previous" in
      \(choices(tool).map { "    --\($0.name)) words=\"\($0.words.joined(separator: " "))\"; COMPREPLY=($(compgen -W \"$words\" -- \"$cur\")); return ;;" }.joined(separator: "\n"))
        esac
        words=""
        case "$command" in
      \(commands.joined(separator: "\n"))
        esac
        if [[ "$cur" == -* ]]; then
          COMPREPLY=($(compgen -W "$words" -- "$cur"))
        else
          COMPREPLY=($(compgen -f -- "$cur"))
        fi
      }
      complete -o filenames -F _\(tool.name) \(tool.name)

      """
  }

  /// Returns the names of the groups and of the commands without a group.
  private static func firstWords(_ tool: ToolSpecification) -> [(word: String, summary: String)] {
    tool.groups.map { ($0.name, $0.summary) }
      + tool.commands.filter { $0.path.count == 1 }.map { ($0.path[0], $0.summary) }
  }

  private static func flags(_ tool: ToolSpecification, _ command: CommandSpecification) -> [String] {
    tool.options(of: command).map { "--\($0.name)" }
  }

  /// Returns the options with fixed words, each with the words of all commands.
  private static func choices(_ tool: ToolSpecification) -> [(name: String, words: [String])] {
    var found: [String: [String]] = [:]
    for option in tool.commands.flatMap({ tool.options(of: $0) }) {
      guard case .oneOf(let words) = option.value else { continue }
      for word in words where found[option.name]?.contains(word) != true {
        found[option.name, default: []].append(word)
      }
    }
    return found.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
  }

  // MARK: zsh

  private static func zsh(_ tool: ToolSpecification) -> String {
    let groups = tool.groups.map { group in
      let commands = tool.commands(of: group.name).map { "'\($0.path[1]):\(quoted($0.summary))'" }
      return "    \(group.name)) commands=(\(commands.joined(separator: " "))) ;;"
    }
    let commands = tool.commands.map { command in
      let options = tool.options(of: command).map { "'\(zshOption($0))'" }
      return
        "    '\(command.path.joined(separator: " "))') _arguments \(options.joined(separator: " ")) '*:file:_files' ;;"
    }
    return """
      #compdef \(tool.name)
      # Completions of \(tool.name) for zsh: put this file as _\(tool.name) into a directory of $fpath.
      _\(tool.name)() {
        local -a commands
        if (( CURRENT == 2 )); then
          commands=(\(firstWords(tool).map { "'\($0.word):\(quoted($0.summary))'" }.joined(separator: " ")))
          _describe command commands
          return
        fi
        case "$words[2]" in
      \(groups.joined(separator: "\n"))
        esac
        local command="$words[2]"
        if (( $#commands )); then
          if (( CURRENT == 3 )); then
            _describe command commands
            return
          fi
          command="$words[2] $words[3]"
          shift words
          (( CURRENT-- ))
        fi
        shift words
        (( CURRENT-- ))
        case "$command" in
      \(commands.joined(separator: "\n"))
        esac
      }
      _\(tool.name) "$@"

      """
  }

  private static func zshOption(_ option: OptionSpecification) -> String {
    let summary = quoted(option.summary).replacing("[", with: "(").replacing("]", with: ")")
    let head = (option.repeats ? "*" : "") + "--\(option.name)"
    switch option.value {
    case .none: return "\(head)[\(summary)]"
    case .oneOf(let words): return "\(head)=[\(summary)]:value:(\(words.joined(separator: " ")))"
    case .text, .path, .integer, .pair: return "\(head)=[\(summary)]:value:_files"
    }
  }

  /// Returns the text escaped for single quotes, in which a colon would separate a word from its description.
  private static func quoted(_ text: String) -> String {
    text.replacing("'", with: "’").replacing(":", with: "\\:")
  }

  // MARK: fish

  private static func fish(_ tool: ToolSpecification) -> String {
    var lines = [
      "# Completions of \(tool.name) for fish: put this file into ~/.config/fish/completions.",
      "complete -c \(tool.name) -f",
    ]
    for item in firstWords(tool) {
      lines.append("complete -c \(tool.name) -n __fish_use_subcommand -a \(item.word) -d '\(fishText(item.summary))'")
    }
    for command in tool.commands {
      let condition = command.path.map { "__fish_seen_subcommand_from \($0)" }.joined(separator: "; and ")
      if command.path.count == 2 {
        let others = tool.commands(of: command.path[0]).map { $0.path[1] }.joined(separator: " ")
        let group = "__fish_seen_subcommand_from \(command.path[0]); and not __fish_seen_subcommand_from \(others)"
        lines.append(
          "complete -c \(tool.name) -n '\(group)' -a \(command.path[1]) -d '\(fishText(command.summary))'")
      }
      if !command.positionals.isEmpty { lines.append("complete -c \(tool.name) -n '\(condition)' -F") }
      for option in tool.options(of: command) {
        var line = "complete -c \(tool.name) -n '\(condition)' -l \(option.name)"
        if let short = option.short { line += " -s \(short)" }
        switch option.value {
        case .none: break
        case .oneOf(let words): line += " -x -a '\(words.joined(separator: " "))'"
        case .text, .path, .integer, .pair: line += " -r"
        }
        lines.append(line + " -d '\(fishText(option.summary))'")
      }
    }
    return lines.joined(separator: "\n") + "\n"
  }

  private static func fishText(_ text: String) -> String {
    text.replacing("\\", with: "\\\\").replacing("'", with: "\\'")
  }
}
