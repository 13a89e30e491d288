// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataPostgreSQLClient
import CoreDataTestSupport
import Foundation
import PostgreSQLTestServer

/// A database in a server of its own, with the role and the name that its URL in a transcript has.
struct TranscriptServer {
  /// The beginning of URLs in the transcript, and what it stands for.
  private let shown, actual: String
  /// The directory of the socket in the transcript, and what it stands for; nil if the URL has no directory.
  private let shownFolder: String?
  private let actualFolder: String
  /// Nil if none shall answer. It syncs its files, as one does that somebody uses.
  private let server: TestServer?

  struct Failure: Error {
    let url: String
  }

  /// Makes an empty database.
  ///
  /// - Parameters:
  ///   - shown: a URL with a role and a database, without a schema: `postgresql://app@db.example/shop`.
  ///   - missing: the directory that is in the place of the server's, if none shall answer.
  /// - Throws: `Failure` for a URL of another form; the errors of starting a server and of making the database.
  init(_ shown: String, missing: URL? = nil) throws {
    guard let match = shown.wholeMatch(of: /postgresql:\/\/(\w+)@[^\/?]*\/(\w+)(?:\?host=([^&]+))?/) else {
      throw Failure(url: shown)
    }
    let (role, database) = (String(match.1), String(match.2))
    self.shown = shown
    shownFolder = match.3.map(String.init)
    server = missing == nil ? try TestServer(isDurable: true) : nil
    actualFolder = missing?.path ?? server?.socketFolder ?? ""
    actual = "postgresql://\(role)@/\(database)?host=\(actualFolder)"
    guard let server else { return }
    let connection = try PostgreSQLConnection(PostgreSQLAddress(server.url()), applicationName: "transcripts")
    try connection.execute("CREATE ROLE \(role) LOGIN")
    try connection.execute("CREATE DATABASE \(database) OWNER \(role)")
    connection.close()
  }

  /// Returns a word of a command line with the actual URL.
  func resolved(_ word: String) -> String {
    guard word.hasPrefix(shown) else { return word }
    let rest = word.dropFirst(shown.count)
    return actual + (rest.hasPrefix("?") ? "&" + rest.dropFirst() : rest)
  }

  /// Returns a text with the URLs and directories of the transcript.
  func presented(_ text: String) -> String {
    var text = text
    if shownFolder == nil { text = text.replacingOccurrences(of: actual + "&", with: shown + "?") }
    text = text.replacingOccurrences(of: actual, with: shown)
    return shownFolder.map { text.replacingOccurrences(of: actualFolder, with: $0) } ?? text
  }
}
