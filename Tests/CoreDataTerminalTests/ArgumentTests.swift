// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataTerminal
import Testing

@Suite("Arguments")
struct ArgumentTests {
  @Test("Commands, arguments and options are found in any order")
  func order() throws {
    for line in [
      ["model", "versions", "A.momd", "--hashes", "--format", "json"],
      ["--format=json", "model", "versions", "--hashes", "A.momd"],
      ["model", "--format", "json", "versions", "--hashes", "--", "A.momd"],
    ] {
      guard case .command(let command) = try sampleTool.parse(line) else {
        Issue.record("\(line) is no command")
        continue
      }
      #expect(command.specification.path == ["model", "versions"])
      #expect(command.argument("MODEL") == "A.momd")
      #expect(command.flag("hashes"))
      #expect(CommonOptions(command).format == .json)
    }
  }

  @Test("What is not given has its usual value")
  func defaults() throws {
    let command = try #require(try parsed("model", "versions", "A"))
    let common = CommonOptions(command)
    #expect(common.format == .text)
    #expect(common.output == nil)
    #expect(common.color == .auto)
    #expect(!common.isQuiet)
    #expect(!common.isVerbose)
    #expect(!command.flag("hashes"))
  }

  @Test("Letters are joined, and a value may follow its letter at once")
  func letters() throws {
    let command = try #require(try parsed("model", "lint", "A", "-qvn5", "-o", "out.txt"))
    #expect(CommonOptions(command).isQuiet)
    #expect(CommonOptions(command).isVerbose)
    #expect(CommonOptions(command).output == "out.txt")
    #expect(command.integer("limit") == 5)
    #expect(command.value("limit") == "5")
  }

  @Test("Values are read by their kind")
  func values() throws {
    let command = try #require(
      try parsed("model", "lint", "A", "B", "--level", "DS102=off", "--level=MD501=error", "--color", "never"))
    #expect(command.arguments("MODEL") == ["A", "B"])
    #expect(command.pairs("level").map(\.key) == ["DS102", "MD501"])
    #expect(command.pairs("level").map(\.word) == ["off", "error"])
    #expect(command.choice("color", as: ColorChoice.self) == .never)
    #expect(command.integer("limit") == nil)
    let show = try #require(try parsed("model", "show", "A", "--entity", "X", "--entity", "Y", "--version=5"))
    #expect(show.values("entity") == ["X", "Y"])
    #expect(show.value("version") == "5")
  }

  @Test("Optional and repeated arguments may be absent")
  func absent() throws {
    #expect(try parsed("store", "verify", "S")?.optionalArgument("MODEL") == nil)
    #expect(try parsed("store", "verify", "S", "M")?.optionalArgument("MODEL") == "M")
    #expect(try parsed("explain")?.arguments("CODE") == [])
    #expect(try parsed("explain", "DS102", "DD201")?.arguments("CODE") == ["DS102", "DD201"])
  }

  @Test("Two dashes end the flags; one dash and empty texts are arguments")
  func dashes() throws {
    #expect(try parsed("explain", "--", "--hashes", "-q", "--")?.arguments("CODE") == ["--hashes", "-q", "--"])
    #expect(try parsed("explain", "-", "")?.arguments("CODE") == ["-", ""])
    #expect(try parsed("explain", "--output", "-")?.value("output") == "-")
    #expect(try parsed("explain", "--output=--help")?.value("output") == "--help")
    #expect(try parsed("explain", "--output=a=b")?.value("output") == "a=b")
    #expect(try parsed("explain", "--output=")?.value("output") == "")
    #expect(try parsed("explain", "--", "--help")?.arguments("CODE") == ["--help"])
  }

  @Test(
    "A wrong line says what is wrong and what was meant",
    arguments: [
      ("model versions A --hashs", "unknown flag --hashs; did you mean --hashes?"),
      ("model versions A --nothing-like-it", "unknown flag --nothing-like-it"),
      ("model versions A -x", "unknown flag -x"),
      ("modle show", "unknown command \"modle\"; did you mean model?"),
      ("model shwo", "unknown command of model \"shwo\"; did you mean show?"),
      ("frobnicate", "unknown command \"frobnicate\""),
      ("", "a command is missing"),
      ("model", "a command of model is missing"),
      ("model show", "MODEL is missing"),
      ("model lint", "MODEL is missing"),
      ("model show A B", "unexpected argument \"B\""),
      ("model versions A --hashes=yes", "--hashes takes no value"),
      ("model show A --entity", "--entity needs a value: --entity E"),
      ("model show A --entity --version 5", "--entity needs a value: --entity E"),
      ("model lint A --limit many", "--limit takes an integer, not \"many\""),
      ("model lint A -n 0", "-n takes an integer of at least 1, not 0"),
      ("model lint A --limit -1", "--limit takes an integer of at least 1, not -1"),
      ("model lint A --limit --level", "--limit needs a value: --limit N"),
      ("model lint A --limit 1 --limit 2", "--limit was given twice"),
      ("model lint A --level DS102", "--level takes CODE= followed by off, warn or error, not \"DS102\""),
      ("model lint A --level DS102=loud", "--level takes CODE= followed by off, warn or error, not \"DS102=loud\""),
      (
        "explain --format jsn",
        "--format takes text, json or markdown, not \"jsn\"; did you mean json?"
      ),
      ("explain --format xyz", "--format takes text, json or markdown, not \"xyz\""),
    ])
  func wrong(line: String, message: String) {
    let error = #expect(throws: UsageError.self) {
      try sampleTool.parse(line.split(separator: " ").map(String.init))
    }
    #expect(error?.message == message)
  }

  @Test("An error shows the usage of the command, or of what was understood of it")
  func usage() {
    let error = #expect(throws: UsageError.self) { try parsed("model", "versions", "A", "--hashs") }
    #expect(
      error?.description == """
        error: unknown flag --hashs; did you mean --hashes?
        Usage: coredata model versions MODEL [--hashes]
        See coredata model versions --help
        """)
    let group = #expect(throws: UsageError.self) { try parsed("model", "x") }
    #expect(group?.usage == "coredata model COMMAND [OPTIONS]")
    #expect(group?.help == "coredata model --help")
  }

  @Test("The version is given before and after a command, but not where a command has an option of that name")
  func version() throws {
    #expect(try sampleTool.parse(["--version"]) == .version("coredata 0.1"))
    #expect(try sampleTool.parse(["explain", "--version"]) == .version("coredata 0.1"))
    #expect(try sampleTool.parse(["--version", "model", "show", "A"]) == .version("coredata 0.1"))
    #expect(try parsed("model", "show", "A", "--version", "3")?.value("version") == "3")
  }

  @Test("An option of a command takes the place of the common one, its letter included")
  func ownOptions() {
    let command = CommandSpecification(
      ["x"], summary: "",
      options: [.flag("quick", short: "q", summary: ""), OptionSpecification("version", .text("V"), summary: "")])
    let options = sampleTool.options(of: command)
    #expect(
      options.map(\.name) == ["quick", "version", "format", "output", "color", "quiet", "verbose", "help"])
    #expect(options.map(\.short) == ["q", nil, nil, "o", nil, nil, "v", "h"])
  }

  @Test("Likeness counts mistakes of typing")
  func likeness() {
    #expect(Likeness.distance("kitten", "sitting") == 3)
    #expect(Likeness.distance("show", "shwo") == 1)
    #expect(Likeness.distance("", "abc") == 3)
    #expect(Likeness.distance("abc", "") == 3)
    #expect(Likeness.nearest(to: "VERFIY", among: ["verify", "export"]) == "verify")
    #expect(Likeness.nearest(to: "zzz", among: ["verify", "export"]) == nil)
  }

  @Test("The numbers of exit statuses are those that are promised")
  func exitStatuses() {
    #expect(ExitStatus.allCases.map(\.rawValue) == [0, 1, 2, 3, 4, 5, 6, 7, 70, 74, 130])
    #expect(ExitStatus.interruptedWorkFound.rawValue == 7)
  }

  @Test("Asking for a name that was not declared is a mistake of the program")
  func undeclared() async {
    await #expect(processExitsWith: .failure) {
      guard case .command(let command) = try sampleTool.parse(["explain"]) else { return }
      _ = command.flag("no-such-flag")
    }
    await #expect(processExitsWith: .failure) {
      guard case .command(let command) = try sampleTool.parse(["explain"]) else { return }
      _ = command.argument("MODEL")
    }
  }
}
