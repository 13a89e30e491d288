// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Reads and writes property lists that are not archives: store metadata and the small files of model bundles.
///
/// Foundation's decoder trusts the bytes: a nested list of 600 bytes can take gigabytes, and a single wrong bit can
/// crash it. Here depth, size and the number of references are limited.
package enum PropertyLists {
  /// A value that cannot be written to a property list.
  package struct Unwritable: Error, Hashable, CustomStringConvertible {
    /// The keys leading to the value, joined by dots.
    package let path: String
    /// What was found.
    package let found: String

    package var description: String {
      "The value of '\(path)' is \(found). Use strings, numbers, dates, data, arrays or dictionaries in a property list."
    }
  }

  /// A property list that cannot be read.
  package struct Unreadable: Error, Hashable, CustomStringConvertible {
    package let description: String
  }

  /// Reads a binary or XML property list.
  ///
  /// - Throws: `Unreadable`.
  package static func value(of data: Data, limits: PropertyListLimits = .metadata) throws -> ArchiveValue {
    do {
      if data.starts(with: "bplist".utf8) { return try BinaryPropertyListReader.value(of: data, limits: limits) }
      let start = data.prefix(100).drop { [0xEF, 0xBB, 0xBF, 0x20, 0x09, 0x0A, 0x0D].contains($0) }
      guard start.first == UInt8(ascii: "<") else {
        throw Unreadable(description: "It is neither a binary nor an XML property list.")
      }
      return try XMLPropertyList.value(of: data, limits: limits)
    } catch let failure as ArchiveFailure {
      throw Unreadable(description: failure.found)
    } catch let error as ModelFileError {
      throw Unreadable(description: error.found)
    }
  }

  /// Reads a property list with a dictionary at its root, as values of Foundation's classes.
  ///
  /// - Throws: `Unreadable`.
  package static func dictionary(of data: Data) throws -> [String: Any] {
    guard case .dictionary(let entries) = try value(of: data) else {
      throw Unreadable(description: "The property list does not contain a dictionary.")
    }
    return try entries.mapValues { try $0.foundationValue() }
  }

  /// Writes a binary property list.
  ///
  /// - Throws: `Unwritable` for a value of another class, or one nested too deeply to be read back.
  package static func data(of dictionary: [String: Any]) throws -> Data {
    BinaryPropertyListWriter.data(of: try ArchiveValue(foundationValue: dictionary))
  }

  /// Reads a file that contains a dictionary.
  static func dictionary(at file: URL) throws -> [String: Any] {
    do {
      return try dictionary(of: ModelFile.read(file))
    } catch let error as Unreadable {
      throw ModelFileError(
        .unsupportedFile, found: "The property list cannot be read: \(error.description)",
        advice: "Restore the file from version control.", file: file)
    }
  }
}

/// Conversion to and from values of Foundation's classes.
extension ArchiveValue {
  /// Returns the value as `PropertyListSerialization` would.
  func foundationValue() throws -> Any {
    switch self {
    case .boolean(let flag): flag
    case .integer(let number): NSNumber(value: number)
    case .unsigned(let number): NSNumber(value: number)
    case .real(let number): NSNumber(value: number)
    case .date(let date): date
    case .data(let data): data
    case .string(let text): text
    case .uid: throw PropertyLists.Unreadable(description: "It contains a reference of a keyed archive.")
    case .array(let elements): try elements.map { try $0.foundationValue() }
    case .dictionary(let entries): try entries.mapValues { try $0.foundationValue() }
    }
  }

  /// Converts a value that `PropertyListSerialization` could write.
  init(foundationValue value: Any, path: [String] = []) throws {
    // Deeper values could not be read back.
    guard path.count < BinaryPropertyListReader.deepest - 1 else {
      throw PropertyLists.Unwritable(path: path.prefix(5).joined(separator: ".") + "…", found: "nested too deeply")
    }
    func element(_ value: Any, _ key: String) throws -> ArchiveValue {
      try ArchiveValue(foundationValue: value, path: path + [key])
    }
    switch value {
    case let text as String: self = .string(text)
    case let date as Date: self = .date(date)
    case let data as Data: self = .data(data)
    case let number as NSNumber: self = ArchiveValue(number)
    case let elements as [Any]:
      self = .array(try elements.enumerated().map { try element($0.element, "\($0.offset)") })
    case let entries as [String: Any]:
      self = .dictionary(try Dictionary(uniqueKeysWithValues: entries.map { ($0.key, try element($0.value, $0.key)) }))
    default:
      throw PropertyLists.Unwritable(path: path.joined(separator: "."), found: "a \(type(of: value))")
    }
  }

  /// Converts a number as in property lists and keyed archives.
  package init(_ number: NSNumber) {
    // Compare with the only two Boolean objects, because their type code is also that of a byte.
    if number === NSNumber(value: true) || number === NSNumber(value: false) {
      self = .boolean(number.boolValue)
      return
    }
    switch UInt8(bitPattern: number.objCType.pointee) {
    case UInt8(ascii: "f"), UInt8(ascii: "d"): self = .real(number.doubleValue)
    case UInt8(ascii: "Q"), UInt8(ascii: "L"):
      let value = number.uint64Value
      self = value > UInt64(Int64.max) ? .unsigned(value) : .integer(Int64(value))
    default: self = .integer(number.int64Value)
    }
  }
}
