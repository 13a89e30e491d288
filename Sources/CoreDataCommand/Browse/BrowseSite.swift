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
  /// What changes the store; nil if it is only read.
  let editing: BrowseEditing?

  init(_ store: BrowsedStore, port: Int, editing: BrowseEditing? = nil) {
    (self.store, self.port, self.editing) = (store, port, editing)
    token = Self.secret()
  }

  /// Returns 128 random bits as text.
  static func secret() -> String {
    var generator = SystemRandomNumberGenerator()
    return (0..<2).map { _ in
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
    guard let first = request.path.first, Self.isSame(first, token) else {
      return HTTPResponse(.forbidden, text: "The address is incomplete. Open the one that coredata has printed.")
    }
    let path = Array(request.path.dropFirst())
    do {
      try store.reopen()
      if request.method == .post { return try change(request, path) }
      return try read { try answer(request, path) }
    } catch let problem as BrowseProblem {
      return failure(problem.sentence(store), .notFound)
    } catch {
      return failure(CommandFailure(error).message, .failed)
    }
  }

  /// Runs a body that reads the store.
  private func read<Result>(_ body: () throws -> Result) throws -> Result {
    try store.context.performAndWait {
      defer { store.context.reset() }
      return try body()
    }
  }

  /// Returns whether a text is a secret, in a time that does not depend on the number of correct characters.
  private static func isSame(_ text: String, _ secret: String) -> Bool {
    text.utf8.count == secret.utf8.count && zip(text.utf8, secret.utf8).reduce(0) { $0 | ($1.0 ^ $1.1) } == 0
  }

  // MARK: Changes

  private func change(_ request: HTTPRequest, _ path: [String]) throws -> HTTPResponse {
    guard let editing else {
      return HTTPResponse(.notAllowed, text: "This server changes nothing. Start it with --write to change the store.")
    }
    // Browsers say which site a form is from. One without that can only be sent by a program that knows the secrets.
    let origin = request.headers["origin"]
    guard origin.map({ hosts.contains($0.lowercased().replacing("http://", with: "")) }) ?? true,
      ["same-origin", nil].contains(request.headers["sec-fetch-site"]),
      let token = request.form["form"], Self.isSame(token, editing.token)
    else {
      return HTTPResponse(
        .forbidden, text: "The form is not one of this server. Load the page again. Nothing was changed.")
    }
    guard let change = BrowseEditing.Change(path: path) else { throw BrowseProblem.noPage }
    let outcome = Result { () throws -> BrowseEditing.Outcome in
      try store.close()
      return try editing.carryOut(change, request.form)
    }
    try store.reopen()
    switch outcome {
    case .success(.saved(let entity, let reference)):
      return HTTPResponse(seeOther: pages.address("object", entity, reference, query: .init("did", "saved")))
    case .success(.unchanged(let entity, let reference)):
      return HTTPResponse(seeOther: pages.address("object", entity, reference, query: .init("did", "nothing")))
    case .success(.deleted(let entity)):
      return HTTPResponse(seeOther: pages.address("list", entity, query: .init("did", "deleted")))
    case .failure(is BrowseEditing.Outdated):
      let problem =
        "The object was changed after this form was loaded. Nothing was saved. Check the values, and send the form again."
      return try refusal(of: change, request.form, problem, .conflict)
    case .failure(let problem as BrowseProblem): throw problem
    case .failure(let error):
      let failure = CommandFailure(error)
      let status: HTTPResponse.Status = failure.status == .unreadableStore ? .conflict : .invalid
      let text = ([failure.message] + failure.advice).joined(separator: " ")
      return try refusal(of: change, request.form, text, status)
    }
  }

  /// Returns the form again, with what was sent.
  private func refusal(
    of change: BrowseEditing.Change, _ form: FormFields, _ problem: String, _ status: HTTPResponse.Status
  ) throws -> HTTPResponse {
    let refusal = BrowsePages.Refusal(sent: form, problem: problem)
    return try read {
      let page =
        switch change {
        case .edit(let entity, let reference): try pages.edit(object(entity, reference), refusal)
        case .insert(let name): try pages.new(entity(name), refusal)
        case .delete(let entity, let reference): try pages.delete(object(entity, reference), problem)
        }
      return HTTPResponse(page: page, status: status)
    }
  }

  private func entity(_ name: String) throws -> NSEntityDescription {
    guard let entity = store.entity(named: name) else { throw BrowseProblem.noEntity(name) }
    return entity
  }

  private func failure(_ sentence: String, _ status: HTTPResponse.Status) -> HTTPResponse {
    var page = pages.page("Error")
    page.heading(1, status == .notFound ? "Not found" : "Error")
    page.paragraph(sentence, style: "bad")
    return HTTPResponse(page: page.html, status: status)
  }

  private var pages: BrowsePages { BrowsePages(store: store, base: "/\(token)", editing: editing) }

  private func answer(_ request: HTTPRequest, _ path: [String]) throws -> HTTPResponse {
    switch (path.first, path.count) {
    case (nil, _): return HTTPResponse(page: try pages.overview())
    case ("list", 2):
      let list = try pages.list(entity(path[1]), request.query)
      return HTTPResponse(page: list.html, status: list.isGood ? .ok : .invalid)
    case ("object", 3):
      return HTTPResponse(page: try pages.object(object(path[1], path[2]), did: request.query["did"]))
    case ("edit", 3) where editing != nil:
      return HTTPResponse(page: try pages.edit(object(path[1], path[2])))
    case ("delete", 3) where editing != nil:
      return HTTPResponse(page: try pages.delete(object(path[1], path[2])))
    case ("new", 2) where editing != nil:
      let entity = try entity(path[1])
      guard !entity.isAbstract else { throw BrowseProblem.noPage }
      return HTTPResponse(page: try pages.new(entity))
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
