// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The model that a store carries in `Z_MODELCACHE.Z_CONTENT`: a keyed archive, packed with DEFLATE.
package enum ModelCache {
  /// How many times its packed size an archive may have; those of models have less than 30 times.
  private static let mostRatio = 300

  /// Reads a model cache.
  /// - Throws: `ModelFileError` where the content is damaged or holds a class that is not known.
  package static func decode(_ content: Data) throws -> ModelDocument {
    let limit = min(PropertyListLimits.archive.bytes, (1 << 20) + mostRatio * content.count)
    return try unarchive(RawDeflate.decompress(content, limit: limit))
  }

  /// Writes a model cache.
  /// - Throws: `ModelFileError` where the model holds a value that no file can hold.
  package static func encode(_ document: ModelDocument) throws -> Data {
    try RawDeflate.compress(archive(document))
  }

  /// Reads the archive inside a model cache.
  /// - Throws: `ModelFileError`.
  package static func unarchive(_ archive: Data) throws -> ModelDocument {
    try CompiledModelReader.document(of: archive)
  }

  /// Writes the archive inside a model cache.
  /// - Throws: `ModelFileError`.
  package static func archive(_ document: ModelDocument) throws -> Data {
    try CompiledModelWriter.archive(of: document, form: .cache)
  }
}
