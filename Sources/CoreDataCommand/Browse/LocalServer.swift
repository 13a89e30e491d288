// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataTerminal
import Foundation
import Synchronization

/// A small HTTP server that only programs on this machine can reach.
///
/// It answers one request after the other on the thread that runs it, so whatever answers them needs no locks. Each
/// connection carries one request.
final class LocalServer: Sendable {
  /// The only address that the server listens on.
  static let address = "127.0.0.1"
  /// The number of connections that are served at the same time. Others wait in the system's queue.
  private static let maxConnections = 32
  /// How long a browser may take to send its request, or to receive any part of the answer.
  private static let patience: TimeInterval = 30

  /// How long the rest of a refused request is read, so that the browser reads the answer.
  private static let lingering: TimeInterval = 5

  let port: Int
  private let takesForms: Bool
  private let listener: Int32
  /// A byte written to the second descriptor ends `run`.
  private let wakers: (read: Int32, write: Int32)
  private let stops = Atomic(0)

  /// Starts listening.
  ///
  /// - Parameters:
  ///   - port: the port; 0 for any free one.
  ///   - takesForms: whether requests by POST are answered.
  /// - Throws: `CommandFailure` if the port is taken or cannot be used.
  init(port: Int, takesForms: Bool = false) throws {
    self.takesForms = takesForms
    let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    guard listener >= 0 else { throw Self.failure("A socket cannot be created") }
    var ends: [Int32] = [-1, -1]
    do {
      try Self.prepare(listener)
      self.port = try Self.listen(listener, port)
      guard pipe(&ends) == 0 else { throw Self.failure("A pipe cannot be created") }
      for end in ends { try Self.prepare(end) }
    } catch {
      for descriptor in [listener] + ends where descriptor >= 0 { close(descriptor) }
      throw error
    }
    self.listener = listener
    wakers = (ends[0], ends[1])
  }

  deinit {
    for descriptor in [listener, wakers.read, wakers.write] { close(descriptor) }
  }

  private static func listen(_ listener: Int32, _ port: Int) throws -> Int {
    // The port of a server that has just ended can be used again.
    var yes: Int32 = 1
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, socklen_t(MemoryLayout<Int32>.size))
    var place = sockaddr_in()
    place.sin_family = sa_family_t(AF_INET)
    place.sin_port = UInt16(port).bigEndian
    place.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
    var size = socklen_t(MemoryLayout<sockaddr_in>.size)
    let isBound = withUnsafePointer(to: &place) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(listener, $0, size) == 0 }
    }
    guard isBound else {
      let taken = errno == EADDRINUSE ? " Choose another one, or omit --port for a free one." : ""
      throw failure("Port \(port) of \(address) cannot be used", taken)
    }
    guard Foundation.listen(listener, 64) == 0 else { throw failure("The server cannot listen on port \(port)") }
    let isNamed = withUnsafeMutablePointer(to: &place) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(listener, $0, &size) == 0 }
    }
    guard isNamed else { throw failure("The port of the server cannot be found out") }
    return Int(UInt16(bigEndian: place.sin_port))
  }

  /// Keeps a descriptor from blocking this process, and from being inherited by another one.
  private static func prepare(_ descriptor: Int32) throws {
    guard fcntl(descriptor, F_SETFD, FD_CLOEXEC) == 0,
      fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK) == 0
    else { throw failure("A descriptor cannot be prepared") }
  }

  private static func failure(_ what: String, _ advice: String = "") -> CommandFailure {
    CommandFailure(.failed, "\(what): \(String(cString: strerror(errno))).\(advice)")
  }

  /// Ends `run` when the current request has been answered. May be called on any thread.
  ///
  /// - Returns: how often it has been called.
  @discardableResult func stop() -> Int {
    var byte: UInt8 = 1
    // If the pipe is full, a byte is in it already.
    _ = write(wakers.write, &byte, 1)
    return stops.add(1, ordering: .relaxed).newValue
  }

  /// Answers requests until `stop()` is called.
  ///
  /// - Throws: `CommandFailure` if the system refuses to wait for connections.
  func run(_ answer: (HTTPRequest) -> HTTPResponse) throws {
    var connections: [Connection] = []
    defer { for connection in connections { close(connection.descriptor) } }
    while true {
      let accepts = connections.count < Self.maxConnections
      var waits = [pollfd(fd: wakers.read, events: Int16(POLLIN), revents: 0)]
      waits.append(pollfd(fd: listener, events: accepts ? Int16(POLLIN) : 0, revents: 0))
      waits += connections.map { pollfd(fd: $0.descriptor, events: $0.events, revents: 0) }
      let deadline = connections.map(\.deadline).min()
      let timeout = deadline.map { max(0, ($0 - Self.now) * 1000).rounded(.up) } ?? -1
      let count = poll(&waits, nfds_t(waits.count), Int32(timeout))
      guard count >= 0 || errno == EINTR else { throw Self.failure("Waiting for connections has failed") }
      if waits[0].revents != 0 || stops.load(ordering: .relaxed) > 0 { return }
      guard count >= 0 else { continue }
      for (connection, wait) in zip(connections, waits.dropFirst(2)) where wait.revents != 0 {
        connection.proceed(answer)
      }
      for connection in connections where !connection.isDone && connection.deadline <= Self.now {
        connection.isDone = true
      }
      for connection in connections where connection.isDone { close(connection.descriptor) }
      connections.removeAll(where: \.isDone)
      if accepts, waits[1].revents != 0, let connection = accept() { connections.append(connection) }
    }
  }

  private func accept() -> Connection? {
    let descriptor = Foundation.accept(listener, nil, nil)
    // The client may be gone again, or this process has no descriptor to spare at the moment.
    guard descriptor >= 0 else { return nil }
    do {
      try Self.prepare(descriptor)
    } catch {
      // A connection that could block the others is not served.
      close(descriptor)
      return nil
    }
    return Connection(descriptor, takesForms: takesForms)
  }

  /// Seconds of a clock that only goes forward.
  private static var now: TimeInterval { TimeInterval(DispatchTime.now().uptimeNanoseconds) / 1e9 }

  /// A connection with its request, and then with its answer.
  private final class Connection {
    let descriptor: Int32
    var isDone = false
    private(set) var deadline = LocalServer.now + LocalServer.patience
    private var reader: HTTPRequestReader
    private var answer: Data?
    private var sentCount = 0
    private var isRefused = false
    /// Whether the answer was sent, and what the browser still sends is discarded.
    private var isLingering = false

    init(_ descriptor: Int32, takesForms: Bool) {
      self.descriptor = descriptor
      reader = HTTPRequestReader(takesForms: takesForms)
    }

    var events: Int16 { Int16(answer == nil || isLingering ? POLLIN : POLLOUT) }

    /// Receives or sends what is possible at the moment.
    func proceed(_ answer: (HTTPRequest) -> HTTPResponse) {
      if isLingering { discard() } else if self.answer == nil { receive(answer) } else { send() }
    }

    private func receive(_ answer: (HTTPRequest) -> HTTPResponse) {
      var buffer = [UInt8](repeating: 0, count: 16 << 10)
      let count = recv(descriptor, &buffer, buffer.count, 0)
      if count < 0, errno == EAGAIN || errno == EINTR { return }
      guard count > 0 else { return isDone = true }
      do {
        guard let request = try reader.add(buffer[..<count]) else { return }
        self.answer = answer(request).bytes(hasBody: request.method != .head)
      } catch {
        let refusal = error as? HTTPRequestReader.Refusal
        isRefused = true
        self.answer = HTTPResponse(
          refusal?.status ?? .failed, text: refusal?.reason ?? CommandFailure(error).message
        ).bytes(hasBody: true)
      }
      deadline = LocalServer.now + LocalServer.patience
      send()
    }

    private func send() {
      guard let answer else { return }
      let count = answer.withUnsafeBytes { bytes in
        Foundation.send(
          descriptor, bytes.baseAddress.map { $0 + sentCount }, bytes.count - sentCount, Int32(MSG_NOSIGNAL))
      }
      if count < 0, errno == EAGAIN || errno == EINTR { return }
      guard count >= 0 else { return isDone = true }
      sentCount += count
      deadline = LocalServer.now + LocalServer.patience
      guard sentCount >= answer.count else { return }
      // Closing a socket with unread bytes would make the system discard the answer.
      shutdown(descriptor, Int32(SHUT_WR))
      deadline = LocalServer.now + LocalServer.lingering
      isLingering = isRefused
      discard()
      if !isLingering { isDone = true }
    }

    /// Discards what has arrived. The deadline is that of the connection, however much arrives.
    private func discard() {
      var rest = [UInt8](repeating: 0, count: 16 << 10)
      var count = 1
      // A browser that sends without end must not keep others waiting.
      for _ in 0..<64 where count > 0 { count = recv(descriptor, &rest, rest.count, 0) }
      if count == 0 || count < 0 && errno != EAGAIN && errno != EINTR { isDone = true }
    }
  }
}
