// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// A request that fetches or deletes a part of the persistent history of stores.
open class NSPersistentHistoryChangeRequest: NSPersistentStoreRequest, @unchecked Sendable {
  /// The position where a part of history begins or ends.
  enum Position {
    case beginning
    case token(NSPersistentHistoryToken)
    case date(Date)
  }

  private struct Content {
    var position = Position.beginning
    var deletes = false
    var resultType = NSPersistentHistoryResultType.transactionsAndChanges
    var fetchRequest: NSFetchRequest<any NSFetchRequestResult>?
  }

  private let content = Guarded(Content())

  var position: Position { content.position }
  /// Whether the request deletes history before its position, instead of fetching the history after it.
  var deletes: Bool { content.deletes }

  /// The kind of result: by default transactions with their changes, or the status of a deletion.
  open var resultType: NSPersistentHistoryResultType {
    get { content.resultType }
    set { content.resultType = newValue }
  }
  /// A fetch request over transactions or changes whose predicate, order, limit and offset apply to the results. Its
  /// entity is `NSPersistentHistoryTransaction.entityDescription` or `NSPersistentHistoryChange.entityDescription`.
  open var fetchRequest: NSFetchRequest<any NSFetchRequestResult>? {
    get { content.fetchRequest }
    set { content.fetchRequest = newValue }
  }

  /// The token that the request was created with.
  open var token: NSPersistentHistoryToken? {
    if case .token(let token) = position { return token }
    return nil
  }

  /// Creates a request that fetches all history.
  public required override init() {
    super.init()
  }

  private class func make(_ position: Position, deletes: Bool = false) -> Self {
    let request = Self()
    request.content.position = position
    request.content.deletes = deletes
    if deletes { request.resultType = .statusOnly }
    return request
  }

  /// Creates a request that fetches the history after a token.
  ///
  /// - Parameter token: a token of the stores; nil for all history. Executing the request throws 134301 if a part of the
  ///   history after the token has been deleted.
  open class func fetchHistory(after token: NSPersistentHistoryToken?) -> Self {
    make(token.map { .token($0) } ?? .beginning)
  }

  /// Creates a request that fetches the history after a time.
  ///
  /// - Parameter date: the time.
  open class func fetchHistory(after date: Date) -> Self { make(.date(date)) }

  /// Creates a request that fetches the history of a transaction's store after the transaction, and that of other
  /// stores.
  ///
  /// - Parameter transaction: the transaction; nil for all history.
  open class func fetchHistory(after transaction: NSPersistentHistoryTransaction?) -> Self {
    fetchHistory(after: transaction?.token)
  }

  /// Creates a request that fetches the history that a fetch request finds.
  ///
  /// - Parameter fetchRequest: see `fetchRequest`.
  open class func fetchHistory(withFetch fetchRequest: NSFetchRequest<any NSFetchRequestResult>) -> Self {
    let request = Self()
    request.fetchRequest = fetchRequest
    return request
  }

  /// Creates a request that deletes the transactions before a token's transaction.
  ///
  /// - Parameter token: a token of the stores; nil to delete nothing.
  open class func deleteHistory(before token: NSPersistentHistoryToken?) -> Self {
    make(token.map { .token($0) } ?? .beginning, deletes: true)
  }

  /// Creates a request that deletes the transactions before a time.
  ///
  /// - Parameter date: the time.
  open class func deleteHistory(before date: Date) -> Self { make(.date(date), deletes: true) }

  /// Creates a request that deletes the transactions of a store before a given one.
  ///
  /// - Parameter transaction: the transaction; nil to delete nothing.
  open class func deleteHistory(before transaction: NSPersistentHistoryTransaction?) -> Self {
    deleteHistory(before: transaction?.token)
  }

  open override func copy(with zone: NSZone? = nil) -> Any {
    let copy = NSPersistentHistoryChangeRequest()
    copy.affectedStores = affectedStores
    copy.content.value = content.value
    return copy
  }
}
