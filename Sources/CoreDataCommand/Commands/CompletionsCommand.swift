// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataTerminal

/// `coredata completions`
enum CompletionsCommand: Command {
  static let specification = CommandSpecification(
    ["completions"], summary: "Write a script by which a shell completes command lines.",
    discussion:
      "For bash: source <(coredata completions bash). For zsh: coredata completions zsh > DIR/_coredata, where DIR is in $fpath. "
      + "For fish: coredata completions fish > ~/.config/fish/completions/coredata.fish.",
    positionals: [PositionalSpecification("SHELL", .one, .none, summary: "bash, zsh or fish.")],
    options: [.format(.text)])

  static func run(_ invocation: CommandInvocation) throws -> ExitStatus {
    let name = invocation.arguments.argument("SHELL")
    guard let shell = ShellCompletions(rawValue: name) else {
      let known = ShellCompletions.allCases.map(\.rawValue).joined(separator: ", ")
      throw CommandFailure(.usage, "There are no completions for \"\(name)\". There are for \(known).")
    }
    try invocation.result.write(source: shell.script(for: invocation.tool))
    return .done
  }
}
