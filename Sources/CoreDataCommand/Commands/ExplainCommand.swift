// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataAnalysis
import CoreDataTerminal

/// `coredata explain`
enum ExplainCommand: Command {
  static let specification = CommandSpecification(
    ["explain"],
    summary:
      "Explain a finding, a problem of store verify or an error: what it means, why it matters, what to do. Without a "
      + "code, list all of them.",
    positionals: [
      PositionalSpecification(
        "CODE", .optional, .none,
        summary: "The code of a finding, such as DS102, or of an error, such as 134100, or a kind of problem, such as "
          + "pages.")
    ],
    options: [.format(.text, .json, .markdown)])

  static func run(_ invocation: CommandInvocation) throws -> ExitStatus {
    if let page = invocation.arguments.optionalArgument("CODE").flatMap(ErrorPage.init(text:)) {
      return try write(page, invocation)
    }
    if let kind = invocation.arguments.optionalArgument("CODE").flatMap(StoreDefect.Kind.init(text:)) {
      return try write(kind, invocation)
    }
    let wanted = try invocation.arguments.optionalArgument("CODE").map { text in
      guard let code = FindingCode(text: text) else { throw CommandFailure(.usage, FindingCode.unknown(text)) }
      return code
    }
    switch invocation.options.format {
    case .json:
      try invocation.write(
        json(
          wanted.map { [$0] } ?? FindingCode.allCases, kinds: wanted == nil ? StoreDefect.Kind.allCases : [],
          withErrors: wanted == nil))
    case .markdown:
      try invocation.result.write(
        wanted.map { markdown($0.rawValue, $0.page) } ?? table(titled: true).markdown)
    default:
      var report = invocation.report()
      if let wanted {
        write(wanted.rawValue, wanted.page, to: &report)
      } else {
        report.table(table(titled: false))
        report.line()
        var kinds = TextTable([.init(), .init()])
        for kind in StoreDefect.Kind.allCases { kinds.add([kind.rawValue, kind.page.title]) }
        report.table(kinds)
        report.line()
        var errors = TextTable([.init(), .init()])
        for page in ErrorPage.all { errors.add([String(page.code), page.title]) }
        report.table(errors)
        report.line()
        report.line("See coredata explain CODE for what a code means and what to do.")
      }
      try invocation.write(report)
    }
    return .done
  }

  private static func write(_ page: ErrorPage, _ invocation: CommandInvocation) throws -> ExitStatus {
    let parts = [("Cause", page.cause), ("Example", page.example), ("Cure", page.cure)]
    switch invocation.options.format {
    case .json: try invocation.write(["format": "coredata.explanation/1", "errors": .array([json(page)])])
    case .markdown:
      try invocation.result.write(
        "## \(page.code)  \(page.title)\n" + (page.name.map { "\n`\($0)`\n" } ?? "")
          + parts.map { "\n**\($0).** \($1)\n" }.joined())
    default:
      var report = invocation.report()
      let title: StyledText = "\(report.styler.style(String(page.code), .bold))  \(page.title)"
      report.line(title)
      if let name = page.name { report.line(name) }
      for (title, text) in parts {
        report.line()
        report.section(title) { report in
          report.paragraph(text)
        }
      }
      try invocation.write(report)
    }
    return .done
  }

  private static func write(_ kind: StoreDefect.Kind, _ invocation: CommandInvocation) throws -> ExitStatus {
    switch invocation.options.format {
    case .json: try invocation.write(json([], kinds: [kind], withErrors: false))
    case .markdown: try invocation.result.write(markdown(kind.rawValue, kind.page))
    default:
      var report = invocation.report()
      write(kind.rawValue, kind.page, to: &report)
      try invocation.write(report)
    }
    return .done
  }

  private static func json(_ page: ErrorPage) -> JSONText {
    [
      "code": .integer(page.code), "name": page.name.map { .string($0) } ?? .null, "title": .string(page.title),
      "cause": .string(page.cause), "example": .string(page.example), "cure": .string(page.cure),
    ]
  }

  private static func parts(_ page: FindingPage) -> [(title: String, text: String)] {
    [("What", page.what), ("Why", page.why), ("Example", page.example), ("Cure", page.cure)]
  }

  private static func write(_ name: String, _ page: FindingPage, to report: inout TextReport) {
    let title: StyledText = "\(report.styler.style(name, .bold))  \(page.title)"
    report.line(title)
    for part in parts(page) {
      report.line()
      report.section(part.title) { report in
        report.paragraph(part.text)
      }
    }
  }

  private static func markdown(_ name: String, _ page: FindingPage) -> String {
    "## \(name)  \(page.title)\n" + parts(page).map { "\n**\($0.title).** \($0.text)\n" }.joined()
  }

  private static func table(titled: Bool) -> TextTable {
    var table = TextTable(titled ? [.init("Code"), .init("Meaning")] : [.init(), .init()])
    for code in FindingCode.allCases { table.add([code.rawValue, code.page.title]) }
    return table
  }

  private static func json(_ codes: [FindingCode], kinds: [StoreDefect.Kind], withErrors: Bool) -> JSONText {
    [
      "format": "coredata.explanation/1",
      "codes": .array(
        codes.map { code in
          [
            "code": .string(code.rawValue), "title": .string(code.page.title), "isLoss": .bool(code.isLoss),
            "what": .string(code.page.what), "why": .string(code.page.why), "example": .string(code.page.example),
            "cure": .string(code.page.cure),
          ]
        }),
      "problems": .array(
        kinds.map { kind in
          [
            "kind": .string(kind.rawValue), "title": .string(kind.page.title), "isProblem": .bool(!kind.isRemark),
            "what": .string(kind.page.what), "why": .string(kind.page.why), "example": .string(kind.page.example),
            "cure": .string(kind.page.cure),
          ]
        }),
      "errors": .array(withErrors ? ErrorPage.all.map { json($0) } : []),
    ]
  }
}
