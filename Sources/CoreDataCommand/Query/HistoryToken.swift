// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataFileSystem
import CoreDataTerminal
import Foundation

/// A position in the persistent history of a store: `UUID:NUMBER`, as `store history` prints it, or a token of an app.
struct HistoryToken {
  /// The numbers of transactions, by the UUIDs of their stores.
  private let numbers: [String: Int64]

  /// A token's archive has a line for each store.
  private static let maxFileSize = 1 << 20

  /// The position after a transaction.
  static func text(after number: Int64, in store: NSPersistentStore) -> String { "\(store.identifier ?? ""):\(number)" }

  /// Reads a token; nil for any other text.
  ///
  /// - Parameter text: `UUID:NUMBER`, the description of an `NSPersistentHistoryToken`, its archive in base64, or
  ///   `@FILE` with an archive.
  /// - Throws: `CommandFailure` for a file that cannot be read, or that contains no token.
  init?(_ text: String) throws {
    if text.hasPrefix("@") {
      let url = URL(fileURLWithPath: String(text.dropFirst()))
      let data: Data
      do {
        data = try RegularFile.read(url, limit: Self.maxFileSize)
      } catch {
        throw CommandFailure(.usage, "\(url.path) cannot be read: \(CommandFailure(error).message)")
      }
      guard let numbers = Self.numbers(inArchive: data) else {
        throw CommandFailure(.usage, "\(url.path) is not the archive of an NSPersistentHistoryToken.")
      }
      self.numbers = numbers
    } else if let match = text.wholeMatch(of: /([0-9A-Fa-f-]{36}):([0-9]+)/), let number = Int64(match.2) {
      numbers = [String(match.1): number]
    } else if let numbers = Self.numbers(inDescription: text) {
      self.numbers = numbers
    } else if let data = Data(base64Encoded: text), let numbers = Self.numbers(inArchive: data) {
      self.numbers = numbers
    } else {
      return nil
    }
  }

  private static func numbers(inArchive data: Data) -> [String: Int64]? {
    // Whatever is wrong with an archive, it is not the archive of a token.
    let token = try? NSKeyedUnarchiver.unarchivedObject(ofClass: NSPersistentHistoryToken.self, from: data)
    // The description is all that a token shows of its stores.
    return token.flatMap { numbers(inDescription: $0.description) }
  }

  /// Reads `<NSPersistentHistoryToken - { "UUID" = 3; }>`, which an app writes into its log.
  private static func numbers(inDescription text: String) -> [String: Int64]? {
    let line = text.split(whereSeparator: \.isWhitespace).joined(separator: " ")
    guard let list = line.wholeMatch(of: /<NSPersistentHistoryToken(?:: 0x[0-9a-f]+)? - \{ ?(.*?) ?\}>/)?.1 else {
      return nil
    }
    var numbers: [String: Int64] = [:]
    for entry in list.split(separator: ";") where !entry.allSatisfy(\.isWhitespace) {
      guard let match = entry.wholeMatch(of: /\ ?"?([^" ]+)"? = ([0-9]+)\ ?/), let number = Int64(match.2) else {
        return nil
      }
      numbers[String(match.1)] = number
    }
    return numbers.isEmpty ? nil : numbers
  }

  /// Returns the number of the transaction in a store.
  ///
  /// - Throws: `CommandFailure` if the token is of other stores.
  func number(in store: NSPersistentStore, named name: String) throws -> Int64 {
    let identifier = store.identifier ?? ""
    if let number = numbers.first(where: { $0.key.caseInsensitiveCompare(identifier) == .orderedSame })?.value {
      return number
    }
    let stores = numbers.keys.sorted().joined(separator: ", ")
    throw CommandFailure(
      .unreadableStore,
      "The token is of \(numbers.count == 1 ? "the store" : "the stores") \(stores), and \(name) has the identifier "
        + "\(identifier). Use a token of this store, or the number of a transaction.")
  }
}
