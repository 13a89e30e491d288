// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import OrderBook

// The model layer of an app for Apple's systems, used by a program on Linux.
let container = NSPersistentContainer(name: "OrderBook")
container.persistentStoreDescriptions = [NSPersistentStoreDescription(url: URL(fileURLWithPath: "/dev/null"))]
container.loadPersistentStores { _, error in
  if let error { fatalError("\(error)") }
}
let context = container.viewContext

let anna = Customer(context: context)
anna.displayName = "Anna Lindgren"
for (number, month) in [(1, 1), (2, 3), (3, 2)] {
  let order = Order(context: context)
  order.reference = "WS-2024-000\(number)"
  order.date = Date(timeIntervalSince1970: 1_704_067_200 + Double(month - 1) * 31 * 86_400 + 43_200)
  if number == 2 { order.status = .cancelled }
  anna.addToOrders(order)
}
try context.save()
context.reset()

let request: NSFetchRequest<Order> = Order.fetchRequest()
request.sortDescriptors = [NSSortDescriptor(keyPath: \Order.date, ascending: false)]
for order in try context.fetch(request) {
  print(order.reference, order.sectionIdentifier ?? "", order.status.isOpen ? "open" : "closed")
}
let names = try context.fetch(NSFetchRequest<NSManagedObject>(entityName: "Customer")).map { "\(type(of: $0))" }
print(names)
