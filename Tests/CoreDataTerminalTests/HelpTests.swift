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

        Others
          explain  What a code means.

        Options of every command
          --format text|json|markdown|github
                                     How the result is written (text).
          -o, --output FILE          Where the result goes, instead of to standard output.
          --color auto|always|never  When text is coloured (auto: on a terminal, unless NO_COLOR is set).
          -q, --quiet                No progress and no remarks.
          -v, --verbose              Tell more.
          -h, --help                 Show help.
          --version                  Show the version.

        Exit status
          0    done, or nothing to do
          1    the answer is "no": findings at error level, differences, pending work
          2    wrong command line
          3    model or mapping unreadable or invalid
          4    store unreadable, locked, or written by no known version
          5    no way: no path, nothing to infer, custom code missing
          6    failed, the source store is as it was
          7    interrupted work found
          70   a bug of this tool
          74   done, but the result could not be written
          130  stopped by Ctrl-C, the source store is as it was

        See coredata COMMAND --help for one command.

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

      See coredata model COMMAND --help for one command.

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
          --format text|json|markdown|github
                                     How the result is written (text).
          -o, --output FILE          Where the result goes, instead of to standard output.
          --color auto|always|never  When text is coloured (auto: on a terminal, unless NO_COLOR is set).
          -q, --quiet                No progress and no remarks.
          -v, --verbose              Tell more.
          -h, --help                 Show help.

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
