// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The result of a request to persistent stores: the superclass of all results, which are immutable.
open class NSPersistentStoreResult: NSObject, @unchecked Sendable {}

/// The kind of result of a batch insertion.
public enum NSBatchInsertRequestResultType: UInt, Sendable {
  /// A Bool: whether the request succeeded.
  case statusOnly = 0
  /// The identifiers of the inserted and updated objects.
  case objectIDs = 1
  /// The number of inserted and updated objects.
  case count = 2
}

/// The kind of result of a batch update.
public enum NSBatchUpdateRequestResultType: UInt, Sendable {
  /// A Bool: whether the request succeeded.
  case statusOnlyResultType = 0
  /// The identifiers of the updated objects.
  case updatedObjectIDsResultType = 1
  /// The number of updated objects.
  case updatedObjectsCountResultType = 2
}

/// The kind of result of a batch deletion.
public enum NSBatchDeleteRequestResultType: UInt, Sendable {
  /// A Bool: whether the request succeeded.
  case resultTypeStatusOnly = 0
  /// The identifiers of the deleted objects.
  case resultTypeObjectIDs = 1
  /// The number of deleted objects.
  case resultTypeCount = 2
}

/// The kind of result of a history request.
public enum NSPersistentHistoryResultType: Int, Sendable {
  /// A Bool: whether the request succeeded.
  case statusOnly = 0
  /// The distinct identifiers of the changed objects.
  case objectIDs = 1
  /// The number of transactions, or of changes if the request fetches changes.
  case count = 2
  /// The transactions, without their changes.
  case transactionsOnly = 3
  /// The changes of all transactions.
  case changesOnly = 4
  /// The transactions with their changes.
  case transactionsAndChanges = 5
}

/// The result of a batch insertion.
open class NSBatchInsertResult: NSPersistentStoreResult, @unchecked Sendable {
  /// The result: a Bool, identifiers or a number, depending on `resultType`.
  open var result: Any? { storedResult }
  /// The type of the result.
  open var resultType: NSBatchInsertRequestResultType { storedType }
  private let storedResult: Any?
  private let storedType: NSBatchInsertRequestResultType

  init(_ result: Any?, _ type: NSBatchInsertRequestResultType) {
    storedResult = result
    storedType = type
  }
}

/// The result of a batch update.
open class NSBatchUpdateResult: NSPersistentStoreResult, @unchecked Sendable {
  /// The result: a Bool, identifiers or a number, depending on `resultType`.
  open var result: Any? { storedResult }
  /// The type of the result.
  open var resultType: NSBatchUpdateRequestResultType { storedType }
  private let storedResult: Any?
  private let storedType: NSBatchUpdateRequestResultType

  init(_ result: Any?, _ type: NSBatchUpdateRequestResultType) {
    storedResult = result
    storedType = type
  }
}

/// The result of a batch deletion.
open class NSBatchDeleteResult: NSPersistentStoreResult, @unchecked Sendable {
  /// The result: a Bool, identifiers or a number, depending on `resultType`.
  open var result: Any? { storedResult }
  /// The type of the result.
  open var resultType: NSBatchDeleteRequestResultType { storedType }
  private let storedResult: Any?
  private let storedType: NSBatchDeleteRequestResultType

  init(_ result: Any?, _ type: NSBatchDeleteRequestResultType) {
    storedResult = result
    storedType = type
  }
}

/// The result of a history request.
open class NSPersistentHistoryResult: NSPersistentStoreResult, @unchecked Sendable {
  /// The result: a Bool, identifiers, a number, transactions or changes, depending on `resultType`.
  open var result: Any? { storedResult }
  /// The type of the result.
  open var resultType: NSPersistentHistoryResultType { storedType }
  private let storedResult: Any?
  private let storedType: NSPersistentHistoryResultType

  init(_ result: Any?, _ type: NSPersistentHistoryResultType) {
    storedResult = result
    storedType = type
  }
}
