// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataPredicates
import CoreDataSQLite
import CoreDataStoreFiles
import Foundation

extension SQLiteStore {
  func dictionaries(for query: RowQuery, _ results: ResultCriteria) throws -> [NSDictionary]? {
    try asking { state in
      try willSearch?(state)
      return try state.reading { try state.dictionaries(for: query, results) }
    }
  }

  func placedIdentifiers(for query: RowQuery) throws -> [PlacedIdentifier]? {
    try asking { state in
      try willSearch?(state)
      return try state.reading { try state.placedIdentifiers(for: query) }
    }
  }
}

extension SQLiteStore.Opened {
  func dictionaries(for query: RowQuery, _ results: ResultCriteria) throws -> [NSDictionary]? {
    try answer {
      let select = try entities.selects.select(results, of: entities.layout(of: query.entity), query.criteria)
      let reader = try DictionaryReader(select, of: query.entity, entities: entities, external: external)
      return try connection.cached(select.statement.sql) { statement in
        try statement.bind(select.statement.values)
        var found: [NSDictionary] = []
        while try statement.step() {
          if let doubt = select.doubt, statement.double(at: doubt) != 0 { throw NotExpressibleInSQL() }
          found.append(try reader.dictionary(statement))
        }
        return found
      }
    }
  }

  func placedIdentifiers(for query: RowQuery) throws -> [PlacedIdentifier]? {
    try answer {
      let keys = [.evaluatedObject] + query.order.map { ExpressionSyntax.keyPath($0.keyPath) }
      let columns = keys.map { ResultCriteria.Column(name: "", expression: $0) }
      let select = try entities.selects.select(
        ResultCriteria(columns: columns), of: entities.layout(of: query.entity), query.criteria)
      let reader = try DictionaryReader(select, of: query.entity, entities: entities, external: external)
      return try connection.cached(select.statement.sql) { statement in
        try statement.bind(select.statement.values)
        var found: [PlacedIdentifier] = []
        while try statement.step() {
          let values = try reader.values(statement)
          guard let id = values.first as? NSManagedObjectID else { throw NotExpressibleInSQL() }
          found.append(PlacedIdentifier(id: id, values: Array(values.dropFirst())))
        }
        return found
      }
    }
  }
}
