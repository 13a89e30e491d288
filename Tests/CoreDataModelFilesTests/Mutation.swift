// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataTestSupport
import Foundation

@testable import CoreDataModelFiles

/// Numbers that look random and are the same in every run.
struct SeededNumbers: RandomNumberGenerator {
  private var state: UInt64

  init(seed: UInt64) {
    state = seed
  }

  mutating func next() -> UInt64 {
    // SplitMix64
    state &+= 0x9E37_79B9_7F4A_7C15
    var word = state
    word = (word ^ (word >> 30)) &* 0xBF58_476D_1CE4_E5B9
    word = (word ^ (word >> 27)) &* 0x94D0_49BB_1331_11EB
    return word ^ (word >> 31)
  }
}

/// Ways to damage a file.
enum Mutation {
  /// How many inputs a test tries: `COREDATA_MUTATIONS`, or four times its default with `make torture`.
  static func count(default count: Int) -> Int {
    TortureSize.number("COREDATA_MUTATIONS", count, full: 4 * count)
  }

  /// Changes some bytes: other values, gaps, repetitions, truncation.
  static func bytes(_ data: Data, _ numbers: inout SeededNumbers) -> Data {
    var bytes = [UInt8](data)
    for _ in 0..<Int.random(in: 1...4, using: &numbers) where !bytes.isEmpty {
      let place = Int.random(in: 0..<bytes.count, using: &numbers)
      let end = min(bytes.count, place + Int.random(in: 1...40, using: &numbers))
      switch Int.random(in: 0..<6, using: &numbers) {
      case 0: bytes[place] ^= 1 << UInt8.random(in: 0..<8, using: &numbers)
      case 1: bytes[place] = .random(in: 0...255, using: &numbers)
      case 2: bytes.removeSubrange(place..<end)
      case 3: bytes.insert(contentsOf: bytes[place..<end], at: place)
      case 4: bytes[place] = [0, 0x7F, 0x80, 0xFF].randomElement(using: &numbers) ?? 0
      default: bytes.removeSubrange(place...)
      }
    }
    return Data(bytes)
  }

  /// Changes objects of a keyed archive and writes it anew, so that the damage is not below the level of objects:
  /// references that lead elsewhere, other classes, missing keys, other values.
  static func archive(_ data: Data, _ numbers: inout SeededNumbers) throws -> Data {
    guard case .dictionary(var archive) = try BinaryPropertyListReader.value(of: data),
      case .array(var objects)? = archive["$objects"]
    else { return data }
    for _ in 0..<Int.random(in: 1...5, using: &numbers) {
      let place = Int.random(in: 0..<objects.count, using: &numbers)
      objects[place] = changed(objects[place], count: objects.count, &numbers)
    }
    archive["$objects"] = .array(objects)
    return BinaryPropertyListWriter.data(of: .dictionary(archive))
  }

  private static func changed(_ value: ArchiveValue, count: Int, _ numbers: inout SeededNumbers) -> ArchiveValue {
    switch value {
    case .uid:
      return .uid(Int.random(in: 0...count, using: &numbers))
    case .array(var elements):
      guard !elements.isEmpty else { return .array([.uid(Int.random(in: 0..<count, using: &numbers))]) }
      let place = Int.random(in: 0..<elements.count, using: &numbers)
      switch Int.random(in: 0..<3, using: &numbers) {
      case 0: elements.remove(at: place)
      case 1: elements.append(elements[place])
      default: elements[place] = changed(elements[place], count: count, &numbers)
      }
      return .array(elements)
    case .dictionary(var fields):
      guard let key = fields.keys.sorted().randomElement(using: &numbers), let field = fields[key] else { return value }
      switch Int.random(in: 0..<4, using: &numbers) {
      case 0: fields[key] = nil
      default: fields[key] = changed(field, count: count, &numbers)
      }
      return .dictionary(fields)
    default:
      let values: [ArchiveValue] = [
        .boolean(true), .integer(-1), .integer(.max), .real(.infinity), .real(1e300), .string(""), .string("name"),
        .data(Data([1])), .uid(Int.random(in: 0..<count, using: &numbers)), .array([]), .dictionary([:]),
      ]
      return values.randomElement(using: &numbers) ?? value
    }
  }
}
