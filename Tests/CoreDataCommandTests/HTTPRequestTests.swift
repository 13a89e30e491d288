// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import CoreDataCommand

@Suite("Requests of browsers")
struct HTTPRequestTests {
  private func read(_ text: String) throws -> HTTPRequest? {
    var reader = HTTPRequestReader()
    return try reader.add(text.utf8)
  }

  private func status(of text: String) -> HTTPResponse.Status? {
    do {
      _ = try read(text)
      return nil
    } catch {
      return (error as? HTTPRequestReader.Refusal)?.status
    }
  }

  @Test("A request is read from any pieces", arguments: [1, 7, 1000])
  func pieces(size: Int) throws {
    let text = "GET /a%20b/c?x=1&y=a+b%26&x=2 HTTP/1.1\r\nHost: h:1\r\nContent-Length: 0\r\n\r\n"
    var reader = HTTPRequestReader()
    var rest = Array(text.utf8)[...]
    var request: HTTPRequest?
    while !rest.isEmpty {
      #expect(request == nil)
      request = try reader.add(rest.prefix(size))
      rest = rest.dropFirst(size)
    }
    #expect(request?.path == ["a b", "c"] && request?.query["x"] == "1" && request?.query["y"] == "a b&")
    #expect(request?.method == .get && request?.headers["host"] == "h:1")
  }

  @Test(
    "What is no request, or means two things, is refused",
    arguments: [
      "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", "GET /\r\n\r\n", "GET  / HTTP/1.1\r\n\r\n", "\r\n\r\n",
      "GET http://other/ HTTP/1.1\r\n\r\n", "GET / HTTP/2\r\n\r\n", "GET /%ff HTTP/1.1\r\n\r\n",
      "GET /?a=%f HTTP/1.1\r\n\r\n", "GET / HTTP/1.1\r\nname\r\n\r\n", "GET / HTTP/1.1\r\n: x\r\n\r\n",
      "GET / HTTP/1.1\r\nHost : a\r\n\r\n", "GET / HTTP/1.1\r\nHost: a\r\n b: c\r\n\r\n",
    ])
  func refused(text: String) { #expect(status(of: text) == .badRequest) }

  @Test("Methods that change something, and contents, are refused")
  func otherStatuses() {
    for method in ["POST", "PUT", "DELETE", "get"] {
      #expect(status(of: "\(method) / HTTP/1.1\r\nContent-Length: 0\r\n\r\n") == .notAllowed)
    }
    for length in ["1", "-1", "1e3", "99999999999999999999"] {
      #expect(status(of: "GET / HTTP/1.1\r\nContent-Length: \(length)\r\n\r\n") == .tooLarge, "\(length)")
    }
    #expect(status(of: "GET / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n") == .tooLarge)
  }

  @Test("A request is only so long")
  func limits() throws {
    let limit = HTTPRequestReader.headLimit
    #expect(status(of: "GET /" + String(repeating: "a", count: limit)) == .headerTooLong)
    #expect(status(of: "GET /" + String(repeating: "a", count: limit) + " HTTP/1.1\r\n\r\n") == .headerTooLong)
    #expect(try read("GET /" + String(repeating: "a", count: limit - 100) + " HTTP/1.1\r\n\r\n") != nil)
  }

  @Test("Text with any character is the same after a URL", arguments: ["a b&c=d", "é/%?#+", "\u{0}\u{1f600}\"'<"])
  func encoding(text: String) throws {
    var fields = FormFields()
    fields["name"] = text
    #expect(try #require(FormFields(encoded: fields.encoded))["name"] == text)
  }

  @Test("Pictures are known by their first bytes, and nothing else is a picture")
  func pictures() {
    #expect(PictureType(of: BrowseLibrary.picture ?? Data())?.mediaType == "image/png")
    #expect(PictureType(of: Data([0xff, 0xd8, 0xff, 0xe0]))?.mediaType == "image/jpeg")
    #expect(PictureType(of: Data("RIFF1234WEBPVP8 ".utf8))?.mediaType == "image/webp")
    for text in ["", "<svg", "<html>", "GIF", "BM looks like a picture", "RIFF1234WAVE", "%PDF-1.4"] {
      #expect(PictureType(of: Data(text.utf8)) == nil, "\(text)")
    }
  }
}
