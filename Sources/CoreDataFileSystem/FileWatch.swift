// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Foundation

#if os(Linux)
/// Calls a handler after any process on this machine has written to certain files of a directory.
///
/// Uses `inotify` rather than polling. Writes in quick succession result in one call. The watch is immutable, and its
/// dispatch source may be used on any thread.
package final class FileWatch: @unchecked Sendable {
  private let descriptor: Int32
  private let names: Set<String>
  private let queue: DispatchQueue
  private let pause: DispatchTimeInterval
  private let source: any DispatchSourceRead
  private let handler: @Sendable () -> Void

  /// Starts watching.
  ///
  /// - Parameters:
  ///   - directory: The directory.
  ///   - names: The names of the files, which need not exist.
  ///   - queue: The queue on which the handler is called.
  ///   - pause: The time to wait for further writes before the call.
  ///   - handler: The function to call.
  /// - Throws: `FileFailure`, for example if the user has too many watches.
  package init(
    directory: URL, names: Set<String>, queue: DispatchQueue, pause: DispatchTimeInterval = .milliseconds(30),
    handler: @escaping @Sendable () -> Void
  ) throws {
    descriptor = inotify_init1(Int32(IN_NONBLOCK) | Int32(IN_CLOEXEC))
    guard descriptor >= 0 else { throw FileFailure(operation: "watch", path: directory.path, number: errno) }
    guard inotify_add_watch(descriptor, directory.path, UInt32(IN_MODIFY)) >= 0 else {
      let number = errno
      close(descriptor)
      throw FileFailure(operation: "watch", path: directory.path, number: number)
    }
    self.names = names
    self.queue = queue
    self.pause = pause
    self.handler = handler
    source = DispatchSource.makeReadSource(fileDescriptor: descriptor, queue: queue)
    let descriptor = descriptor
    source.setCancelHandler { close(descriptor) }
    source.setEventHandler { [weak self] in self?.wait() }
    source.resume()
  }

  deinit { source.cancel() }

  /// Stops watching. A call in progress runs to its end.
  package func cancel() { source.cancel() }

  /// Pauses so that the kernel can merge identical events, then reads all events.
  private func wait() {
    source.suspend()
    queue.asyncAfter(deadline: .now() + pause) {
      let isConcerned = self.read()
      self.source.resume()
      if isConcerned, !self.source.isCancelled { self.handler() }
    }
  }

  /// Reads all pending events.
  ///
  /// - Returns: Whether a watched file was written, or events were lost.
  private func read() -> Bool {
    var isConcerned = false
    var buffer = [UInt8](repeating: 0, count: 16_384)
    let header = MemoryLayout<inotify_event>.size
    while true {
      let count = buffer.withUnsafeMutableBytes { Foundation.read(descriptor, $0.baseAddress, $0.count) }
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { return isConcerned }
      buffer.withUnsafeBytes { bytes in
        var position = 0
        while position + header <= count {
          let event = bytes.loadUnaligned(fromByteOffset: position, as: inotify_event.self)
          let end = min(position + header + Int(event.len), count)
          let name = String(decoding: bytes[(position + header)..<end].prefix { $0 != 0 }, as: UTF8.self)
          if names.contains(name) || event.mask & UInt32(IN_Q_OVERFLOW) != 0 { isConcerned = true }
          position = end
        }
      }
    }
  }
}
#endif
