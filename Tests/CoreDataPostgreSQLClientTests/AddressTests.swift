// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import CoreDataPostgreSQLClient

@Suite("Addresses of databases")
struct AddressTests {
  private func parameters(_ text: String) throws -> [String: String] {
    Dictionary(try PostgreSQLAddress(text).parameters.map { ($0.keyword, $0.value) }) { $1 }
  }

  @Test("All parts of a URL are passed to libpq, without the schema")
  func parts() throws {
    let text = "postgresql://ada:s3cret@db.example:6432/app?schema=books&sslmode=verify-full&connect_timeout=5"
    let expected = [
      "user": "ada", "password": "s3cret", "host": "db.example", "port": "6432", "dbname": "app",
      "sslmode": "verify-full",
      "connect_timeout": "5",
    ]
    #expect(try parameters(text) == expected)
    #expect(try PostgreSQLAddress(text).schema == "books")
    #expect(try PostgreSQLAddress(#require(URL(string: text))).parameters == PostgreSQLAddress(text).parameters)
  }

  @Test(
    "Forms of hosts",
    arguments: [
      ("postgres://[::1]:6000/app", "::1", "6000"),
      ("postgresql://[2001:db8::1]/app", "2001:db8::1", nil),
      ("postgresql://one:1,two:2/app", "one,two", "1,2"),
      ("postgresql://one,two:2/app", "one,two", ",2"),
      ("postgresql://%2Fvar%2Frun/app", "/var/run", nil),
      ("postgresql:///app?host=/tmp/place&port=7000", "/tmp/place", "7000"),
      ("postgresql:///app", nil, nil),
      ("PostgreSQL://host/app", "host", nil),
    ])
  func hosts(_ text: String, _ host: String?, _ port: String?) throws {
    let found = try parameters(text)
    #expect(found["host"] == host && found["port"] == port && found["dbname"] == "app")
  }

  @Test("What a URL leaves out is left to libpq")
  func empty() throws {
    #expect(try parameters("postgresql://") == [:])
    #expect(try parameters("postgresql:///?service=shop") == ["service": "shop"])
    #expect(try PostgreSQLAddress("postgresql://").schema == "public")
    #expect(try parameters("postgresql:///?ssl=true") == ["sslmode": "require"])
  }

  @Test("Characters with a meaning are written with %")
  func encoding() throws {
    let text = "postgresql://a%40b:p%2Fw%3A%25@h/d%20e?schema=%22sch%C3%A9ma%22&application_name=a%26b"
    let found = try parameters(text)
    #expect(found == ["user": "a@b", "password": "p/w:%", "host": "h", "dbname": "d e", "application_name": "a&b"])
    #expect(try PostgreSQLAddress(text).schema == "\"schéma\"")
  }

  @Test("An @ in a password does not end it")
  func at() throws {
    let found = try parameters("postgresql://user:p@ss:w@host/db")
    #expect(found == ["user": "user", "password": "p@ss:w", "host": "host", "dbname": "db"])
  }

  @Test(
    "Descriptions have no password",
    arguments: [
      ("postgresql://ada:s3cret@host:1/app?schema=x", "postgresql://ada@host:1/app?schema=x"),
      ("postgresql://ada:s3@cret@host/app", "postgresql://ada@host/app"),
      ("postgresql://ada@host/app?password=s3cret&sslmode=prefer", "postgresql://ada@host/app?sslmode=prefer"),
      ("postgresql://ada@host/app?sslpassword=s3cret", "postgresql://ada@host/app"),
      ("postgresql://ada@host/app?%70assword=s3cret", "postgresql://ada@host/app"),
      ("postgresql://:s3cret@host/app", "postgresql://@host/app"),
    ])
  func redaction(_ text: String, _ expected: String) throws {
    let address = try PostgreSQLAddress(text)
    #expect(address.redacted == expected)
    for words in ["\(address)", String(reflecting: address), "\(["key": address])"] {
      #expect(!words.contains("s3") && !words.contains("cret"), "\(words)")
    }
    var dumped = ""
    dump(address, to: &dumped)
    #expect(!dumped.contains("s3"), "\(dumped)")
  }

  @Test(
    "A URL that is refused is named without the password",
    arguments: [
      "postgresql://ada:s3/cret@host/app", "postgresql://ada:s3?cret@host/app", "postgresql://ada:s3%zz@host/app",
      "mysql://ada:s3cret@host/app", "postgresql:ada:s3cret@host", "postgresql://ada:s3cret@host:port/app",
      "postgresql://ada:s3cret@host:99999/app", "postgresql://ada:s3cret@host/app?schema=",
      "postgresql://host/app?password=s3cret&schema=", "postgresql://ada:s3cret@host/app?sslmode",
      "postgresql://ada:s3cret@host/app?schema=\(String(repeating: "x", count: 64))",
      "postgresql://ada:s3cret@[::1]x/app", "postgresql://ada:s3cret@host/a%00b",
    ])
  func problems(_ text: String) throws {
    let problem = try #require(throws: PostgreSQLAddress.Problem.self) { try PostgreSQLAddress(text) }
    #expect(!problem.description.contains("s3"), "\(problem)")
    #expect(!problem.description.contains("cret"), "\(problem)")
  }

  @Test("A name of 63 bytes is a schema")
  func longName() throws {
    let name = String(repeating: "x", count: 63)
    #expect(try PostgreSQLAddress("postgresql:///?schema=\(name)").schema == name)
  }

  @Test("Passwords are masked in messages")
  func masking() throws {
    var address = try PostgreSQLAddress("postgresql://u:p%2Fss-word@h/d?sslpassword=key")
    #expect(address.masked("no 'p/ss-word' or p%2Fss%2Dword") == "no '***' or ***")
    // A short one only where it is a word.
    #expect(
      address.masked("the key \"key\" of the keyboard: monkey key") == "the *** \"***\" of the keyboard: monkey ***")
    address.hide("")
    address.hide("from a file")
    #expect(address.masked("read from a file") == "read ***")
  }
}
