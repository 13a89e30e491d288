// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreDataCommand

/// `store browse` as a program, asked over sockets.
@Suite("coredata store browse as a program", .enabled(if: ProgramRun.isPresent, "The program was not built"))
struct StoreBrowseProcessTests {
  private let library: BrowseLibrary

  init() throws {
    library = try BrowseLibrary()
  }

  /// The address that the program has printed.
  private struct Address {
    let port: Int
    let path: String

    init(_ line: String) throws {
      let url = try #require(line.split(separator: " ").last.flatMap { URL(string: String($0)) })
      #expect(url.host == "127.0.0.1")
      port = try #require(url.port)
      path = url.path.hasSuffix("/") ? url.path : url.path + "/"
    }
  }

  @Test(
    "It answers several browsers at once, and ends with 0 when it is asked to", arguments: [SIGTERM, SIGINT, SIGHUP],
    [false, true])
  func serves(signal: Int32, blocksSignals: Bool) throws {
    let files = try library.files()
    let run = try ProgramRun(["store", "browse", library.store], blocksSignals: blocksSignals)
    let address = try Address(run.firstLine())
    // Browsers connect before they need it.
    let idle = try (0..<5).map { _ in try ClientSocket(port: address.port) }
    let slow = try ClientSocket(port: address.port)
    slow.send("GET \(address.path) HTTP/1.1\r\nHost: 127.0")
    let page = try ask(address, "list/Book?q=volume+119")
    #expect(page.status == 200 && page.text.contains("Volume 119"))
    slow.send(".0.1:\(address.port)\r\n\r\n")
    #expect(try BrowseAnswer(slow.rest()).text.contains("Library.sqlite"))
    #expect(try ask(address, "", host: "evil.example").status == 403)
    let wrong = try ClientSocket(port: address.port)
    wrong.send("\u{1}\r\n\r\n")
    #expect(try BrowseAnswer(wrong.rest()).status == 400)
    let form = try ClientSocket(port: address.port)
    form.send("POST \(address.path) HTTP/1.1\r\nHost: 127.0.0.1:\(address.port)\r\nContent-Length: 0\r\n\r\n")
    #expect(try BrowseAnswer(form.rest()).status == 405)
    run.send(signal)
    let end = try run.end()
    #expect(end.status == 0, "\(end)")
    #expect(try library.files() == files)
    withExtendedLifetime(idle) {}
  }

  @Test("More connections than are served at once wait for their turn")
  func manyConnections() throws {
    let run = try ProgramRun("store", "browse", library.store, "-q")
    let address = try Address(run.firstLine())
    var idle = try (0..<40).map { _ in try ClientSocket(port: address.port) }
    let waiting = try ClientSocket(port: address.port)
    waiting.send("GET \(address.path) HTTP/1.1\r\nHost: 127.0.0.1:\(address.port)\r\n\r\n")
    idle.removeAll()
    #expect(try BrowseAnswer(waiting.rest()).status == 200)
    run.send(SIGTERM)
    #expect(try run.end().status == 0)
  }

  @Test("A port that is taken, or none, is refused in words")
  func ports() throws {
    let run = try ProgramRun("store", "browse", library.store, "--port", "0")
    let address = try Address(run.firstLine())
    let second = CommandRun("store", "browse", library.store, "--port", String(address.port))
    #expect(second.status == .failed && second.error.contains("Port \(address.port) of 127.0.0.1 cannot be used: "))
    #expect(CommandRun("store", "browse", library.store, "--port", "65536").status == .usage)
    run.send(SIGTERM)
    #expect(try run.end().status == 0)
  }

  @Test("The address is written to a file that is complete at once")
  func addressFile() throws {
    let file = library.path("address.json")
    let run = try ProgramRun("store", "browse", library.store, "--format", "json", "-o", file)
    while !FileManager.default.fileExists(atPath: file), run.isRunning { sched_yield() }
    let value = try JSONSerialization.jsonObject(with: Data(contentsOf: URL(fileURLWithPath: file)))
    let url = try #require((value as? [String: Any])?["url"] as? String)
    #expect(try ask(Address(url), "").status == 200)
    run.send(SIGTERM)
    #expect(try run.end().status == 0)
  }

  private func ask(_ address: Address, _ path: String, host: String? = nil) throws -> BrowseAnswer {
    let socket = try ClientSocket(port: address.port)
    let host = host ?? "127.0.0.1:\(address.port)"
    socket.send("GET \(address.path)\(path) HTTP/1.1\r\nHost: \(host)\r\n\r\n")
    return try BrowseAnswer(socket.rest())
  }
}
