// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// A socket between clients and a server, or its pooler, that breaks connections at a certain message, for tests of faults.
///
/// The messages of PostgreSQL's protocol are counted from the last call of `arm(_:_:)`, over all connections.
package final class CuttingProxy: @unchecked Sendable {
  /// Where a fault happens: at the message or byte after so many, which is not passed on.
  package enum Point: Hashable, Sendable {
    /// Messages that a client sends: the server does not receive the next one.
    case clientMessages(Int)
    /// Messages that the server sends: it has done what they tell, and the client does not learn of it.
    case serverMessages(Int)
    /// Bytes that a client sends, in the middle of a message.
    case clientBytes(Int)
    /// Bytes that the server sends.
    case serverBytes(Int)
    /// The next commit, which the server does not receive.
    case commit
    /// The answer to the next commit, which the server has carried out.
    case answerToCommit
  }

  package enum Fault: Hashable, Sendable {
    /// All connections are closed. New ones are possible.
    case cut
    /// Nothing is passed on until `thaw()` is called.
    case freeze
    /// The client's connection is closed, and the server does not notice it.
    case cutClient
  }

  private struct State {
    var point: Point?
    var fault = Fault.cut
    var isTriggered = false
    var isFrozen = false
    var isStopped = false
    var isCommitSent = false
    /// The number of connections to refuse once the fault has happened.
    var refusalsAfterFault = 0
    var refusals = 0
    /// The sockets to the server that stay open when their clients' are closed.
    var kept: Set<Int32> = []
    var counts: [Direction: (messages: Int, bytes: Int)] = [:]
    /// The sockets of the connections, which their threads close.
    var open: Set<Int32> = []
  }

  private enum Direction: Hashable { case fromClient, fromServer }

  /// The directory of the socket that clients connect to.
  package let socketFolder: String
  private let server: TestServer
  private let listener: Int32
  private let condition = NSCondition()
  private var state = State()

  package init(_ server: TestServer) throws {
    self.server = server
    socketFolder =
      "/tmp/coredata-proxy-\(ProcessInfo.processInfo.processIdentifier)-\(UInt32.random(in: 0...UInt32.max))"
    try FileManager.default.createDirectory(atPath: socketFolder, withIntermediateDirectories: false)
    listener = try Self.makeSocket()
    let result = Self.withAddress("\(socketFolder)/.s.PGSQL.5432") { bind(listener, $0, $1) }
    guard result == 0, listen(listener, 64) == 0 else { throw Self.failure("bind") }
    let thread = Thread { [self] in acceptClients() }
    thread.name = "CuttingProxy"
    thread.start()
  }

  /// A URL of the server by way of the proxy.
  package func url(_ original: URL) -> URL {
    URL(string: original.absoluteString.replacingOccurrences(of: server.clientFolder, with: socketFolder))!
  }

  /// Has a fault happen once, and begins to count.
  ///
  /// - Parameter refusals: how many connections are refused after the fault.
  package func arm(_ point: Point, _ fault: Fault = .cut, refusing refusals: Int = 0) {
    condition.withLock {
      (state.point, state.fault, state.isTriggered, state.counts) = (point, fault, false, [:])
      (state.isCommitSent, state.refusalsAfterFault, state.refusals) = (false, refusals, 0)
    }
  }

  /// Refuses connections from now on.
  package func refuse(_ count: Int) { condition.withLock { state.refusals = count } }

  /// - Returns: whether the fault has happened.
  @discardableResult
  package func disarm() -> Bool {
    condition.withLock {
      state.point = nil
      return state.isTriggered
    }
  }

  /// Whether the fault has happened.
  package var isTriggered: Bool { condition.withLock { state.isTriggered } }

  /// The messages since the last call of `arm(_:_:)`.
  package var messageCounts: (client: Int, server: Int) {
    condition.withLock { (state.counts[.fromClient]?.messages ?? 0, state.counts[.fromServer]?.messages ?? 0) }
  }

  /// Closes all connections.
  package func cutAll() { condition.withLock { cutOpen() } }

  /// Passes on what a freeze has held back.
  package func thaw() {
    condition.withLock {
      state.isFrozen = false
      condition.broadcast()
    }
  }

  /// Closes all connections and the socket.
  package func stop() {
    let isFirst = condition.withLock {
      let isFirst = !state.isStopped
      state.isStopped = true
      state.isFrozen = false
      cutOpen()
      condition.broadcast()
      return isFirst
    }
    if !isFirst { return }
    shutdown(listener, Int32(SHUT_RDWR))
    close(listener)
    try? FileManager.default.removeItem(atPath: socketFolder)
  }

  private func cutOpen() { for socket in state.open { shutdown(socket, Int32(SHUT_RDWR)) } }

  // MARK: Connections

  private func acceptClients() {
    while true {
      let client = accept(listener, nil, nil)
      if client < 0 {
        if errno == EINTR { continue }
        return
      }
      let isRefused = condition.withLock {
        if state.refusals == 0 { return false }
        state.refusals -= 1
        return true
      }
      guard !isRefused, let target = Self.connected(to: server.clientFolder) else {
        close(client)
        continue
      }
      condition.withLock {
        state.open.formUnion([client, target])
        if state.isStopped { cutOpen() }
      }
      let ends = Ends(client: client, server: target)
      for direction in [Direction.fromClient, .fromServer] {
        Thread { [self] in
          pass(direction, ends)
          // The other direction's thread ends too.
          shutdown(client, Int32(SHUT_RDWR))
          if !condition.withLock({ state.kept.contains(target) }) { shutdown(target, Int32(SHUT_RDWR)) }
          if ends.isLast() {
            condition.withLock {
              state.open.subtract([client, target])
              state.kept.remove(target)
            }
            close(client)
            close(target)
          }
        }.start()
      }
    }
  }

  private final class Ends: @unchecked Sendable {
    let client, server: Int32
    private let lock = NSLock()
    private var users = 2

    init(client: Int32, server: Int32) { (self.client, self.server) = (client, server) }

    func isLast() -> Bool {
      lock.withLock {
        users -= 1
        return users == 0
      }
    }
  }

  /// A connection to the server or pooler whose socket is in a directory; nil if none is accepted.
  static func connected(to folder: String) -> Int32? {
    // A server that is not there closes the client's connection.
    guard let target = try? makeSocket() else { return nil }
    let result = withAddress("\(folder)/.s.PGSQL.5432") { connect(target, $0, $1) }
    if result == 0 { return target }
    close(target)
    return nil
  }

  /// Passes on messages until one of the ends is closed.
  private func pass(_ direction: Direction, _ ends: Ends) {
    let (source, target) = direction == .fromClient ? (ends.client, ends.server) : (ends.server, ends.client)
    var buffer: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 64 << 10)
    // The first message of a client has no type.
    var hasType = direction == .fromServer
    while true {
      let count = recv(source, &chunk, chunk.count, 0)
      if count < 0, errno == EINTR { continue }
      if count <= 0 { return }
      buffer.append(contentsOf: chunk[..<count])
      var (start, allowed) = (0, 0)
      var isAllowed = true
      while isAllowed, let size = Self.size(of: buffer, from: start, hasType: hasType) {
        hasType = true
        let part = allow(direction, bytes: size, isCommit: Self.isCommit(buffer[start..<start + size]), ends)
        allowed += part
        isAllowed = part == size
        start += size
      }
      guard Self.sendAll(buffer[..<allowed], to: target), isAllowed else { return }
      buffer.removeFirst(allowed)
    }
  }

  /// The size of the message at a position; nil if it is not complete.
  private static func size(of buffer: [UInt8], from start: Int, hasType: Bool) -> Int? {
    let head = start + (hasType ? 1 : 0)
    guard buffer.count >= head + 4 else { return nil }
    let size = buffer[head..<head + 4].reduce(0) { $0 << 8 | Int($1) } + (hasType ? 1 : 0)
    return buffer.count >= start + size ? size : nil
  }

  private static func isCommit(_ message: ArraySlice<UInt8>) -> Bool { message.elementsEqual(commit) }

  private static let commit = Array("Q\0\0\0\u{0B}COMMIT\0".utf8)

  /// Counts a message.
  ///
  /// - Returns: how many of its bytes may be passed on; fewer than all if the connection is cut.
  private func allow(_ direction: Direction, bytes: Int, isCommit: Bool, _ ends: Ends) -> Int {
    condition.withLock {
      while state.isFrozen, !state.isStopped { condition.wait() }
      let before = state.counts[direction] ?? (0, 0)
      var allowed = bytes
      var isReached = false
      switch (state.point, direction) {
      case (.clientMessages(let limit), .fromClient), (.serverMessages(let limit), .fromServer):
        isReached = before.messages >= limit
        if isReached { allowed = 0 }
      case (.clientBytes(let limit), .fromClient), (.serverBytes(let limit), .fromServer):
        isReached = before.bytes + bytes > limit
        if isReached { allowed = limit - before.bytes }
      case (.commit, .fromClient):
        isReached = isCommit
        if isReached { allowed = 0 }
      case (.answerToCommit, .fromClient): if isCommit { state.isCommitSent = true }
      case (.answerToCommit, .fromServer):
        isReached = state.isCommitSent
        if isReached { allowed = 0 }
      default: break
      }
      if isReached {
        state.isTriggered = true
        state.point = nil
        state.refusals = state.refusalsAfterFault
        if state.fault == .cutClient { state.kept.insert(ends.server) }
        guard state.fault == .freeze else { return allowed }
        state.isFrozen = true
        while state.isFrozen, !state.isStopped { condition.wait() }
        allowed = bytes
      }
      state.counts[direction] = (before.messages + 1, before.bytes + bytes)
      return allowed
    }
  }

  // MARK: Sockets

  private static func makeSocket() throws -> Int32 {
    #if canImport(Glibc)
    let type = Int32(SOCK_STREAM.rawValue)
    #else
    let type = SOCK_STREAM
    #endif
    let result = socket(AF_UNIX, type, 0)
    guard result >= 0 else { throw failure("socket") }
    _ = fcntl(result, F_SETFD, FD_CLOEXEC)
    return result
  }

  private static func failure(_ call: String) -> TestServer.Failure {
    TestServer.Failure(description: "\(call): \(String(cString: strerror(errno)))")
  }

  private static func withAddress(_ path: String, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32) -> Int32 {
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    precondition(path.utf8.count < MemoryLayout.size(ofValue: address.sun_path), "the path of the socket is too long")
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
    return withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, socklen_t(MemoryLayout<sockaddr_un>.size)) }
    }
  }

  private static func sendAll(_ bytes: ArraySlice<UInt8>, to socket: Int32) -> Bool {
    // A closed connection is no signal.
    #if canImport(Darwin)
    let flags: Int32 = 0
    #else
    let flags = Int32(MSG_NOSIGNAL)
    #endif
    return bytes.withUnsafeBytes { bytes in
      var sent = 0
      while sent < bytes.count {
        let count = send(socket, bytes.baseAddress! + sent, bytes.count - sent, flags)
        if count < 0, errno == EINTR { continue }
        if count <= 0 { return false }
        sent += count
      }
      return true
    }
  }
}
