// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataAnalysis
import CoreDataStoreFiles
import CoreDataTerminal
import Foundation

/// `coredata store history`
enum StoreHistoryCommand: Command {
  static let specification = CommandSpecification(
    ["store", "history"], summary: "Show the transactions in a store's persistent history, with their changes.",
    discussion:
      "The oldest transaction comes first. An update names the properties that it changed; of a deleted object, the values are "
      + "shown that the model preserves (preserveAfterDeletion). Other values are not in the history: store get shows what an "
      + "object has now.\n\nThe last line is the token of the last transaction shown: --since with it, later, shows what came "
      + "after, and refuses another store. JSON has one for each transaction. --since also takes the tokens of an app: what a "
      + "log shows of an NSPersistentHistoryToken, its archive in base64, or @FILE with an archive.\n\nThe store is opened "
      + "read-only. Neither the store nor any file beside it is changed.",
    positionals: [.anyStore],
    options: [
      OptionSpecification(
        "since", .text("TOKEN|NUMBER|DATE"),
        summary: "Show what came after the transaction with this token or number, or after a date such as "
          + "2026-11-27T10:00:00Z."),
      OptionSpecification("author", .text("A"), summary: "Show only transactions of this author."),
      OpenedObjects.model,
      .format(.text, .json),
    ])

  static func run(_ invocation: CommandInvocation) throws -> ExitStatus {
    let since = try invocation.arguments.value("since").map(Since.init)
    let author = invocation.arguments.value("author")
    let objects = try OpenedObjects(invocation)
    defer {
      // Nothing was written, so nothing can be lost by a failure to close.
      try? objects.close()
    }
    return try objects.coordinator.performAndWait {
      guard let store = objects.store as? any HistoryStore, store.hasHistory else {
        throw CommandFailure(
          .unreadableStore,
          "\(objects.address.name) has no persistent history. An app records it with the option NSPersistentHistoryTrackingKey."
        )
      }
      let range = try since?.range(in: objects.store, named: objects.address.name) ?? .all
      let isJSON = invocation.options.format == .json
      var (count, token) = (0, "")
      do {
        try store.readHistory(range, withChanges: true) { transaction, changes in
          guard author == nil || transaction.origin.author == author else { return }
          token = HistoryToken.text(after: transaction.number, in: objects.store)
          if isJSON {
            try invocation.result.write(
              safe: (count == 0 ? "[\n  " : ",\n  ") + json(transaction, changes, token).line())
          } else {
            try write(transaction, changes, invocation)
          }
          count += 1
        }
      } catch let error as NSError where error.code == NSPersistentHistoryTokenExpiredError {
        // The advice of the error is for an app.
        throw CommandFailure(
          .failed,
          "\(error.localizedFailureReason ?? "The position of --since is not in the history.") Without --since, all "
            + "transactions are shown.")
      }
      if isJSON {
        try invocation.result.write(safe: count == 0 ? "[]\n" : "\n]\n")
      } else if count == 0 {
        try invocation.result.write("No transactions.\n")
      } else {
        try invocation.result.write("Token  \(token)\n")
      }
      return .done
    }
  }

  /// The position that `--since` names.
  private enum Since {
    case token(HistoryToken)
    case range(HistoryReader.Range)

    /// - Throws: `CommandFailure` for a text that is neither a number nor a date nor a token.
    init(_ text: String) throws {
      if let number = Int64(text) {
        self = .range(.after(number))
      } else if let seconds = DateText.seconds(text) {
        self = .range(.since(seconds))
      } else if let token = try HistoryToken(text) {
        self = .token(token)
      } else {
        throw CommandFailure(
          .usage,
          "\(JSONText.string(TextLayout.truncated(text, to: 60)).line()) is neither the number of a transaction nor a date, such as 2026-11-27 or "
            + "2026-11-27T10:00:00Z, nor a token, such as store history prints it.")
      }
    }

    /// Returns the transactions of a store after the position.
    ///
    /// - Throws: `CommandFailure` if the token is of another store.
    func range(in store: NSPersistentStore, named name: String) throws -> HistoryReader.Range {
      switch self {
      case .token(let token): .after(try token.number(in: store, named: name))
      case .range(let range): range
      }
    }
  }

  private static func json(
    _ transaction: HistoryTransaction, _ changes: [ObjectHistoryChange], _ token: String
  ) -> JSONText {
    [
      "number": .integer(transaction.number), "token": .string(token), "date": .string(DateText.text(transaction.time)),
      "author": .optional(transaction.origin.author), "context": .optional(transaction.origin.contextName),
      "process": .optional(transaction.origin.process), "bundle": .optional(transaction.origin.bundle),
      "changes": .array(
        changes.map { change in
          var members = [
            JSONText.Member("kind", .string(word(change.stored.kind))),
            .init("id", .string(change.id.uriRepresentation().absoluteString)),
          ]
          if let names = names(change) { members.append(.init("properties", .array(names.map { .string($0) }))) }
          if change.stored.kind == .delete {
            members.append(.init("values", .object(values(change).map { .init($0.name, $0.value.json) })))
          }
          return .object(members)
        }),
    ]
  }

  private static func write(
    _ transaction: HistoryTransaction, _ changes: [ObjectHistoryChange], _ invocation: CommandInvocation
  ) throws {
    var report = invocation.report()
    let origin = transaction.origin
    let facts = [
      "\(transaction.number)", DateText.text(transaction.time), origin.author, origin.contextName,
      origin.process ?? origin.bundle,
    ]
    report.section(facts.compactMap { $0 }.joined(separator: "  ")) { report in
      var table = TextTable([.init(), .init(), .init()])
      for change in changes {
        let values = values(change).map { "\($0.name): \($0.value.text(isExact: false))" }
        let details = names(change) ?? values
        table.add([word(change.stored.kind), OpenedObjects.short(change.id), details.joined(separator: ", ")])
      }
      report.table(table)
    }
    try invocation.write(report)
  }

  /// The names of the properties that an update has changed; nil for other changes.
  private static func names(_ change: ObjectHistoryChange) -> [String]? {
    change.properties.map { $0.map(\.name).sorted() }
  }

  /// The preserved values of a deleted object.
  private static func values(_ change: ObjectHistoryChange) -> [(name: String, value: QueryValue)] {
    var values: [String: Any] = [:]
    for (key, value) in change.tombstone ?? [:] { if let name = key.base as? String { values[name] = value } }
    return values.keys.sorted().map { name in
      (name, QueryValue(values[name], of: change.id.entity.attributesByName[name]))
    }
  }

  private static func word(_ kind: HistoryChangeKind) -> String {
    switch kind {
    case .insert: "insert"
    case .update: "update"
    case .delete: "delete"
    }
  }
}
