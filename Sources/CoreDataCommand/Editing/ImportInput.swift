// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataTerminal
import Foundation

/// What `store import` reads: a file, or the files of a directory.
struct ImportInput {
  /// A file of records.
  struct Source {
    let path: String
    let name: String
    /// The entity of lines that name none, after which a file of a directory is named.
    let entity: String?
  }

  /// The name of the file or of the directory.
  let name: String
  let sources: [Source]

  private static let extensions: Set<String> = ["csv", "json", "jsonl"]

  /// Whether all can be read more than once, unlike a pipe.
  var isRepeatable: Bool {
    sources.allSatisfy { source in
      var status = stat()
      return stat(source.path, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
    }
  }

  /// - Throws: `CommandFailure` if there is no such file, or nothing to import in the directory.
  init(path: String) throws {
    let url = URL(fileURLWithPath: path)
    name = url.lastPathComponent
    var isDirectory: ObjCBool = false
    guard FileManager.default.fileExists(atPath: path, isDirectory: &isDirectory) else {
      throw CommandFailure(.failed, "\(path) does not exist. Nothing was imported.")
    }
    guard isDirectory.boolValue else {
      sources = [Source(path: path, name: name, entity: nil)]
      // A file that cannot be read is refused before the store is opened. What is in a pipe can be read only once.
      if isRepeatable { _ = try RecordFile(path: path) }
      return
    }
    let names: [String]
    do {
      names = try FileManager.default.contentsOfDirectory(atPath: path).sorted()
    } catch {
      throw CommandFailure(.failed, "\(path) cannot be read: \(CommandFailure(error).message) Nothing was imported.")
    }
    sources = names.map { url.appendingPathComponent($0) }
      .filter { Self.extensions.contains($0.pathExtension.lowercased()) && !$0.lastPathComponent.hasPrefix(".") }
      .map {
        Source(path: $0.path, name: $0.lastPathComponent, entity: $0.deletingPathExtension().lastPathComponent)
      }
    guard !sources.isEmpty else {
      throw CommandFailure(
        .failed, "\(path) is a directory without a file named *.csv, *.json or *.jsonl. Nothing was imported.")
    }
  }
}

/// The lines of files that objects come from, numbered through all files.
struct RecordLines {
  private(set) var numbers: [NSManagedObject: Int] = [:]
  /// The files, each with the number of lines before it.
  private var files: [(name: String, start: Int)] = []
  private var last = 0

  /// Begins with the first file again.
  mutating func restart() { (files, last) = ([], 0) }

  /// Notes that a line of the current file was read.
  mutating func passed(_ line: Int) { last = max(last, number(of: line)) }

  /// Begins with a file.
  mutating func begin(_ name: String) { files.append((name, last)) }

  /// Returns the number of a line of the current file.
  func number(of line: Int) -> Int { (files.last?.start ?? 0) + line }

  /// Records the line of an object in the current file, and returns its number.
  mutating func add(_ object: NSManagedObject, _ line: Int) -> Int {
    let number = number(of: line)
    numbers[object] = number
    last = max(last, number)
    return number
  }

  /// Forgets the objects, which have been saved.
  mutating func forgetObjects() { numbers = [:] }

  /// Returns a text for a line: `line 3`, and of several files `Order.csv, line 3`.
  ///
  /// - Parameter isNamed: whether the name of the only file is part of the text.
  func text(of number: Int, isNamed: Bool = false) -> String {
    guard let file = files.last(where: { $0.start < number }) else { return "line \(number)" }
    let line = "line \(number - file.start)"
    return files.count > 1 || isNamed ? "\(file.name), \(line)" : line
  }

  /// Returns a text for lines in ascending order: `line 3`, `lines 3 and 5`, and of several files
  /// `Order.csv, line 3 and Item.csv, line 5`.
  func text(of numbers: [Int]) -> String {
    guard files.count < 2, numbers.count > 1, let last = numbers.last else {
      return numbers.map { text(of: $0) }.joined(separator: " and ")
    }
    return "lines \(numbers.dropLast().map(String.init).joined(separator: ", ")) and \(last)"
  }
}
