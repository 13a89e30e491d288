// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import CoreDataPredicates
import CoreDataTestSupport
import Foundation
import Testing

@Suite("Version hashes")
struct VersionHashTests {
  @Test("SHA-256 gives the digests of FIPS 180-4")
  func sha256() {
    #expect(hex(SHA2.hash256(Data())) == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855")
    #expect(hex(SHA2.hash256(Data("abc".utf8))) == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
    let twoBlocks = Data("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq".utf8)
    #expect(hex(SHA2.hash256(twoBlocks)) == "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1")
    let long = Data(repeating: UInt8(ascii: "a"), count: 100_000)
    #expect(hex(SHA2.hash256(long)) == "6d1cf22d7cc09b085dfc25ee1a1f3ae0265804c607bc2074ad253bcc82fd81ee")
  }

  @Test("SHA-512 gives the digests of FIPS 180-4")
  func sha512() {
    #expect(
      hex(SHA2.hash512(Data("abc".utf8)))
        == "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a"
        + "2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f")
    #expect(
      hex(SHA2.hash512(Data()))
        == "cf83e1357eefb8bdf1542850d66d8007d620e4050b5715dc83f4a921d36ce9ce"
        + "47d0d13c5d85f2b0ff8318d2877eec2f63b931bd47417a81a538327af927da3e")
  }

  @Test("An entity's hash contains its parent's hash and those of all stored properties, by the bytes of their names")
  func inheritance() throws {
    var parent = EntityDocument(name: "Parent")
    parent.attributes = ["m", "Z", "b", "x"].map { AttributeDocument(name: $0, kind: .string) }
    var child = EntityDocument(name: "Child", parentName: "Parent")
    child.attributes = ["z", "a", "n"].map { AttributeDocument(name: $0, kind: .date) }
    // Declared again: with another type, and as one that is not stored.
    child.attributes.append(AttributeDocument(name: "b", kind: .integer64))
    var transient = AttributeDocument(name: "x", kind: .string)
    transient.isTransient = true
    child.attributes.append(transient)
    var grandchild = EntityDocument(name: "Grandchild", parentName: "Child")
    grandchild.attributes = [AttributeDocument(name: "c", kind: .boolean)]
    let hashes = VersionHashes(ModelDocument(entities: [grandchild, child, parent]))
    func hash(of entity: String, parent: String?, _ properties: [(String, String)]) throws -> Data {
      var input = Data(entity.utf8) + [0]
      if let parent { input += try #require(hashes.entities[parent]) }
      for (owner, name) in properties { input += try #require(hashes.property(name, of: owner)) }
      return SHA2.hash256(input)
    }
    #expect(
      try hashes.entities["Parent"]
        == hash(of: "Parent", parent: nil, [("Parent", "Z"), ("Parent", "b"), ("Parent", "m"), ("Parent", "x")]))
    let inherited = [("Parent", "Z"), ("Child", "a"), ("Child", "b")]
    let rest = [("Parent", "m"), ("Child", "n"), ("Child", "z")]
    #expect(try hashes.entities["Child"] == hash(of: "Child", parent: "Parent", inherited + rest))
    #expect(
      try hashes.entities["Grandchild"]
        == hash(of: "Grandchild", parent: "Child", inherited + [("Grandchild", "c")] + rest))
  }

  @Test("Messages at the edges of a block are padded rightly", arguments: [55, 56, 63, 64, 111, 112, 119, 127, 128])
  func padding(length: Int) {
    let message = Data(repeating: 0x61, count: length)
    #expect(hex(SHA2.hash256(message)) == Self.paddingDigests[length]?.0)
    #expect(hex(SHA2.hash512(message).prefix(16)) == Self.paddingDigests[length]?.1)
  }

  @Test("A published hash of a small entity comes out equal")
  func tutorialEntity() {
    var entity = EntityDocument(name: "TSPItem")
    entity.attributes = [
      AttributeDocument(name: "createdAt", kind: .date),
      AttributeDocument(name: "done", kind: .boolean, isOptional: false),
      AttributeDocument(name: "name", kind: .string),
    ]
    let hashes = VersionHashes(ModelDocument(entities: [entity]))
    #expect(
      hashes.entities["TSPItem"].map(hex) == "ce1c66934229b0437cfe73244718b0c481c9af4d12e713733288b42e7de7ac62")
  }

  @Test(
    "The hash of a derived attribute is that of its printed derivation",
    arguments: [
      ("messages.@count", "count:(messages)"), ("orders.@sum.price", "sum:(orders.price)"),
      ("label.code", "label.code"), ("canonical:(name)", "canonical:(name)"), ("now()", "now()"),
    ])
  func derivations(source: String, printed: String) throws {
    let document = try model(
      """
      <entity name="E"><attribute name="a" optional="YES" attributeType="String" derived="YES"
        derivationExpression="\(source)"/></entity>
      """)
    #expect(VersionHashes(document).property("a", of: "E") == SHA2.hash256(Data(printed.utf8)))
  }

  @Test("A model whose entities inherit from one another in a ring has hashes and does not hang")
  func cycle() {
    let ring = [EntityDocument(name: "A", parentName: "B"), EntityDocument(name: "B", parentName: "A")]
    #expect(VersionHashes(ModelDocument(entities: ring)).entities.count == 2)
  }

  private static let paddingDigests: [Int: (String, String)] = [
    55: (
      "9f4390f8d30c2dd92ec9f095b65e2b9ae9b0a925a5258e241c9f1e910f734318",
      "b0220c772cbf6c1822e2cb38a437d0e1"
    ),
    56: (
      "b35439a4ac6f0948b6d6f9e3c6af0f5f590ce20f1bde7090ef7970686ec6738a",
      "962b64aae357d2a4fee3ded8b539bdc9"
    ),
    63: (
      "7d3e74a05d7db15bce4ad9ec0658ea98e3f06eeecf16b4c6fff2da457ddc2f34",
      "c1b0f5c6d3b03dfe4a2602e67242f54e"
    ),
    64: (
      "ffe054fe7ae0cb6dc65c3af9b61d5209f439851db43d0ba5997337df154668eb",
      "01d35c10c6c38c2dcf48f7eebb3235fb"
    ),
    111: (
      "6374f73208854473827f6f6a3f43b1f53eaa3b82c21c1a6d69a2110b2a79baad",
      "fa9121c7b32b9e01733d034cfc78cbf6"
    ),
    112: (
      "f54353008a2553262ecdc4a34749563ba0950e8b0fc8652780b0a614b99683c1",
      "c01d080efd492776a1c43bd23dd99d0a"
    ),
    119: (
      "31eba51c313a5c08226adf18d4a359cfdfd8d2e816b13f4af952f7ea6584dcfb",
      "130396a75cb483f2eee8c56d8a668bb3"
    ),
    127: (
      "c57e9278af78fa3cab38667bef4ce29d783787a2f731d4e12200270f0c32320a",
      "828613968b501dc00a97e08c73b118aa"
    ),
    128: (
      "6836cf13bac400e9105071cd6af47084dfacad4e5e302c94bfed24e013afb73e",
      "b73d1929aa615934e61a871596b3f3b3"
    ),
  ]
}

func hex(_ data: some Sequence<UInt8>) -> String {
  data.map { byte in String(byte >> 4, radix: 16) + String(byte & 15, radix: 16) }.joined()
}
