// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation
import SwiftData

/// The schema of thierryH91200/PegaseUIData.
enum Pegase {
  static let models: [any PersistentModel.Type] = [
    EntityAccount.self, EntityBankStatement.self, EntityBanqueInfo.self, EntityCategory.self, EntityCheckBook.self,
    EntityFolderAccount.self, EntityIdentity.self, EntityInitAccount.self, EntityPaymentMode.self,
    EntityPreference.self, EntityRubric.self, EntitySchedule.self, EntitySousOperation.self, EntityStatus.self,
    EntityTransaction.self,
  ]

  /// What AppKit's color is to the schema: a class whose name is the attribute's value class.
  final class NSColor: NSObject, @unchecked Sendable {
    let name: String
    init(name: String) { self.name = name }
  }

  @Model
  final class EntityAccount {
    @Relationship(deleteRule: .cascade, inverse: \EntityBanqueInfo.account) var bank: EntityBanqueInfo?
    @Relationship(deleteRule: .cascade, inverse: \EntityBankStatement.account) var bankStatement: [EntityBankStatement]?
    @Relationship(deleteRule: .cascade, inverse: \EntityCheckBook.account) var carnetCheques: [EntityCheckBook]?
    var compteLie: EntityTransaction?
    var currencyCode: String = "EUR"
    var dateEcheancier: Date = Date()
    @Relationship(deleteRule: .cascade, inverse: \EntitySchedule.account) var echeanciers: [EntitySchedule]?
    @Relationship(deleteRule: .cascade, inverse: \EntityIdentity.account) var identity: EntityIdentity?
    @Relationship(deleteRule: .cascade, inverse: \EntityInitAccount.account) var initAccount: EntityInitAccount?
    var isAccount: Bool = true
    var isDemo: Bool = false
    var name: String = ""
    var nameIcon: String = ""
    @Relationship(deleteRule: .cascade, inverse: \EntityPaymentMode.account) var paymentMode: [EntityPaymentMode]?
    @Relationship(deleteRule: .cascade, inverse: \EntityPreference.account) var preference: EntityPreference?
    @Relationship(deleteRule: .cascade, inverse: \EntityRubric.account) var rubric: [EntityRubric]?
    @Relationship(deleteRule: .cascade, inverse: \EntityStatus.account) var status: [EntityStatus]?
    @Relationship(deleteRule: .cascade, inverse: \EntityTransaction.account) var transactions: [EntityTransaction]?
    @Attribute(.unique) var uuid: UUID = UUID()

    init(
      bankStatement: [EntityBankStatement]? = [], carnetCheques: [EntityCheckBook]? = [],
      echeanciers: [EntitySchedule]? = [], paymentMode: [EntityPaymentMode]? = [], rubric: [EntityRubric]? = [],
      status: [EntityStatus]? = [], transactions: [EntityTransaction]? = []
    ) {
      self.bankStatement = bankStatement
      self.carnetCheques = carnetCheques
      self.echeanciers = echeanciers
      self.paymentMode = paymentMode
      self.rubric = rubric
      self.status = status
      self.transactions = transactions
    }
  }

  @Model
  final class EntityBankStatement {
    var account: EntityAccount
    var cbDate: Date = Date()
    var cbSolde: Double
    var endDate: Date = Date()
    var endSolde: Double
    var interDate: Date = Date()
    var interSolde: Double
    var num: Int
    @Attribute(.externalStorage) var pdfDoc: Data?
    var pdfLink: String = ""
    var startDate: Date = Date()
    var startSolde: Double
    @Attribute(.unique) var uuid: UUID = UUID()

    init(account: EntityAccount, cbSolde: Double, endSolde: Double, interSolde: Double, num: Int, startSolde: Double) {
      self.account = account
      self.cbSolde = cbSolde
      self.endSolde = endSolde
      self.interSolde = interSolde
      self.num = num
      self.startSolde = startSolde
    }
  }

  @Model
  final class EntityBanqueInfo {
    var account: EntityAccount
    var adresse: String = ""
    var complement: String = ""
    var country: String = ""
    var cp: String = ""
    var email: String = ""
    var fonction: String = ""
    var mobile: String = ""
    var name: String = ""
    var nomBanque: String = ""
    var phone: String = ""
    var town: String = ""
    @Attribute(.unique) var uuid: UUID = UUID()

    init(account: EntityAccount) {
      self.account = account
    }
  }

  @Model
  final class EntityCategory {
    @Relationship(inverse: \EntitySchedule.category) var echeancier: [EntitySchedule]?
    var name: String
    var objectif: Double = 0
    @Relationship(inverse: \EntityPreference.category) var preference: EntityPreference?
    var rubric: EntityRubric?
    @Relationship(inverse: \EntitySousOperation.category) var sousOperations: [EntitySousOperation]?
    @Attribute(.unique) var uuid: UUID = UUID()

    init(name: String, echeancier: [EntitySchedule]? = [], sousOperations: [EntitySousOperation]? = []) {
      self.echeancier = echeancier
      self.name = name
      self.sousOperations = sousOperations
    }
  }

  @Model
  final class EntityCheckBook {
    var account: EntityAccount?
    var name: String = ""
    var nbCheques: Int = 25
    var numPremier: Int = 1
    var numSuivant: Int = 10
    var prefix: String = "CH"
    @Attribute(.unique) var uuid: UUID = UUID()

    init() {
    }
  }

  @Model
  final class EntityFolderAccount {
    var children: [EntityAccount]
    var isRoot: Bool = false
    var name: String = ""
    var nameImage: String = "folder.fill"
    @Attribute(.unique) var uuid: UUID = UUID()

    init(children: [EntityAccount] = []) {
      self.children = children
    }
  }

  @Model
  final class EntityIdentity {
    var account: EntityAccount
    var adress: String = ""
    var complement: String = ""
    var country: String = ""
    var cp: String = ""
    var email: String = ""
    var mobile: String = ""
    var name: String = "Dupont"
    var nameImage: String = ""
    var phone: String = ""
    var surName: String = "leon"
    var town: String = ""
    @Attribute(.unique) var uuid: UUID = UUID()

    init(account: EntityAccount) {
      self.account = account
    }
  }

  @Model
  final class EntityInitAccount {
    var account: EntityAccount
    var bic: String = ""
    var cleRib: String = ""
    var codeAccount: String = ""
    var codeBank: String = ""
    var codeGuichet: String = ""
    var engage: Double = 0
    var iban: String = ""
    var prevu: Double = 0
    var realise: Double = 0
    @Attribute(.unique) var uuid: UUID = UUID()

    init(account: EntityAccount) {
      self.account = account
    }
  }

  @Model
  final class EntityPaymentMode {
    var account: EntityAccount
    @Attribute(.transformable(by: ColorTransformer.self)) var color: NSColor
    var name: String = ""
    @Attribute(.unique) var uuid: UUID = UUID()

    init(account: EntityAccount, color: NSColor) {
      self.account = account
      self.color = color
    }
  }

  @Model
  final class EntityPreference {
    var account: EntityAccount
    var category: EntityCategory?
    var paymentMode: EntityPaymentMode?
    var signe: Bool = true
    var status: EntityStatus?
    @Attribute(.unique) var uuid: UUID = UUID()

    init(account: EntityAccount) {
      self.account = account
    }
  }

  @Model
  final class EntityRubric {
    var account: EntityAccount
    @Relationship(deleteRule: .cascade) var categorie: [EntityCategory]
    @Attribute(.transformable(by: ColorTransformer.self)) var color: NSColor
    var name: String = ""
    @Attribute(.ephemeral) var total: Double = 0
    @Attribute(.unique) var uuid: UUID = UUID()

    init(account: EntityAccount, color: NSColor, categorie: [EntityCategory] = []) {
      self.account = account
      self.categorie = categorie
      self.color = color
    }
  }

  @Model
  final class EntitySchedule {
    var account: EntityAccount
    var amount: Double = 0
    var category: EntityCategory?
    var dateCree: Date = Date()
    var dateDebut: Date = Date()
    var dateFin: Date = Date()
    var dateModifie: Date = Date()
    var dateValeur: Date = Date()
    var frequence: Int16 = 0
    var isProcessed: Bool = false
    var libelle: String = ""
    var linkedAccount: EntityAccount?
    var nextOccurrence: Int16 = 0
    var occurrence: Int16 = 0
    var paymentMode: EntityPaymentMode?
    var typeFrequence: Int16 = 0
    @Attribute(.unique) var uuid: UUID = UUID()

    init(account: EntityAccount) {
      self.account = account
    }
  }

  @Model
  final class EntitySousOperation {
    var amount: Double = 0
    var category: EntityCategory?
    var libelle: String?
    @Relationship(inverse: \EntityTransaction.sousOperations) var transaction: EntityTransaction?
    @Attribute(.unique) var uuid: UUID = UUID()

    init() {
    }
  }

  @Model
  final class EntityStatus {
    var account: EntityAccount
    @Attribute(.transformable(by: ColorTransformer.self)) var color: NSColor
    var name: String
    var rawType: Int
    @Attribute(.unique) var uuid: UUID = UUID()

    init(account: EntityAccount, color: NSColor, name: String, rawType: Int) {
      self.account = account
      self.color = color
      self.name = name
      self.rawType = rawType
    }
  }

  @Model
  final class EntityTransaction {
    var _sectionIdentifier: String?
    var account: EntityAccount
    var bankStatement: Double = 0
    var checkNumber: String = ""
    var createAt: Date = Date()
    var dateOperation: Date = Date()
    var datePointage: Date = Date()
    var paymentMode: EntityPaymentMode?
    @Attribute(.ephemeral) var solde: Double? = 0
    @Relationship(deleteRule: .cascade) var sousOperations: [EntitySousOperation]
    var status: EntityStatus?
    var updatedAt: Date = Date()
    @Attribute(.unique) var uuid: UUID = UUID()

    init(account: EntityAccount, sousOperations: [EntitySousOperation] = []) {
      self.account = account
      self.sousOperations = sousOperations
    }
  }
}

/// Keeps a color as its name.
final class ColorTransformer: ValueTransformer, @unchecked Sendable {
  override class func allowsReverseTransformation() -> Bool { true }
  override func transformedValue(_ value: Any?) -> Any? { (value as? Pegase.NSColor).map { Data($0.name.utf8) } }
  override func reverseTransformedValue(_ value: Any?) -> Any? {
    (value as? Data).flatMap { String(data: $0, encoding: .utf8) }.map { Pegase.NSColor(name: $0) }
  }
}
