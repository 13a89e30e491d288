// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataAnalysis
import Foundation

/// Answers the requests of a browser about a store.
///
/// Other users of this machine can connect to the server too, and so can the scripts of any web site that is open in the
/// browser. So every address begins with a secret, and the header must name this server.
struct BrowseSite {
  let store: BrowsedStore
  let port: Int
  /// The secret at the beginning of each path.
  let token: String

  init(_ store: BrowsedStore, port: Int) {
    (self.store, self.port) = (store, port)
    var generator = SystemRandomNumberGenerator()
    token = (0..<2).map { _ in
      let digits = String(generator.next(), radix: 16)
      return String(repeating: "0", count: 16 - digits.count) + digits
    }.joined()
  }

  /// The address of the first page.
  var url: String { "http://\(LocalServer.address):\(port)/\(token)/" }

  /// The names under which the server may be addressed. A name that a foreign server lets resolve to this machine is
  /// refused.
  private var hosts: Set<String> { ["\(LocalServer.address):\(port)", "localhost:\(port)"] }

  /// Returns the answer to a request.
  func answer(_ request: HTTPRequest) -> HTTPResponse {
    guard let host = request.headers["host"], hosts.contains(host.lowercased()) else {
      return HTTPResponse(.forbidden, text: "This server answers only requests to \(LocalServer.address):\(port).")
    }
    guard let first = request.path.first, isToken(first) else {
      return HTTPResponse(.forbidden, text: "The address is incomplete. Open the one that coredata has printed.")
    }
    return store.context.performAndWait {
      defer { store.context.reset() }
      do {
        return try answer(request, Array(request.path.dropFirst()))
      } catch let problem as BrowseProblem {
        return failure(problem.sentence(store), .notFound)
      } catch {
        return failure(CommandFailure(error).message, .failed)
      }
    }
  }

  /// Returns whether a text is the secret, in a time that does not depend on the number of correct characters.
  private func isToken(_ text: String) -> Bool {
    text.utf8.count == token.utf8.count && zip(text.utf8, token.utf8).reduce(0) { $0 | ($1.0 ^ $1.1) } == 0
  }

  private func failure(_ sentence: String, _ status: HTTPResponse.Status) -> HTTPResponse {
    var page = pages.page("Error")
    page.heading(1, status == .notFound ? "Not found" : "Error")
    page.paragraph(sentence, style: "bad")
    return HTTPResponse(page: page.html, status: status)
  }

  private var pages: BrowsePages { BrowsePages(store: store, base: "/\(token)") }

  private func answer(_ request: HTTPRequest, _ path: [String]) throws -> HTTPResponse {
    switch (path.first, path.count) {
    case (nil, _): return HTTPResponse(page: try pages.overview())
    case ("list", 2):
      guard let entity = store.entity(named: path[1]) else { throw BrowseProblem.noEntity(path[1]) }
      let list = try pages.list(entity, request.query)
      return HTTPResponse(page: list.html, status: list.isGood ? .ok : .invalid)
    case ("object", 3): return HTTPResponse(page: try pages.object(object(path[1], path[2])))
    case ("data", 4): return try pages.data(path[3], of: object(path[1], path[2]))
    case ("history", 1):
      let before = request.query["before"].map { Int64($0) }
      if case .some(nil) = before { throw BrowseProblem.noPage }
      return HTTPResponse(page: try pages.history(before: before ?? nil))
    case ("history", 2):
      guard let number = Int64(path[1]) else { throw BrowseProblem.noPage }
      return HTTPResponse(page: try pages.transaction(number))
    default: throw BrowseProblem.noPage
    }
  }

  /// - Throws: `BrowseProblem` if the store has no such object.
  private func object(_ entity: String, _ reference: String) throws -> NSManagedObject {
    guard store.entity(named: entity) != nil else { throw BrowseProblem.noEntity(entity) }
    guard let id = store.id(entity: entity, reference: reference), let object = try store.object(id) else {
      throw BrowseProblem.noObject("\(entity) \(reference)")
    }
    return object
  }
}
