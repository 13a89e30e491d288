// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataTestSupport
import Foundation
import Testing

/// The program `store browse`, asked as a browser asks it. It ends at the end of its life.
final class BrowseClient {
  struct Page {
    let status: Int
    let headers: [String: String]
    let text: String

    /// The value of a hidden field, or of a line.
    func value(_ name: String) -> String? {
      guard let field = text.components(separatedBy: "name=\"\(name)\"").dropFirst().first,
        let start = field.range(of: "value=\"")
      else { return nil }
      return String(field[start.upperBound...].prefix { $0 != "\"" })
    }
  }

  private let process = Process()
  let port: Int
  /// The path of the first page.
  let base: String

  init(_ arguments: String...) throws {
    let place = URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent()
    process.executableURL = place.appendingPathComponent("coredata")
    process.arguments = ["store", "browse"] + arguments
    let output = Pipe()
    process.standardOutput = output
    process.standardError = FileHandle.nullDevice
    try process.run()
    var line = Data()
    while case let byte = output.fileHandleForReading.readData(ofLength: 1), !byte.isEmpty, byte[0] != 0x0A {
      line += byte
    }
    let word = String(decoding: line, as: UTF8.self).split(separator: " ").last.map(String.init) ?? ""
    let url = try #require(URL(string: word))
    port = try #require(url.port)
    base = url.path.hasSuffix("/") ? url.path : url.path + "/"
  }

  deinit {
    kill(process.processIdentifier, SIGTERM)
    process.waitUntilExit()
  }

  func get(_ path: String) throws -> Page { try ask("GET \(path.hasPrefix("/") ? path : base + path)", []) }

  /// Sends a form.
  func post(_ path: String, _ fields: [(String, String)], _ headers: String...) throws -> Page {
    let allowed = CharacterSet.alphanumerics
    let body = fields.map { name, value in
      [name, value].map { $0.addingPercentEncoding(withAllowedCharacters: allowed) ?? "" }.joined(separator: "=")
    }.joined(separator: "&")
    let lines = ["Content-Type: application/x-www-form-urlencoded", "Content-Length: \(body.utf8.count)"]
    return try ask("POST \(base)\(path)", lines + headers, body)
  }

  /// Loads a form, and sends it with other values.
  func submit(_ path: String, _ changes: (String, String)...) throws -> Page {
    let kept = try fields(get(path)).filter { field in !changes.contains { $0.0 == field.0 } }
    return try post(path, kept + changes)
  }

  /// The hidden fields of a page's form.
  func hidden(_ page: Page) -> [(String, String)] {
    ["form", "state"].compactMap { name in page.value(name).map { (name, $0) } }
  }

  /// All fields of a page's form, as a browser sends them.
  func fields(_ page: Page) -> [(String, String)] {
    func plain(_ text: some StringProtocol) -> String {
      var text = String(text)
      for match in text.matches(of: /&#([0-9]+);/).reversed() {
        let scalar = UInt32(match.1).flatMap(Unicode.Scalar.init).map { String(Character($0)) }
        text.replaceSubrange(match.range, with: scalar ?? "")
      }
      for (mark, character) in [("lt", "<"), ("gt", ">"), ("quot", "\""), ("amp", "&")] {
        text = text.replacing("&\(mark);", with: character)
      }
      return text
    }
    let form = page.text.components(separatedBy: "<form").last ?? ""
    var fields: [(String, String)] = []
    for match in form.matches(of: /<input type="(\w+)" name="([^"]*)"[^>]*?value="([^"]*)"([^>]*)\/>/)
    where match.1 != "checkbox" || match.4.contains("checked") {
      fields.append((plain(match.2), plain(match.3)))
    }
    for match in form.matches(of: /<textarea name="([^"]*)"[^>]*>\n([^<]*)<\/textarea>/) {
      fields.append((plain(match.1), plain(match.2).replacing("\n", with: "\r\n")))
    }
    for match in form.matches(of: /<select name="([^"]*)"[^>]*>(.*?)<\/select>/) {
      let selected = match.2.firstMatch(of: /value="([^"]*)" selected/) ?? match.2.firstMatch(of: /value="([^"]*)"/)
      fields.append((plain(match.1), plain(selected?.1 ?? "")))
    }
    return fields
  }

  func ask(_ line: String, _ headers: [String], _ body: String = "", host: String? = nil) throws -> Page {
    let socket = try ClientSocket(port: port)
    let head = ["\(line) HTTP/1.1", "Host: \(host ?? "127.0.0.1:\(port)")"] + headers
    socket.send(head.joined(separator: "\r\n") + "\r\n\r\n" + body)
    let bytes = socket.rest()
    let text = String(decoding: bytes, as: UTF8.self)
    let end = try #require(text.range(of: "\r\n\r\n"), "\(text)")
    let lines = text[..<end.lowerBound].components(separatedBy: "\r\n")
    let pairs = lines.dropFirst().map { line -> (String, String) in
      let parts = line.components(separatedBy: ": ")
      return (parts[0].lowercased(), parts.dropFirst().joined(separator: ": "))
    }
    return Page(
      status: Int(lines[0].split(separator: " ")[1]) ?? 0, headers: Dictionary(pairs) { $1 },
      text: String(text[end.upperBound...]))
  }
}

/// A connection to a server on this machine.
final class ClientSocket {
  private let descriptor: Int32

  struct Failure: Error {
    let number = errno
  }

  init(port: Int) throws {
    descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var place = sockaddr_in()
    place.sin_family = sa_family_t(AF_INET)
    place.sin_port = UInt16(port).bigEndian
    place.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
    let size = socklen_t(MemoryLayout<sockaddr_in>.size)
    let isConnected = withUnsafePointer(to: &place) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { connect(descriptor, $0, size) == 0 }
    }
    guard isConnected else { throw Failure() }
  }

  deinit { close(descriptor) }

  /// Sends all, unless the server closes the connection.
  func send(_ text: String) {
    var rest = Array(text.utf8)[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { Foundation.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
      guard count > 0 else { return }
      rest = rest.dropFirst(count)
    }
  }

  /// Everything until the server closes the connection.
  func rest() -> Data {
    var found = Data()
    var buffer = [UInt8](repeating: 0, count: 1 << 16)
    while case let count = recv(descriptor, &buffer, buffer.count, 0), count > 0 {
      found.append(contentsOf: buffer[..<count])
    }
    return found
  }
}
