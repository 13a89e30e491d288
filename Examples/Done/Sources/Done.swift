// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The command line of a small to-do list.
@main
enum Done {
  private static let usage = """
    usage: done list STORE [--open] [--last N] [--no-migration]
           done add STORE NAME [--list LIST]
           done make-store STORE

    list        shows the items, after migrating a store of an earlier version
    add         adds an item
    make-store  creates a store of the first version of the model, with 300 items
    """

  static func main() {
    do {
      try run(Array(CommandLine.arguments.dropFirst()))
    } catch let mistake as UsageMistake {
      FileHandle.standardError.write(Data("\(mistake.message)\n\n\(usage)\n".utf8))
      exit(2)
    } catch {
      FileHandle.standardError.write(Data(text(of: error as NSError).utf8))
      exit(1)
    }
  }

  private static func run(_ words: [String]) throws {
    var arguments = Arguments(words)
    switch arguments.next() {
    case "list":
      let (onlyOpen, keeps) = (arguments.flag("--open"), arguments.flag("--no-migration"))
      let last = try arguments.number("--last")
      let store = try ToDoStore(at: arguments.url(), migrates: !keeps)
      try arguments.end()
      try list(store, onlyOpen: onlyOpen, last: last)
    case "add":
      let list = try arguments.value("--list")
      let (url, name) = (try arguments.url(), arguments.next())
      guard let name, !name.isEmpty else { throw UsageMistake(message: "The name of the item is missing.") }
      try arguments.end()
      try ToDoStore(at: url, migrates: true).add(name, to: list)
      print("added: \(name)\(list.map { " (\($0))" } ?? "")")
    case "make-store":
      let url = try arguments.url()
      try arguments.end()
      try FirstStore.write(to: url)
      print("wrote \(url.lastPathComponent)")
    case "--help", "-h":
      print(usage)
    case let word:
      throw UsageMistake(message: word.map { "Unknown command '\($0)'." } ?? "A command is missing.")
    }
  }

  private static func list(_ store: ToDoStore, onlyOpen: Bool, last: Int) throws {
    for item in try store.items(onlyOpen: onlyOpen, last: last) {
      let day = item.createdAt.map { String($0.ISO8601Format().prefix(10)) } ?? "          "
      print("[\(item.isDone ? "x" : " ")] \(day)  \(item.name)\(item.list.map { "  (\($0.name))" } ?? "")")
    }
    let (all, open) = try store.count()
    print("\(all) items, \(open) of them open")
  }

  private static func text(of error: NSError) -> String {
    var lines = ["done: \(error.localizedDescription) (\(error.domain) \(error.code))"]
    // If the store has another version, the error lists the differences.
    let details = error.userInfo["differences"] as? [String] ?? error.localizedFailureReason.map { [$0] } ?? []
    lines += details.map { "  - \($0)" }
    if let advice = error.localizedRecoverySuggestion { lines.append("  \(advice)") }
    return lines.joined(separator: "\n") + "\n"
  }
}
