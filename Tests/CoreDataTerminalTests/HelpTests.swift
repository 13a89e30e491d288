// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataTerminal
import Testing

@Suite("Help")
struct HelpTests {

  private func help(_ line: String...) throws -> String? {
    guard case .help(let text) = try sampleTool.parse(line) else { return nil }
    return text
  }

  @Test("The help of the tool lists groups, commands, common options and exit statuses")
  func tool() throws {
    #expect(
      try help("--help") == """
        coredata 0.1: models, stores and migrations

        Usage: coredata COMMAND [OPTIONS]

        model: look at models
          model show      Entities, properties, rules and indexes.
          model versions  Versions in order.
          model lint      Findings.

        store: look at stores
          store verify  Every rule.

        Other commands
          explain  What a code means.

        Options of every command
          --format text|json|markdown  The format of the result (default: text).
          -o, --output FILE            The file for the result (default: standard
                                       output).
          --color auto|always|never    When to color text (default: auto, on a terminal
                                       without NO_COLOR).
          -q, --quiet                  Omit progress and notes.
          -v, --verbose                Write more details.
          -h, --help                   Show help.
          --version                    Show the version.

        Exit status
          0    done, or nothing to do
          1    the answer is "no": findings of level error, differences, pending work
          2    invalid command line
          3    unreadable or invalid model or mapping model
          4    store unreadable, locked, or not written by a known version
          5    impossible migration: no path, no inferred mapping, missing policies,
               findings of level error
          6    failed; the store is unchanged
          7    interrupted work found
          70   a bug in this tool
          74   done, but the result could not be written
          130  stopped by Ctrl-C; the store is unchanged

        See coredata COMMAND --help for a command.

        """)
  }

  @Test("The help of a group lists its commands")
  func group() throws {
    let expected = """
      coredata model: look at models

      Usage: coredata model COMMAND [OPTIONS]

        show      Entities, properties, rules and indexes.
        versions  Versions in order.
        lint      Findings.

      See coredata model COMMAND --help for a command.

      """
    #expect(try help("model", "--help") == expected)
    #expect(try help("--format", "json", "model", "-h") == expected)
  }

  @Test("The help of a command tells arguments and options; its own option hides the common one")
  func command() throws {
    #expect(
      try help("model", "show", "--help") == """
        coredata model show: Entities, properties, rules and indexes.

        Usage: coredata model show MODEL [--version V] [--entity E]

        Arguments
          MODEL  A model, or a store.

        Options
          --version V  Which version (the current one).
          --entity E   Only this entity.

        Options of every command
          --format text|json|markdown  The format of the result (default: text).
          -o, --output FILE            The file for the result (default: standard
                                       output).
          --color auto|always|never    When to color text (default: auto, on a terminal
                                       without NO_COLOR).
          -q, --quiet                  Omit progress and notes.
          -v, --verbose                Write more details.
          -h, --help                   Show help.

        """)
  }

  @Test("A discussion is broken into lines, a paragraph at a time")
  func discussion() throws {
    let text = try #require(try help("model", "lint", "-h"))
    #expect(
      text.hasPrefix(
        """
        coredata model lint: Findings.

        Usage: coredata model lint MODEL... [--level CODE=off|warn|error] [--limit N]

        Looks at the newest step unless told otherwise.

        Findings have codes.

        Arguments
          MODEL  Models.

        Options
          --level CODE=off|warn|error  Weigh a finding.
          -n, --limit N                How many.

        """))
  }

  @Test("Help is given although the rest of the line is wrong")
  func forgiving() throws {
    #expect(try help("model", "show", "--wrong", "--help")?.hasPrefix("coredata model show:") == true)
    #expect(try help("modle", "--help")?.hasPrefix("coredata 0.1:") == true)
    #expect(try help("store", "verify", "S", "-qh")?.hasPrefix("coredata store verify:") == true)
  }
}
