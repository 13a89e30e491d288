// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

// Written from the model of SampleManager.store by coredata model generate --swiftdata.

import Foundation
import SwiftData

/// A version of the app's models as it was shipped. Do not edit it afterwards: stores of it exist.
enum GeneratedPegase: VersionedSchema {
  static let versionIdentifier = Schema.Version(1, 0, 0)
  static var models: [any PersistentModel.Type] {
    [
      EntityAccount.self,
      EntityBankStatement.self,
      EntityBanqueInfo.self,
      EntityCategory.self,
      EntityCheckBook.self,
      EntityFolderAccount.self,
      EntityIdentity.self,
      EntityInitAccount.self,
      EntityPaymentMode.self,
      EntityPreference.self,
      EntityRubric.self,
      EntitySchedule.self,
      EntitySousOperation.self,
      EntityStatus.self,
      EntityTransaction.self,
    ]
  }

  @Model
  final class EntityAccount {
    var currencyCode: String = "EUR"
    // The model has the moment at which it was made; guessed: that of each new model.
    var dateEcheancier: Date = Date()
    var isAccount: Bool = true
    var isDemo: Bool = false
    var name: String = ""
    var nameIcon: String = ""
    @Attribute(.unique) var uuid: UUID = UUID()
    @Relationship(deleteRule: .cascade, inverse: \EntityBanqueInfo.account) var bank: EntityBanqueInfo?
    @Relationship(deleteRule: .cascade, inverse: \EntityBankStatement.account)
    var bankStatement: [EntityBankStatement]?
    @Relationship(deleteRule: .cascade, inverse: \EntityCheckBook.account) var carnetCheques: [EntityCheckBook]?
    var compteLie: EntityTransaction?
    @Relationship(deleteRule: .cascade, inverse: \EntitySchedule.account) var echeanciers: [EntitySchedule]?
    @Relationship(deleteRule: .cascade, inverse: \EntityIdentity.account) var identity: EntityIdentity?
    @Relationship(deleteRule: .cascade, inverse: \EntityInitAccount.account) var initAccount: EntityInitAccount?
    @Relationship(deleteRule: .cascade, inverse: \EntityPaymentMode.account) var paymentMode: [EntityPaymentMode]?
    @Relationship(deleteRule: .cascade, inverse: \EntityPreference.account) var preference: EntityPreference?
    @Relationship(deleteRule: .cascade, inverse: \EntityRubric.account) var rubric: [EntityRubric]?
    @Relationship(deleteRule: .cascade, inverse: \EntityStatus.account) var status: [EntityStatus]?
    @Relationship(deleteRule: .cascade, inverse: \EntityTransaction.account)
    var transactions: [EntityTransaction]?

    init() {}
  }

  @Model
  final class EntityBankStatement {
    // The model has the moment at which it was made; guessed: that of each new model.
    var cbDate: Date = Date()
    var cbSolde: Double
    // The model has the moment at which it was made; guessed: that of each new model.
    var endDate: Date = Date()
    var endSolde: Double
    // The model has the moment at which it was made; guessed: that of each new model.
    var interDate: Date = Date()
    var interSolde: Double
    var num: Int
    @Attribute(.externalStorage) var pdfDoc: Data?
    var pdfLink: String = ""
    // The model has the moment at which it was made; guessed: that of each new model.
    var startDate: Date = Date()
    var startSolde: Double
    @Attribute(.unique) var uuid: UUID = UUID()
    var account: EntityAccount

    init(
      cbSolde: Double,
      endSolde: Double,
      interSolde: Double,
      num: Int,
      startSolde: Double,
      account: EntityAccount
    ) {
      self.cbSolde = cbSolde
      self.endSolde = endSolde
      self.interSolde = interSolde
      self.num = num
      self.startSolde = startSolde
      self.account = account
    }
  }

  @Model
  final class EntityBanqueInfo {
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
    var account: EntityAccount

    init(account: EntityAccount) {
      self.account = account
    }
  }

  @Model
  final class EntityCategory {
    var name: String
    var objectif: Double = 0.0
    @Attribute(.unique) var uuid: UUID = UUID()
    @Relationship(inverse: \EntitySchedule.category) var echeancier: [EntitySchedule]?
    @Relationship(inverse: \EntityPreference.category) var preference: EntityPreference?
    var rubric: EntityRubric?
    @Relationship(inverse: \EntitySousOperation.category) var sousOperations: [EntitySousOperation]?

    init(name: String) {
      self.name = name
    }
  }

  @Model
  final class EntityCheckBook {
    var name: String = ""
    var nbCheques: Int = 25
    var numPremier: Int = 1
    var numSuivant: Int = 10
    var prefix: String = "CH"
    @Attribute(.unique) var uuid: UUID = UUID()
    var account: EntityAccount?

    init() {}
  }

  @Model
  final class EntityFolderAccount {
    var isRoot: Bool = false
    var name: String = ""
    var nameImage: String = "folder.fill"
    @Attribute(.unique) var uuid: UUID = UUID()
    var children: [EntityAccount] = []

    init() {}
  }

  @Model
  final class EntityIdentity {
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
    var account: EntityAccount

    init(account: EntityAccount) {
      self.account = account
    }
  }

  @Model
  final class EntityInitAccount {
    var bic: String = ""
    var cleRib: String = ""
    var codeAccount: String = ""
    var codeBank: String = ""
    var codeGuichet: String = ""
    var engage: Double = 0.0
    var iban: String = ""
    var prevu: Double = 0.0
    var realise: Double = 0.0
    @Attribute(.unique) var uuid: UUID = UUID()
    var account: EntityAccount

    init(account: EntityAccount) {
      self.account = account
    }
  }

  @Model
  final class EntityPaymentMode {
    // Guessed: NSObject. Write the class of the values, which the model calls NSColor.
    @Attribute(.transformable(by: "ColorTransformer")) var color: NSObject
    var name: String = ""
    @Attribute(.unique) var uuid: UUID = UUID()
    var account: EntityAccount

    init(color: NSObject, account: EntityAccount) {
      self.color = color
      self.account = account
    }
  }

  @Model
  final class EntityPreference {
    var signe: Bool = true
    @Attribute(.unique) var uuid: UUID = UUID()
    var account: EntityAccount
    var category: EntityCategory?
    var paymentMode: EntityPaymentMode?
    var status: EntityStatus?

    init(account: EntityAccount) {
      self.account = account
    }
  }

  @Model
  final class EntityRubric {
    // Guessed: NSObject. Write the class of the values, which the model calls NSColor.
    @Attribute(.transformable(by: "ColorTransformer")) var color: NSObject
    var name: String = ""
    @Attribute(.ephemeral) var total: Double = 0.0
    @Attribute(.unique) var uuid: UUID = UUID()
    var account: EntityAccount
    @Relationship(deleteRule: .cascade) var categorie: [EntityCategory] = []

    init(color: NSObject, account: EntityAccount) {
      self.color = color
      self.account = account
    }
  }

  @Model
  final class EntitySchedule {
    var amount: Double = 0.0
    // The model has the moment at which it was made; guessed: that of each new model.
    var dateCree: Date = Date()
    // The model has the moment at which it was made; guessed: that of each new model.
    var dateDebut: Date = Date()
    // The model has the moment at which it was made; guessed: that of each new model.
    var dateFin: Date = Date()
    // The model has the moment at which it was made; guessed: that of each new model.
    var dateModifie: Date = Date()
    // The model has the moment at which it was made; guessed: that of each new model.
    var dateValeur: Date = Date()
    var frequence: Int16 = 0
    var isProcessed: Bool = false
    var libelle: String = ""
    var nextOccurrence: Int16 = 0
    var occurrence: Int16 = 0
    var typeFrequence: Int16 = 0
    @Attribute(.unique) var uuid: UUID = UUID()
    var account: EntityAccount
    var category: EntityCategory?
    var linkedAccount: EntityAccount?
    var paymentMode: EntityPaymentMode?

    init(account: EntityAccount) {
      self.account = account
    }
  }

  @Model
  final class EntitySousOperation {
    var amount: Double = 0.0
    var libelle: String?
    @Attribute(.unique) var uuid: UUID = UUID()
    var category: EntityCategory?
    var transaction: EntityTransaction?

    init() {}
  }

  @Model
  final class EntityStatus {
    // Guessed: NSObject. Write the class of the values, which the model calls NSColor.
    @Attribute(.transformable(by: "ColorTransformer")) var color: NSObject
    var name: String
    var rawType: Int
    @Attribute(.unique) var uuid: UUID = UUID()
    var account: EntityAccount

    init(color: NSObject, name: String, rawType: Int, account: EntityAccount) {
      self.color = color
      self.name = name
      self.rawType = rawType
      self.account = account
    }
  }

  @Model
  final class EntityTransaction {
    var _sectionIdentifier: String?
    var bankStatement: Double = 0.0
    var checkNumber: String = ""
    // The model has the moment at which it was made; guessed: that of each new model.
    var createAt: Date = Date()
    // The model has the moment at which it was made; guessed: that of each new model.
    var dateOperation: Date = Date()
    // The model has the moment at which it was made; guessed: that of each new model.
    var datePointage: Date = Date()
    @Attribute(.ephemeral) var solde: Double? = 0.0
    // The model has the moment at which it was made; guessed: that of each new model.
    var updatedAt: Date = Date()
    @Attribute(.unique) var uuid: UUID = UUID()
    var account: EntityAccount
    var paymentMode: EntityPaymentMode?
    @Relationship(deleteRule: .cascade, inverse: \EntitySousOperation.transaction)
    var sousOperations: [EntitySousOperation] = []
    var status: EntityStatus?

    init(account: EntityAccount) {
      self.account = account
    }
  }
}
