// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataPredicates
import Foundation

/// The functions that expressions call with `FUNCTION($manager, "name:", …)`.
enum ManagerFunction: String {
  case sourceRequest = "fetchRequestForSourceEntityNamed:predicateString:"
  case destinationsOfMapping = "destinationInstancesForEntityMappingNamed:sourceInstances:"
  case sourcesOfMapping = "sourceInstancesForEntityMappingNamed:destinationInstances:"
  case destinationsOfRelationship = "destinationInstancesForSourceRelationshipNamed:sourceInstances:"
}

extension NSMigrationManager: FunctionProviding {
  func callFunction(_ name: String, arguments: [Any?]) throws -> Any? {
    guard let function = ManagerFunction(rawValue: name), arguments.count == 2 else {
      throw EvaluationError.unknownFunction(name, operand: "the migration manager")
    }
    guard let subject = Operand.unwrapped(arguments[0]) as? String else {
      throw EvaluationError.wrongType(name, value: Operand.description(arguments[0]), expected: "a name")
    }
    switch function {
    case .sourceRequest: return try request(entity: subject, predicate: Operand.unwrapped(arguments[1]))
    case .destinationsOfMapping:
      return try running.destinations(in: running.tables(named: subject), of: objects(arguments[1], name))
    case .sourcesOfMapping:
      return try running.sources(in: running.tables(named: subject), of: objects(arguments[1], name))
    case .destinationsOfRelationship:
      return try running.destinations(of: objects(arguments[1], name))
    }
  }

  /// Returns the objects in an argument: one, a collection, or none.
  ///
  /// Unlike in a call from code, null means no objects, not all objects of the mapping, because it is the value of an
  /// empty relationship.
  private func objects(_ argument: Any?, _ name: String) throws -> [NSManagedObject] {
    guard let value = Operand.unwrapped(argument) else { return [] }
    return try (Operand.elements(value) ?? [value]).map { element in
      guard let object = element as? NSManagedObject else {
        throw EvaluationError.wrongType(name, value: Operand.description(element), expected: "managed objects")
      }
      return object
    }
  }

  private func request(entity name: String, predicate: Any?) throws -> NSFetchRequest<NSManagedObject> {
    guard let entity = running.source.model.entitiesByName[name] else {
      throw EvaluationError.unknownKey(name, object: "The source model")
    }
    let request = NSFetchRequest<NSManagedObject>(entityName: name)
    request.entity = entity
    // Sub-entities have mappings of their own.
    request.includesSubentities = false
    if let format = predicate as? String {
      request.predicate = NSPredicate.make(try PredicateParser.parse(format))
    } else if let predicate = predicate as? NSPredicate {
      request.predicate = predicate
    }
    return request
  }
}

extension NSMigrationManager: KeyValueReading {
  func value(forKeyPathComponent key: String) throws -> Any? {
    switch key {
    case "sourceContext": sourceContext
    case "destinationContext": destinationContext
    case "sourceModel": sourceModel
    case "destinationModel": destinationModel
    case "mappingModel": mappingModel
    case "currentEntityMapping": currentEntityMapping
    case "migrationProgress": NSNumber(value: migrationProgress)
    case "userInfo": userInfo
    default: throw EvaluationError.unknownKey(key, object: "The migration manager")
    }
  }
}

extension NSEntityMapping: KeyValueReading {
  func value(forKeyPathComponent key: String) throws -> Any? {
    switch key {
    case "name": name
    case "mappingType": NSNumber(value: mappingType.rawValue)
    case "sourceEntityName": sourceEntityName
    case "sourceEntityVersionHash": sourceEntityVersionHash
    case "destinationEntityName": destinationEntityName
    case "destinationEntityVersionHash": destinationEntityVersionHash
    case "entityMigrationPolicyClassName": entityMigrationPolicyClassName
    case "attributeMappings": attributeMappings
    case "relationshipMappings": relationshipMappings
    case "userInfo": userInfo
    default: throw EvaluationError.unknownKey(key, object: "The entity mapping '\(name ?? "")'")
    }
  }
}

extension NSPropertyMapping: KeyValueReading {
  func value(forKeyPathComponent key: String) throws -> Any? {
    switch key {
    case "name": name
    case "userInfo": userInfo
    default: throw EvaluationError.unknownKey(key, object: "The property mapping '\(name ?? "")'")
    }
  }
}

extension NSManagedObject: FunctionProviding {
  func callFunction(_ name: String, arguments: [Any?]) throws -> Any? {
    throw EvaluationError.unknownFunction(name, operand: "managed objects")
  }
}
