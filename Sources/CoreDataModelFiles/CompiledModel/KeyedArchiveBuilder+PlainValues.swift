// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataPredicates
import Foundation

extension KeyedArchiveBuilder {
  /// Adds a plain value with the class that Foundation would archive.
  mutating func plain(_ value: PlainValue) throws -> ArchiveValue {
    switch value {
    case .null: return add("NSNull", [:])
    case .boolean(let flag): return scalar(.boolean(flag))
    case .integer(let number): return scalar(.integer(number))
    case .real(let number): return scalar(.real(number))
    case .decimal(let number): return add("NSDecimalNumberPlaceholder", ArchivedDecimal.fields(of: number))
    case .string(let text): return string(text)
    case .date(let date): return add("NSDate", ["NS.time": .real(date.timeIntervalSinceReferenceDate)])
    case .data(let data): return scalar(.data(data))
    case .uuid(let uuid):
      return add("NSUUID", ["NS.uuidbytes": .data(withUnsafeBytes(of: uuid.uuid) { Data($0) })])
    case .url(let url): return add("NSURL", ["NS.base": Self.null, "NS.relative": string(url.absoluteString)])
    case .array(let elements): return collection(try elements.map { try plain($0) })
    case .set(let elements): return collection(try elements.map { try plain($0) }, "NSSet")
    case .dictionary(let entries):
      let sorted = try entries.sorted { $0.key < $1.key }.map { (key: $0.key, value: try plain($0.value)) }
      return dictionary(sorted, "NSDictionary")
    case .object(let object): return try instance(object.value.base)
    }
  }

  /// Adds an object of a class other than Foundation's plain ones, either as it was read or as it archives itself.
  private mutating func instance(_ object: Any) throws -> ArchiveValue {
    let data: Data
    if let kept = object as? ArchivedInstance {
      data = kept.archive
    } else {
      do {
        data = try ObjectArchiveWriter.data(of: object) { name in
          guard let object = object as? any NSSecureCoding, String(reflecting: type(of: object)) == name else {
            return nil
          }
          return type(of: object)
        }
      } catch let problem as ObjectArchiveWriter.Problem {
        throw ModelFileError(
          .unreadableValue, found: "A value cannot be written: \(problem.description).",
          advice: "Make its class conform to NSSecureCoding, or use numbers, strings, dates and the like in models.")
      }
    }
    do {
      let archive = try KeyedArchive(data)
      return try archive.graft(archive.rootReference, into: &self)
    } catch let failure as ArchiveFailure {
      throw failure.error(file: nil)
    }
  }
}
