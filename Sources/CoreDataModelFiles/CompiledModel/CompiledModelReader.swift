// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

enum CompiledModelReader {
  static func document(at url: URL) throws -> ModelDocument {
    throw ModelFileError(
      .unsupportedFile, found: "This is a compiled model.", advice: "Name its source.", file: url)
  }
}
