// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataTerminal
import Foundation

/// A file of records to import, read in parts: JSON lines, or CSV (RFC 4180).
final class RecordFile {
  /// A problem with the file itself.
  struct Problem: Error {
    let line: Int
    let reason: String
  }

  /// A field of a CSV record.
  struct Field: Hashable {
    var text: String
    /// Whether the field is empty and without quotation marks, which means null.
    var isMissing: Bool
  }

  private let handle: FileHandle
  private let name: String
  private var buffer: [UInt8] = []
  private var position = 0
  private var isAtEnd = false
  /// The number of the line that is being read, counted from 1.
  private(set) var line = 1

  /// Whether a line was read that may be an object.
  private var hasObjects = false

  private static let partSize = 1 << 16

  /// - Throws: `CommandFailure` if the file cannot be opened.
  init(path: String) throws {
    name = URL(fileURLWithPath: path).lastPathComponent
    var isDirectory: ObjCBool = false
    guard FileManager.default.fileExists(atPath: path, isDirectory: &isDirectory) else {
      throw CommandFailure(.failed, "\(path) does not exist. Nothing was imported.")
    }
    guard !isDirectory.boolValue, let handle = FileHandle(forReadingAtPath: path) else {
      throw CommandFailure(.failed, "\(path) cannot be read. Nothing was imported.")
    }
    self.handle = handle
    // A byte order mark.
    if try peek() == 0xEF, buffer.starts(with: [0xEF, 0xBB, 0xBF]) { position = 3 }
  }

  deinit {
    // The file was only read.
    try? handle.close()
  }

  /// Whether the file consists of JSON lines: its name says so, or its first character that is not white space opens an
  /// object.
  func isJSON() throws -> Bool {
    if ["json", "jsonl"].contains((name as NSString).pathExtension.lowercased()) { return true }
    while let byte = try peek(), byte == 0x20 || byte == 0x09 || byte == 0x0D || byte == 0x0A { _ = try take() }
    return try peek() == UInt8(ascii: "{")
  }

  private func peek() throws -> UInt8? {
    if position == buffer.count {
      guard !isAtEnd else { return nil }
      let part = try handle.read(upToCount: Self.partSize)
      buffer = part.map { [UInt8]($0) } ?? []
      position = 0
      isAtEnd = buffer.isEmpty
      if isAtEnd { return nil }
    }
    return buffer[position]
  }

  private func take() throws -> UInt8? {
    guard let byte = try peek() else { return nil }
    position += 1
    if byte == 0x0A { line += 1 }
    return byte
  }

  // MARK: JSON lines

  /// Returns the next line that is not empty, and its number; nil at the end.
  ///
  /// - Throws: `Problem`; the errors of reading the file.
  func nextObject() throws -> (line: Int, members: [JSONText.Member])? {
    while true {
      let number = line
      guard let bytes = try nextLine() else { return nil }
      if bytes.allSatisfy({ $0 == 0x20 || $0 == 0x09 || $0 == 0x0D }) { continue }
      if !hasObjects, bytes.first(where: { $0 != 0x20 && $0 != 0x09 }) == UInt8(ascii: "[") {
        throw Problem(
          line: number,
          reason: "The file is a JSON array. Write each object on a line of its own, without [ and ] around them.")
      }
      hasObjects = true
      do {
        guard case .object(let members) = try JSONText(parsing: bytes) else {
          throw Problem(line: number, reason: "The line is not a JSON object. Write {\"entity\":…,\"values\":{…}}.")
        }
        return (number, members)
      } catch let problem as JSONText.ParsingProblem {
        throw Problem(line: number, reason: "The line is not valid JSON: \(problem).")
      }
    }
  }

  private func nextLine() throws -> [UInt8]? {
    guard try peek() != nil else { return nil }
    var bytes: [UInt8] = []
    while try peek() != nil {
      let rest = buffer[position...]
      if let end = rest.firstIndex(of: 0x0A) {
        bytes += buffer[position..<end]
        position = end + 1
        line += 1
        return bytes
      }
      bytes += rest
      position = buffer.count
    }
    return bytes
  }

  // MARK: CSV

  /// Returns the next record that is not an empty line, and the number of its first line; nil at the end.
  ///
  /// - Throws: `Problem`; the errors of reading the file.
  func nextFields() throws -> (line: Int, fields: [Field])? {
    while try peek() != nil {
      let number = line
      var fields: [Field] = []
      while true {
        let (field, isLast) = try nextField()
        fields.append(field)
        if isLast { break }
      }
      if fields.count > 1 || !fields[0].isMissing { return (number, fields) }
    }
    return nil
  }

  /// Reads a field and the comma or line break after it.
  private func nextField() throws -> (Field, isLast: Bool) {
    let start = line
    guard try peek() == UInt8(ascii: "\"") else {
      var bytes: [UInt8] = []
      while let byte = try take() {
        switch byte {
        case UInt8(ascii: ","): return (try field(bytes, isQuoted: false, start), false)
        case 0x0A: return (try field(bytes, isQuoted: false, start), true)
        case 0x0D:
          if try peek() != 0x0A { bytes.append(byte) }
        case UInt8(ascii: "\""):
          throw Problem(
            line: start,
            reason: "A field has a quotation mark in it, but does not begin with one. Quote it, and double the mark.")
        default: bytes.append(byte)
        }
      }
      return (try field(bytes, isQuoted: false, start), true)
    }
    _ = try take()
    var bytes: [UInt8] = []
    while let byte = try take() {
      if byte != UInt8(ascii: "\"") {
        bytes.append(byte)
        continue
      }
      var next = try take()
      if next == UInt8(ascii: "\"") {
        bytes.append(byte)
        continue
      }
      if next == 0x0D { next = try take() }
      switch next {
      case UInt8(ascii: ","): return (try field(bytes, isQuoted: true, start), false)
      case nil, 0x0A: return (try field(bytes, isQuoted: true, start), true)
      default: throw Problem(line: start, reason: "A quoted field is followed by other text. A comma was expected.")
      }
    }
    throw Problem(line: start, reason: "A quoted field begins here and never ends.")
  }

  private func field(_ bytes: [UInt8], isQuoted: Bool, _ line: Int) throws -> Field {
    guard let text = String(validating: bytes, as: UTF8.self) else {
      throw Problem(line: line, reason: "A field is not UTF-8. Convert the file to UTF-8.")
    }
    return Field(text: text, isMissing: bytes.isEmpty && !isQuoted)
  }
}
