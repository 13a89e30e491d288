// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The directory of the repository.
public enum SourceRoot {
  /// This file is `Tests/CoreDataTestSupport/SourceRoot.swift` there.
  public static let url = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent()
}
