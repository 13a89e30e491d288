// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

/// A destination that commits a copy in parts, so that it can be continued after an interruption.
///
/// The metadata contain a `CopyProgress` under the key `StoreMetadata.Key.unfinishedCopy` until the copy is complete.
/// Until then a coordinator opens the store only to continue the copy.
package protocol PartialCopyDestination: CopyDestination {
  /// Writes the progress to the metadata, in the transaction of the part.
  ///
  /// - Parameter progress: the progress; nil to remove it, when the copy is complete.
  func recordCopy(_ progress: CopyProgress?) throws

  /// Called before the store is opened. A store that is created then has a `CopyProgress.mark(source:)` in its metadata
  /// from the first moment.
  ///
  /// - Returns: whether the store will have it.
  func willReceiveCopy(of source: any RowStore) -> Bool
}

extension PartialCopyDestination {
  package func willReceiveCopy(of source: any RowStore) -> Bool { false }
}
