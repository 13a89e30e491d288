// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// A place on the Earth, read from whatever has the keys `latitude` and `longitude`, or these under `coordinate`.
internal struct Location {
  /// The mean radius of the Earth in metres, after the International Union of Geodesy and Geophysics.
  private static let earthRadius = 6_371_008.8

  private let latitude: Double
  private let longitude: Double

  /// Reads a place, in degrees.
  ///
  /// - Throws: `EvaluationError.wrongType` for what has no such keys, or something else than degrees under them.
  internal init(_ value: Any, for name: String) throws {
    func degrees(_ key: String, upTo limit: Double) throws -> Double {
      for path in [key, "coordinate.\(key)"] {
        let found: Any?
        do {
          found = try KeyPathReader.value(path, of: value)
        } catch EvaluationError.unknownKey {
          continue
        }
        guard let found else { continue }
        let degrees = try Number(found, for: name).real
        if abs(degrees) <= limit { return degrees }
      }
      throw EvaluationError.wrongType(
        name, value: Operand.description(value), expected: "places with a latitude and a longitude in degrees")
    }
    latitude = try degrees("latitude", upTo: 90)
    longitude = try degrees("longitude", upTo: 360)
  }

  /// The way along the great circle, in metres, on a sphere of the Earth's mean radius.
  internal func distance(to other: Location) -> NSNumber {
    func haversine(_ degrees: Double) -> Double {
      let half = sin(degrees * .pi / 360)
      return half * half
    }
    func cosine(_ degrees: Double) -> Double { cos(degrees * .pi / 180) }
    let chord =
      haversine(other.latitude - latitude)
      + cosine(latitude) * cosine(other.latitude) * haversine(other.longitude - longitude)
    return NSNumber(value: 2 * Self.earthRadius * asin(min(1, chord.squareRoot())))
  }
}
