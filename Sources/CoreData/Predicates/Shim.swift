extension NSExpressionDescription { var expression: NSExpression? { nil } }
extension NSFetchedPropertyDescription { var fetchRequest: NSFetchRequest<any NSFetchRequestResult>? { nil } }
