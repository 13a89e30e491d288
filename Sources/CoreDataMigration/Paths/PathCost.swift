// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

/// What a way over versions costs: what is told first weighs more than all that is told after it.
package struct PathCost: Comparable {
  /// How many mapping models lie between two versions that only inferred steps connect.
  package var passedOver = 0
  /// How many steps need code of the program.
  package var codeSteps = 0
  /// How many steps make a copy of the store.
  package var copies = 0
  /// How many mapping models lead over versions that do not lie between the two ends.
  package var outside = 0
  /// How many versions in between are not gone through by an inferred step.
  package var skipped = 0
  package var steps = 0

  private var parts: [Int] { [passedOver, codeSteps, copies, outside, skipped, steps] }

  package static func < (left: PathCost, right: PathCost) -> Bool {
    left.parts.lexicographicallyPrecedes(right.parts)
  }

  package static func + (left: PathCost, right: PathCost) -> PathCost {
    PathCost(
      passedOver: left.passedOver + right.passedOver, codeSteps: left.codeSteps + right.codeSteps,
      copies: left.copies + right.copies, outside: left.outside + right.outside, skipped: left.skipped + right.skipped,
      steps: left.steps + right.steps)
  }
}

/// Elements of which the cheapest comes out first; of equals the one that went in first.
package struct CheapestFirst<Element> {
  private var heap: [(cost: PathCost, order: Int, element: Element)] = []
  private var count = 0

  package mutating func insert(_ element: Element, _ cost: PathCost) {
    heap.append((cost, count, element))
    count += 1
    var child = heap.count - 1
    while child > 0, precedes(child, (child - 1) / 2) {
      heap.swapAt(child, (child - 1) / 2)
      child = (child - 1) / 2
    }
  }

  package mutating func removeCheapest() -> (element: Element, cost: PathCost)? {
    guard let first = heap.first, let last = heap.popLast() else { return nil }
    if !heap.isEmpty {
      heap[0] = last
      sink()
    }
    return (first.element, first.cost)
  }

  private mutating func sink() {
    var parent = 0
    while true {
      let children = [2 * parent + 1, 2 * parent + 2].filter { $0 < heap.count }
      guard let least = children.min(by: precedes), precedes(least, parent) else { return }
      heap.swapAt(least, parent)
      parent = least
    }
  }

  private func precedes(_ a: Int, _ b: Int) -> Bool {
    heap[a].cost == heap[b].cost ? heap[a].order < heap[b].order : heap[a].cost < heap[b].cost
  }
}
