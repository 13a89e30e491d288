// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation
import SwiftData

/// The schema of sergd2005/ResourcesManager, whose inverses are implied.
enum ResourcesManager {
  static let models: [any PersistentModel.Type] = [Component.self, CraftingRecipe.self, Item.self]

  @Model
  final class Component {
    var count: Int = 1
    var craftingRecipe: CraftingRecipe?
    var id: UUID = UUID()
    var item: Item?

    init() {
    }
  }

  @Model
  final class CraftingRecipe {
    var producedItem: Item?
    var producedItemCount: String = "1"
    var requiredComponents: [Component]

    init(requiredComponents: [Component] = []) {
      self.requiredComponents = requiredComponents
    }
  }

  @Model
  final class Item {
    var craftingRecipe: CraftingRecipe?
    @Attribute(.unique) var name: String

    init(name: String) {
      self.name = name
    }
  }
}
