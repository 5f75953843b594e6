import Testing

@testable import Postgres

@Suite struct HostTests {
  @Test func listsArePairedAndOnePortServesAll() throws {
    #expect(
      try Host.all(hosts: "a,b", addresses: nil, ports: "5433")
        == [Host(name: "a", port: "5433"), Host(name: "b", port: "5433")])
    #expect(
      try Host.all(hosts: "a,", addresses: "10.0.0.1,10.0.0.2", ports: "1,2")
        == [Host(name: "a", address: "10.0.0.1", port: "1"), Host(name: "", address: "10.0.0.2", port: "2")])
    #expect(try Host.all(hosts: nil, addresses: nil, ports: nil) == [Host()])
  }

  @Test(
    arguments: [("a,b", nil, "1,2,3"), ("a,b,c", "10.0.0.1", nil), ("a", nil, "1,2")] as [(String, String?, String?)])
  func listsThatDoNotFitAreRefused(hosts: String, addresses: String?, ports: String?) {
    let error = #expect(throws: PostgresError.self) {
      try Host.all(hosts: hosts, addresses: addresses, ports: ports)
    }
    #expect(error?.kind == .invalid)
  }

  @Test(arguments: ["/run/postgresql", "@abstract", "127.0.0.1", "::1", "fe80::1%eth0", ""])
  func thisNeedsNoLookup(name: String) { #expect(Host(name: name).nameToLookUp == nil) }

  @Test func namesNeedOneUnlessTheAddressIsGiven() {
    #expect(Host(name: "db.example").nameToLookUp == "db.example")
    #expect(Host(name: "1.2.3").nameToLookUp == "1.2.3")
    #expect(Host(name: "db.example", address: "10.0.0.1").nameToLookUp == nil)
  }

  @Test func aNameStandsForAllItsAddressesAndOneWithoutAnyIsLeftOut() throws {
    let parameters = try ConnectionParameters("host=a,/run,b,c port=1,2,3,4", applicationName: nil)
    #expect(parameters.hostNames == ["a", "b", "c"])
    let options = options(parameters, attempt: 0, ["a": ["10.0.0.1", "::1"], "c": ["10.0.0.3"]])
    #expect(options["host"] == "a,a,/run,c")
    #expect(options["hostaddr"] == "10.0.0.1,::1,,10.0.0.3")
    #expect(options["port"] == "1,1,2,4")
  }

  @Test func hostsThatNeedNoLookupRemainWhenNoNameHasAnAddress() throws {
    let parameters = try ConnectionParameters("host=a,127.0.0.1,/run port=1,2,3", applicationName: nil)
    #expect(parameters.hasHostWithoutName)
    let found = options(parameters, attempt: 0, [:])
    #expect(found["host"] == "127.0.0.1,/run")
    #expect(found["hostaddr"] == nil)
    #expect(found["port"] == "2,3")
    #expect(try !ConnectionParameters("host=a,b", applicationName: nil).hasHostWithoutName)
    #expect(try ConnectionParameters("host=a hostaddr=10.0.0.1", applicationName: nil).hasHostWithoutName)
  }

  @Test func whatWasNotLookedUpIsLeftToLibpq() throws {
    let parameters = try ConnectionParameters("host=a,/run port=1,2", applicationName: nil)
    #expect(options(parameters, attempt: 0, nil)["host"] == "a,/run")
    #expect(options(parameters, attempt: 1, nil)["port"] == "2,1")
  }

  @Test func eachAttemptBeginsWithAnotherHost() throws {
    let parameters = try ConnectionParameters("postgresql://a:1,b:2/x", applicationName: nil)
    let addresses = ["a": ["10.0.0.1"], "b": ["10.0.0.2"]]
    #expect(options(parameters, attempt: 0, addresses)["hostaddr"] == "10.0.0.1,10.0.0.2")
    #expect(options(parameters, attempt: 1, addresses)["hostaddr"] == "10.0.0.2,10.0.0.1")
    #expect(options(parameters, attempt: 1, addresses)["port"] == "2,1")
    #expect(options(parameters, attempt: 2, addresses)["host"] == "a,b")
    #expect(options(parameters, attempt: 2, addresses)["dbname"] == "x")
  }

  @Test(arguments: [
    ("host=a", 10), ("host=a connect_timeout=30", 10), ("host=a,b port=1,2", 10), ("host=a,b,c", 15),
    ("host=a,b connect_timeout=30", 60), ("hostaddr=10.0.0.1,10.0.0.2,10.0.0.3,10.0.0.4", 20),
  ])
  func theStartTakesAsLongAsOneAttemptAtEachHost(string: String, seconds: Int) throws {
    var configuration = Database.Configuration(connectionString: string)
    #expect(try configuration.startLimit(configuration.pipelineRecipe) == .seconds(seconds))
    configuration.startTimeout = .seconds(90)
    #expect(try configuration.startLimit(configuration.pipelineRecipe) == .seconds(90))
  }

  private func options(
    _ parameters: ConnectionParameters, attempt: Int, _ addresses: [String: [String]]?
  ) -> [String: String] {
    parameters.withArrays(attempt: attempt, addresses: addresses) { keywords, values in
      var options: [String: String] = [:]
      var index = 0
      while let keyword = keywords[index], let value = values[index] {
        options[String(cString: keyword)] = String(cString: value)
        index += 1
      }
      return options
    }
  }
}
