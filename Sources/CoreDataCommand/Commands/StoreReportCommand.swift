// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataAnalysis
import CoreDataFileSystem
import CoreDataTerminal
import Foundation

/// `coredata store report`
enum StoreReportCommand: Command {
  static let specification = CommandSpecification(
    ["store", "report"], summary: "Write a page about a store: entities, rows, sizes, samples and problems.",
    discussion:
      "The page is one HTML file that loads nothing: coredata store report Data.sqlite --output report.html. It shows values "
      + "of the first objects of each entity; with --samples 0 it shows none. Its search covers only what the page shows; "
      + "coredata store browse searches all rows. Neither the store nor any file beside it is "
      + "changed.",
    positionals: [.anyStore],
    options: [
      OptionSpecification(
        "samples", .integer("N", minimum: 0), summary: "How many objects of each entity to show (default: 3)."),
      OptionSpecification(
        "model", .path("MODEL", .input), summary: "The model of the store, to name its version and to read it."),
      OptionSpecification(
        "format", .oneOf([OutputFormat.html.rawValue]), summary: "The result is always a page, so this may be left out."
      ),
    ])

  private static let sampleCount = 3

  static func run(_ invocation: CommandInvocation) throws -> ExitStatus {
    let opened = try OpenedStore(invocation)
    let page = try StorePage(
      opened.reader, version: opened.versionName,
      sampleCount: invocation.arguments.integer("samples") ?? sampleCount,
      // The page may be sent to others, so it does not tell where the file is.
      browsing: ShellWord.line(
        ["coredata", "store", "browse", opened.address.isFile ? opened.address.name : opened.address.text]
          + (opened.summary == nil ? [] : ["--model", "MODEL"])))
    try invocation.result.write(source: page.html)
    return .done
  }
}
