// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData

/// What the app does at its start, for `swift package coredata`.
final class CoreDataPreparation: ProgramPreparing {
  static func prepare() { DimensionsTransformer.register() }
}
