// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Returns the error that a body throws; nil if it throws none.
public func thrownError(_ body: () throws -> Void) -> NSError? {
  do {
    try body()
    return nil
  } catch {
    return error as NSError
  }
}
