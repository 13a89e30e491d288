// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import SwiftSourceScanning
import Testing

@testable import CoreDataSourceCode

@Suite("Ported sources of SwiftData apps")
struct PortedViewsTests {
  /// Ports files of one module, and checks that a second port changes nothing.
  private func ported(_ texts: String...) -> (texts: [String], messages: [SourceMessage]) {
    func port(_ files: [SourceFile]) -> [Translator.Translation] {
      let translator = Translator(files: files, models: [], hasResources: false, purpose: .port)
      return files.map { translator.translate($0) }
    }
    let first = port(texts.enumerated().map { SourceFile(path: "\($0).swift", bytes: Array($1.utf8)) })
    let second = port(first.enumerated().map { SourceFile(path: "\($0).swift", bytes: $1.bytes) })
    #expect(second.map(\.bytes) == first.map(\.bytes))
    return (first.map { String(decoding: $0.bytes, as: UTF8.self) }, second.flatMap(\.messages))
  }

  private func text(_ source: String) -> String { ported(source).texts[0] }

  @Test("A model file that imports SwiftUI keeps the import for Apple's systems, and its models for all")
  func model() {
    #expect(
      text(
        """
        import SwiftData
        import SwiftUI

        @Model
        final class Trip {
          @Attribute(.externalStorage) var picture: Data?
          var state: State = State.planned
          init() {}
        }

        enum State: String, Codable { case planned, done }

        """) == """
          import SwiftData
          #if canImport(SwiftUI)
          import SwiftUI
          #endif

          @Model
          final class Trip {
            @Attribute(.externalStorage) var picture: Data?
            var state: State = State.planned
            init() {}
          }

          enum State: String, Codable { case planned, done }

          """)
  }

  @Test("Foundation, which SwiftUI includes, is imported elsewhere where nothing else brings it")
  func foundation() {
    #expect(
      text("import SwiftUI\nlet day: Date = .now\n")
        == "#if canImport(SwiftUI)\nimport SwiftUI\n#else\nimport Foundation\n#endif\nlet day: Date = .now\n")
  }

  @Test("Views, previews and the app are kept for Apple's systems, adjacent ones together, with their comments")
  func views() {
    let result = ported(
      """
      import SwiftData
      import SwiftUI

      @main
      struct TripsApp: App {
        var container: ModelContainer = {
          try! ModelContainer(for: Trip.self)
        }()
        var body: some Scene { WindowGroup { TripList() }.modelContainer(container) }
      }

      /// All trips.
      struct TripList: View {
        @Query(sort: \\Trip.name) private var trips: [Trip]
        var body: some View {
          List(trips) { Text($0.name) }
        }
      } // end

      #Preview { TripList() }

      func sorted(_ trips: [Trip]) -> [Trip] { trips.sorted { $0.name < $1.name } }

      """)
    #expect(
      result.texts[0] == """
        import SwiftData
        #if canImport(SwiftUI)
        import SwiftUI
        #endif

        #if canImport(SwiftUI)
        @main
        struct TripsApp: App {
          var container: ModelContainer = {
            try! ModelContainer(for: Trip.self)
          }()
          var body: some Scene { WindowGroup { TripList() }.modelContainer(container) }
        }

        /// All trips.
        struct TripList: View {
          @Query(sort: \\Trip.name) private var trips: [Trip]
          var body: some View {
            List(trips) { Text($0.name) }
          }
        } // end

        #Preview { TripList() }
        #endif

        func sorted(_ trips: [Trip]) -> [Trip] { trips.sorted { $0.name < $1.name } }

        """, "\(result.texts[0])")
    #expect(result.messages.map(\.line) == [10, 17])
    #expect(result.messages.map(\.severity) == [.warning, .warning])
    #expect(result.messages.first?.text.contains("make the container in a function outside of the app") == true)
    #expect(result.messages.last?.text.hasPrefix("TripList is left to Apple's systems: @Query") == true)
  }

  @Test("A type that is no view loses the members that use SwiftUI, and an extension of SwiftUI's type all of it")
  func members() {
    #expect(
      text(
        """
        import SwiftData
        import SwiftUI

        @Model final class Tag {
          var name: String

          // As it is drawn.
          var color: Color { Color(name) }

          init(name: String) { self.name = name }
        }

        enum Kind: String {
          case a
          var image: Image { Image(rawValue) }
          var title: String { rawValue }
        }

        extension Color {
          static let brand = Color("brand")
        }

        """) == """
          import SwiftData
          #if canImport(SwiftUI)
          import SwiftUI
          #endif

          @Model final class Tag {
            var name: String

            #if canImport(SwiftUI)
            // As it is drawn.
            var color: Color { Color(name) }
            #endif

            init(name: String) { self.name = name }
          }

          enum Kind: String {
            case a
            #if canImport(SwiftUI)
            var image: Image { Image(rawValue) }
            #endif
            var title: String { rawValue }
          }

          #if canImport(SwiftUI)
          extension Color {
            static let brand = Color("brand")
          }
          #endif

          """)
  }

  @Test("Names that the program declares itself are not SwiftUI's, whatever file and version they are in")
  func ownNames() {
    let models = "import SwiftData\nenum V1 {\n  @Model final class Group { init() {} }\n}\nclass List {}\n"
    let use = "import SwiftUI\nimport SwiftData\nfunc f(_ group: V1.Group, _ list: List) {}\n"
    let result = ported(models, use).texts
    #expect(result[0] == models)
    #expect(
      result[1]
        == "#if canImport(SwiftUI)\nimport SwiftUI\n#endif\nimport SwiftData\nfunc f(_ group: V1.Group, _ list: List) {}\n"
    )
  }

  @Test("A stored value of SwiftUI in a model is an error, with its line, and stays")
  func stored() {
    let model = "@Model final class A {\n  var tint: Color?\n  init() {}\n}\n"
    let result = ported("import SwiftUI\nimport SwiftData\n\(model)")
    #expect(result.texts[0].hasSuffix("import SwiftData\n\(model)"))
    #expect(result.messages.map(\.severity) == [.error] && result.messages.map(\.line) == [6])
    #expect(result.messages.first?.text.contains("Store what it is made of") == true)
  }

  @Test("SwiftData itself is there on every system")
  func swiftData() {
    let source = "import SwiftData\n#if canImport(SwiftData)\nlet x = 1\n#endif\n"
    let result = ported(source)
    #expect(result.texts == [source] && result.messages.isEmpty)
    #expect(CompilationCondition.answer(" canImport(SwiftData)") == .yes)
  }
}
