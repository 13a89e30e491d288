// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The fields of a query, in order.
struct FormFields: Hashable {
  private(set) var pairs: [(name: String, value: String)] = []

  init() {}

  init(_ name: String, _ value: String) { pairs = [(name, value)] }

  /// Decodes `name=value&…`.
  ///
  /// - Returns: nil if a name or a value is not valid.
  init?(encoded text: some StringProtocol) {
    for part in text.split(separator: "&") {
      let sides = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      guard let name = Self.decoded(sides[0]), let value = Self.decoded(sides.count > 1 ? sides[1] : "") else {
        return nil
      }
      pairs.append((name, value))
    }
  }

  private static func decoded(_ text: some StringProtocol) -> String? {
    String(text).replacingOccurrences(of: "+", with: " ").removingPercentEncoding
  }

  /// The first value of a field; nil if there is none. Setting it replaces all values.
  subscript(name: String) -> String? {
    get { pairs.first { $0.name == name }?.value }
    set {
      pairs.removeAll { $0.name == name }
      if let newValue { pairs.append((name, newValue)) }
    }
  }

  /// The fields as `name=value&…`.
  var encoded: String {
    pairs.map { "\(URLText.encoded($0.name))=\(URLText.encoded($0.value))" }.joined(separator: "&")
  }

  static func == (left: FormFields, right: FormFields) -> Bool { left.pairs.elementsEqual(right.pairs, by: ==) }

  func hash(into hasher: inout Hasher) { hasher.combine(encoded) }
}

/// Text in URLs.
enum URLText {
  private static let plain = CharacterSet(
    charactersIn: "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")

  /// Returns the text with all characters encoded that have a meaning in a URL.
  static func encoded(_ text: String) -> String {
    text.addingPercentEncoding(withAllowedCharacters: plain) ?? ""
  }
}

/// A request of a browser.
struct HTTPRequest: Hashable {
  enum Method: String {
    case get = "GET"
    case head = "HEAD"
    case post = "POST"
  }

  let method: Method
  /// The decoded parts of the path.
  let path: [String]
  let query: FormFields
  /// The values of the header fields, by names in lowercase.
  let headers: [String: String]
  /// The fields of a form that was sent by POST.
  var form = FormFields()
}

/// Reads one request from the bytes of a connection.
struct HTTPRequestReader {
  /// The maximum size of the request line with the header, in bytes.
  static let headLimit = 16 << 10
  /// The maximum size of a form, in bytes.
  static let formLimit = 4 << 20

  /// Whether forms are taken, with which something is changed.
  private let takesForms: Bool
  private var bytes = Data()
  /// A request whose form is being received, and its size.
  private var head: (request: HTTPRequest, size: Int)?

  init(takesForms: Bool = false) { self.takesForms = takesForms }

  /// Why a request is not answered.
  struct Refusal: Error, Hashable {
    let status: HTTPResponse.Status
    let reason: String

    init(_ status: HTTPResponse.Status, _ reason: String) {
      (self.status, self.reason) = (status, reason)
    }
  }

  /// Adds received bytes.
  ///
  /// - Returns: the request, if it is complete.
  /// - Throws: `Refusal` for a request that is malformed or too long.
  mutating func add(_ received: some Sequence<UInt8>) throws -> HTTPRequest? {
    bytes.append(contentsOf: received)
    if head == nil {
      guard let end = bytes.firstRange(of: Data("\r\n\r\n".utf8)) else {
        guard bytes.count <= Self.headLimit else { throw Self.tooLong }
        return nil
      }
      guard end.lowerBound <= Self.headLimit else { throw Self.tooLong }
      let request = try request(bytes[..<end.lowerBound])
      guard request.method == .post else { return request }
      head = (request, try Self.formSize(request))
      bytes = Data(bytes[end.upperBound...])
    }
    guard let head, bytes.count >= head.size else { return nil }
    var request = head.request
    guard let text = String(validating: bytes.prefix(head.size), as: UTF8.self),
      let form = FormFields(encoded: text)
    else { throw Refusal(.badRequest, "The form cannot be read.") }
    request.form = form
    return request
  }

  /// Returns the size of a request's form.
  private static func formSize(_ request: HTTPRequest) throws -> Int {
    let type = request.headers["content-type"]?.split(separator: ";").first.map { $0.lowercased() } ?? ""
    guard type.trimmingCharacters(in: .whitespaces) == "application/x-www-form-urlencoded" else {
      throw Refusal(.unsupported, "The content of the request is not a form.")
    }
    guard let size = request.headers["content-length"].flatMap({ UInt32($0) }).map({ Int($0) }) else {
      throw Refusal(.lengthRequired, "The request does not say how long its form is.")
    }
    guard size <= formLimit else {
      throw Refusal(
        .tooLarge,
        "The form is larger than \(formLimit >> 20) MB. Change large values with coredata store set.")
    }
    return size
  }

  private static var tooLong: Refusal {
    Refusal(.headerTooLong, "The address or the header of the request is longer than \(headLimit) bytes.")
  }

  private func request(_ bytes: Data) throws -> HTTPRequest {
    guard let text = String(validating: bytes, as: UTF8.self) else {
      throw Refusal(.badRequest, "The header of the request is not UTF-8.")
    }
    let lines = text.components(separatedBy: "\r\n")
    let words = lines[0].split(separator: " ", omittingEmptySubsequences: false)
    guard words.count == 3, words[2] == "HTTP/1.1" || words[2] == "HTTP/1.0", words[1].hasPrefix("/") else {
      throw Refusal(.badRequest, "The first line is not that of a request.")
    }
    guard let method = HTTPRequest.Method(rawValue: String(words[0])), takesForms || method != .post else {
      throw Refusal(
        .notAllowed,
        takesForms
          ? "This server answers only GET, HEAD and POST."
          : "This server changes nothing, so it answers only GET and HEAD.")
    }
    let headers = try Self.headers(lines.dropFirst())
    guard headers["transfer-encoding"] == nil, method == .post || headers["content-length"] ?? "0" == "0" else {
      throw Refusal(.tooLarge, "A request must have no content.")
    }
    let target = words[1].split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
    let parts = target[0].split(separator: "/").map { String($0).removingPercentEncoding }
    guard parts.allSatisfy({ $0 != nil }), let query = FormFields(encoded: target.count > 1 ? target[1] : "") else {
      throw Refusal(.badRequest, "The address cannot be read.")
    }
    return HTTPRequest(method: method, path: parts.compactMap { $0 }, query: query, headers: headers)
  }

  private static func headers(_ lines: ArraySlice<String>) throws -> [String: String] {
    var headers: [String: String] = [:]
    for line in lines {
      guard let colon = line.firstIndex(of: ":"), colon > line.startIndex else {
        throw Refusal(.badRequest, "A line of the header has no name.")
      }
      let name = line[..<colon].lowercased()
      guard name.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7f }) else {
        throw Refusal(.badRequest, "A line of the header has no valid name.")
      }
      let value = line[line.index(after: colon)...].trimmingCharacters(in: CharacterSet(charactersIn: " \t"))
      // Fields that decide about the request must not have two meanings.
      if headers[name] != nil, ["host", "origin", "content-length", "content-type"].contains(name) {
        throw Refusal(.badRequest, "The header has two lines named \(name).")
      }
      headers[name] = value
    }
    return headers
  }
}
