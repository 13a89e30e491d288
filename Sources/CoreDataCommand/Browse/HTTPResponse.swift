// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// An answer to a browser.
struct HTTPResponse {
  enum Status: Int {
    case ok = 200
    case seeOther = 303
    case badRequest = 400
    case forbidden = 403
    case notFound = 404
    case notAllowed = 405
    case conflict = 409
    case lengthRequired = 411
    case tooLarge = 413
    case unsupported = 415
    case invalid = 422
    case headerTooLong = 431
    case failed = 500

    var phrase: String {
      switch self {
      case .ok: "OK"
      case .seeOther: "See Other"
      case .badRequest: "Bad Request"
      case .forbidden: "Forbidden"
      case .notFound: "Not Found"
      case .notAllowed: "Method Not Allowed"
      case .conflict: "Conflict"
      case .lengthRequired: "Length Required"
      case .tooLarge: "Content Too Large"
      case .unsupported: "Unsupported Media Type"
      case .invalid: "Unprocessable Content"
      case .headerTooLong: "Request Header Fields Too Large"
      case .failed: "Internal Server Error"
      }
    }
  }

  let status: Status
  let body: Data
  private var headers: [(name: String, value: String)]

  /// The rules for a page: nothing is loaded but pictures from this server, and no script runs.
  private static let pagePolicy =
    "default-src 'none'; style-src 'unsafe-inline'; img-src 'self'; form-action 'self'; base-uri 'none'; "
    + "frame-ancestors 'none'"

  /// Creates an answer with a page.
  init(page: String, status: Status = .ok) {
    self.status = status
    body = Data(page.utf8)
    headers = [("Content-Type", "text/html; charset=utf-8"), ("Content-Security-Policy", Self.pagePolicy)]
  }

  /// Creates an answer that leads to another page, which a browser loads by GET.
  init(seeOther address: String) {
    self.init(.seeOther, text: "See \(address)")
    headers.append(("Location", address))
  }

  /// Creates an answer with a sentence.
  init(_ status: Status, text: String) {
    self.status = status
    body = Data((text + "\n").utf8)
    headers = [
      ("Content-Type", "text/plain; charset=utf-8"), ("Content-Security-Policy", "default-src 'none'; sandbox"),
    ]
    if status == .notAllowed { headers.append(("Allow", "GET, HEAD")) }
  }

  /// Creates an answer with a value of the store, which a browser must not interpret as a page.
  ///
  /// - Parameter fileName: the name under which a browser saves the value; nil for a picture, which it shows.
  init(value: Data, type: String, fileName: String?) {
    status = .ok
    body = value
    headers = [("Content-Type", type), ("Content-Security-Policy", "default-src 'none'; sandbox")]
    if let fileName {
      headers.append(("Content-Disposition", "attachment; filename*=UTF-8''\(URLText.encoded(fileName))"))
    }
  }

  /// Returns the bytes of the answer.
  ///
  /// - Parameter hasBody: false for the answer to HEAD.
  func bytes(hasBody: Bool) -> Data {
    var lines = ["HTTP/1.1 \(status.rawValue) \(status.phrase)"]
    lines += headers.map { "\($0.name): \($0.value)" }
    lines += [
      "Content-Length: \(body.count)", "Connection: close", "Cache-Control: no-store",
      "X-Content-Type-Options: nosniff", "X-Frame-Options: DENY", "Referrer-Policy: same-origin",
      "Cross-Origin-Resource-Policy: same-origin", "Cross-Origin-Opener-Policy: same-origin",
    ]
    let head = Data((lines.joined(separator: "\r\n") + "\r\n\r\n").utf8)
    return hasBody ? head + body : head
  }
}
