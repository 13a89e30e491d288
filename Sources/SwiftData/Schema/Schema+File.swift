// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

extension Schema: Codable {
  private enum CodingKeys: CodingKey { case encodingVersion, version, entities }

  /// Decodes what `encode(to:)` wrote.
  public convenience init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    let roots = try container.decode([Entity].self, forKey: .entities)
    func all(_ entity: Entity) -> [Entity] { [entity] + entity.subentities.flatMap(all) }
    self.init(
      entities: roots.flatMap(all), version: try container.decode(Version.self, forKey: .version),
      encodingVersion: try container.decode(Version.self, forKey: .encodingVersion))
  }

  /// Encodes what distinguishes versions; default values are left out.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(encodingVersion, forKey: .encodingVersion)
    try container.encode(version, forKey: .version)
    try container.encode(entities.filter { $0.superentity == nil }, forKey: .entities)
  }

  /// Writes the schema as JSON that can be read and compared. It contains no default values.
  ///
  /// - Parameter url: the file, which is replaced.
  public func save(to url: URL) throws {
    if let issue { throw issue }
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
    try encoder.encode(self).write(to: url, options: .atomic)
  }

  /// Reads a schema that `save(to:)` wrote.
  public static func load(from url: URL) throws -> Schema {
    try JSONDecoder().decode(Schema.self, from: Data(contentsOf: url))
  }
}
