import HTTP
import JSONText
import Testing
import Upstream

private func record(_ answer: UpstreamAnswer) -> Reply<GitHub.Repository> {
  GitHub.RepositoryRecord(.id(1)).reply(to: answer, from: github)
}

private func list<Item>(_ answer: UpstreamAnswer, _ request: GitHub.ItemList<Item>) -> Reply<GitHub.ItemPage<Item>> {
  request.reply(to: answer, from: github)
}

private func repositories(_ answer: UpstreamAnswer) -> Reply<GitHub.ItemPage<GitHub.Repository>> {
  list(answer, GitHub.ItemList<GitHub.Repository>(.owner, of: .id(1)))
}

private func text(_ document: [UInt8]) -> String { String(decoding: document, as: UTF8.self) }

@Suite("Reading repositories")
struct RepositoryTests {
  @Test("names what it asks for")
  func addresses() throws {
    let octocat = GitHub.AccountReference.login(try #require(GitHub.Login("octo-cat[bot]")))
    let name = try #require(GitHub.RepositoryName(".github"))
    let byName = GitHub.RepositoryReference.name(try #require(GitHub.Login("Octo")), name)
    #expect(GitHub.RepositoryRecord(byName).url(at: github) == "https://api.github.com/repos/Octo/.github")
    #expect(
      GitHub.RepositoryRecord(.id(5_000_000_000)).url(at: github) == "https://api.github.com/repositories/5000000000")
    #expect(GitHub.Languages(.id(7)).url(at: github) == "https://api.github.com/repositories/7/languages")
    #expect(
      GitHub.Commits(of: byName, query: "sha=a%2Fb&per_page=30").url(at: github)
        == "https://api.github.com/repos/Octo/.github/commits?sha=a%2Fb&per_page=30")
    #expect(
      GitHub.ItemList<GitHub.Repository>(.all, of: octocat).url(at: github)
        == "https://api.github.com/users/octo-cat%5Bbot%5D/repos?type=all&sort=created&direction=asc&per_page=100")
    #expect(
      GitHub.ItemList<GitHub.Gist>(of: .id(3)).url(at: github) == "https://api.github.com/user/3/gists?per_page=100")
    #expect(
      GitHub.ItemList<GitHub.Organization>(of: .id(3)).url(at: github)
        == "https://api.github.com/user/3/orgs?per_page=100")
  }

  @Test("takes for a name what is one segment of a path", arguments: ["a", ".github", "x_y-z.1", "...", "-"])
  func names(text: String) { #expect(GitHub.RepositoryName(text)?.description == text) }

  @Test(
    "refuses names that could leave their place", arguments: ["", ".", "..", "a/b", "a b", "a%2Fb", "ä", "a?b", "a\n"])
  func badNames(text: String) { #expect(GitHub.RepositoryName(text) == nil) }

  @Test("takes names of up to 100 characters")
  func longNames() {
    #expect(GitHub.RepositoryName(String(repeating: "a", count: 100)) != nil)
    #expect(GitHub.RepositoryName(String(repeating: "a", count: 101)) == nil)
  }

  @Test("takes what is sorted and searched, and passes the rest on without secrets")
  func record() throws {
    let body = #"""
      {"id":3000000007,"name":"Hello","full_name":"Octo/Hello","private":false,"owner":{"login":"Octo","id":9,"type":"User"},
      "description":"Says \u0000hi","fork":true,"language":null,"stargazers_count":12,"created_at":"2011-01-26T19:01:12Z",
      "updated_at":"yesterday","pushed_at":null,"temp_clone_token":"s3cret","new_member":[1,{"x":null}],
      "parent":{"id":1,"temp_clone_token":"other"}}
      """#
    let repository = try #require(Self.value(body))
    #expect(repository.id == 3_000_000_007)
    #expect(repository.name == "Hello" && repository.fullName == "Octo/Hello")
    #expect(repository.owner?.id == 9 && repository.owner?.login == "Octo")
    #expect(repository.summary == "Says hi" && repository.isFork && repository.language == nil)
    #expect(repository.stars == 12)
    #expect(repository.createdAt == Timestamp("2011-01-26T19:01:12Z"))
    #expect(repository.updatedAt == nil && repository.pushedAt == nil)
    let document = try JSONView(repository.document)
    #expect(document["temp_clone_token"] == nil && document["parent"]?["temp_clone_token"] == nil)
    #expect(document["parent"]?["id"]?.int == 1)
    #expect(document["new_member"].map { text($0.bytes) } == #"[1,{"x":null}]"#)
    #expect(document["updated_at"]?.string == "yesterday")
    #expect(!text(repository.document).contains("s3cret") && !text(repository.document).contains("other"))
  }

  private static func value(_ body: String) -> GitHub.Repository? {
    GitHub.RepositoryRecord(.id(1)).reply(to: answer(200, body), from: github).outcome.value
  }

  @Test("tolerates what is missing, and an owner that is null")
  func sparse() throws {
    let repository = try #require(Self.value(#"{"id":1,"name":"a","full_name":"b/a","owner":null,"watchers_count":3}"#))
    #expect(repository.owner == nil && repository.stars == 3 && !repository.isFork)
    #expect(text(repository.document) == #"{"id":1,"name":"a","full_name":"b/a","owner":null,"watchers_count":3}"#)
  }

  @Test(
    "refuses a record that contradicts itself",
    arguments: [
      ("[]", "not an object"), (#"{"message":"x"}"#, "/id: not a positive integer"),
      (#"{"id":"1","name":"a","full_name":"b/a"}"#, "/id: not a positive integer"),
      (#"{"id":1,"full_name":"b/a"}"#, "/name: not a name"),
      (#"{"id":1,"name":"a","full_name":"a"}"#, "/full_name: not an owner and a name"),
      (#"{"id":1,"name":"a","full_name":"b/a","owner":{"login":"b"}}"#, "/owner/id: not a positive integer"),
    ])
  func refused(body: String, reason: String) {
    #expect(summary(body) == "invalid \(reason)")
  }

  private func summary(_ body: String) -> String {
    GitHub.RepositoryRecord(.id(1)).reply(to: answer(200, body), from: github).outcome.summary
  }

  @Test("takes a block for a fact, whatever its status")
  func blocks() {
    let tos = #"{"message":"Repository access blocked","block":{"reason":"tos","created_at":"2020-01-01T00:00:00Z"}}"#
    let dmca = #"{"message":"Repository access blocked","block":{"reason":"dmca","html_url":"https://x.example"}}"#
    let empty: Fields = ["x-ratelimit-remaining": "0", "x-ratelimit-reset": "\(newYear + 60)"]
    for fields in [[:], empty] {
      let blocked = answer(403, tos, fields)
      #expect(GitHub.RepositoryRecord(.id(1)).reply(to: blocked, from: github).outcome.summary == "gone 403 tos")
      #expect(GitHub.Languages(.id(1)).reply(to: blocked, from: github).outcome.summary == "gone 403 tos")
      #expect(GitHub.Commits(of: .id(1), query: "").reply(to: blocked, from: github).outcome.summary == "gone 403 tos")
    }
    #expect(GitHub.Languages(.id(1)).reply(to: answer(451, dmca), from: github).outcome.summary == "gone 451 dmca")
    let limit = answer(403, #"{"message":"API rate limit exceeded"}"#, empty)
    #expect(
      GitHub.Languages(.id(1)).reply(to: limit, from: github).outcome.summary == "limited primary 61 named")
  }

  @Test("knows nothing of a repository that only some may see")
  func secretRepositories() {
    let body = #"{"id":1,"name":"a","full_name":"b/a","private":true}"#
    #expect(summary(body) == "gone 404 -")
    let page = repositories(answer(200, #"[\#(body),{"id":2,"name":"c","full_name":"b/c"}]"#)).outcome.value
    #expect(page?.items.map(\.id) == [2])
  }

  @Test("reads lists with their links, each item once")
  func lists() throws {
    let link =
      #"<https://api.github.com/user/9/repos?page=2>; rel="next", <https://api.github.com/user/9/repos?page=4>; rel="last""#
    let body =
      #"[{"id":1,"name":"a","full_name":"b/a"},{"id":2,"name":"c","full_name":"b/c"},{"id":1,"name":"a","full_name":"b/a"}]"#
    let page = try #require(repositories(answer(200, body, ["Link": link])).outcome.value)
    #expect(page.items.map(\.id) == [1, 2])
    #expect(page.next == "https://api.github.com/user/9/repos?page=2" && page.lastPage == 4)
    #expect(repositories(answer(200, #"{"message":"x"}"#)).outcome.summary == "invalid not an array")
    #expect(
      repositories(answer(200, #"[{"id":1,"name":"a","full_name":"b/a"},{"id":2}]"#)).outcome.summary
        == "invalid /1/name: not a name")
  }

  @Test("takes gists without an owner, with the old name for one, and with ids of either kind")
  func gists() throws {
    let body = #"""
      [{"id":"2793179","public":true,"user":{"id":5,"login":"a"}},{"id":"aa5a315d61ae9438b18d","owner":{"id":6,"login":"b"},"user":null},
      {"id":"AAff"},{"id":"bb","public":false}]
      """#
    let page = try #require(list(answer(200, body), GitHub.ItemList<GitHub.Gist>(of: .id(1))).outcome.value)
    #expect(page.items.map(\.identity) == ["2793179", "aa5a315d61ae9438b18d", "AAff", "bb"])
    #expect(page.items.map { $0.owner?.id } == [5, 6, nil, nil])
    for id in ["5", #""""#, #""g""#, #""a/b""#, "\"\(String(repeating: "a", count: 65))\""] {
      let bad = list(answer(200, #"[{"id":\#(id)}]"#), GitHub.ItemList<GitHub.Gist>(of: .id(1)))
      #expect(bad.outcome.summary == "invalid /0/id: not a gist's id", "\(id)")
    }
  }

  @Test("takes organizations as they are listed, without a type")
  func organizations() throws {
    let body = #"[{"login":"BeaverSoftware","id":1424031,"description":null}]"#
    let page = try #require(list(answer(200, body), GitHub.ItemList<GitHub.Organization>(of: .id(1))).outcome.value)
    #expect(page.items.map(\.id) == [1_424_031] && page.items.map(\.login) == ["BeaverSoftware"])
    #expect(text(page.items[0].document) == #"{"login":"BeaverSoftware","id":1424031,"description":null}"#)
  }
}

@Suite("Reading languages and commits")
struct CommitTests {
  private func languages(_ body: String) -> Outcome<GitHub.LanguageShares> {
    GitHub.Languages(.id(1)).reply(to: answer(200, body), from: github).outcome
  }

  private func commits(_ answer: UpstreamAnswer) -> Outcome<GitHub.CommitPage> {
    GitHub.Commits(of: .id(1), query: "").reply(to: answer, from: github).outcome
  }

  @Test("sorts languages and counts their shares")
  func shares() throws {
    let shares = try #require(languages(#"{"Shell": 673, "C++": 1, "Python": 127266,"C#":1}"#).value)
    #expect(shares.shares.map(\.name) == ["Python", "Shell", "C#", "C++"])
    #expect(shares.shares.map(\.bytes) == [127_266, 673, 1, 1])
    #expect(shares.shares.map(\.percent) == [99.47, 0.53, 0, 0])
    #expect(text(shares.document) == #"{"Shell": 673, "C++": 1, "Python": 127266,"C#":1}"#)
    let large = try #require(languages(#"{"C":9223372036854775807,"D":9223372036854775807}"#).value)
    #expect(large.shares.map(\.percent) == [50, 50])
  }

  @Test("no languages are an answer; nothing else is")
  func noLanguages() {
    #expect(languages("{}").value?.shares == [])
    #expect(languages(#"{"C":0}"#).value?.shares.map(\.percent) == [0])
    for body in ["[]", "null", #"{"C":"1"}"#, #"{"C":-1}"#, #"{"C":1.5}"#] {
      #expect(languages(body).value == nil, "\(body)")
    }
  }

  @Test("an author is null, empty or an account, and the name is Git's")
  func authors() throws {
    let body = #"""
      [{"sha":"a1","commit":{"author":{"name":"Ann","date":"2050-01-01T00:00:00Z"},"message":"One\r\n\nBody"},"author":null},
      {"sha":"a2","commit":{"author":{"name":"Bob","date":"1970-01-01T00:00:00Z"},"message":"Two"},"author":{}},
      {"sha":"a3","commit":{"author":null,"committer":{"date":"x"},"message":""},"author":{"id":5,"login":"cleo"}},
      {"sha":"a4","commit":{}},{"sha":"a5"}]
      """#
    let page = try #require(commits(answer(200, body)).value)
    #expect(page.commits.map(\.sha) == ["a1", "a2", "a3", "a4", "a5"])
    #expect(page.commits.map(\.authorName) == ["Ann", "Bob", "cleo", nil, nil])
    #expect(page.commits.map { $0.author.map(text) } == [nil, nil, #"{"id":5,"login":"cleo"}"#, nil, nil])
    #expect(page.commits.map(\.subject) == ["One", "Two", "", "", ""])
    #expect(page.commits[0].message == "One\r\n\nBody")
    #expect(page.commits.map(\.date) == ["2050-01-01T00:00:00Z", "1970-01-01T00:00:00Z", "x", nil, nil])
    #expect(!page.hasNext)
  }

  @Test("one page has one spelling")
  func queries() {
    let values = ["until": "2020-01-01T00:00:00Z", "sha": "a/b c", "path": ""]
    #expect(
      GitHub.Commits.query(page: 2, perPage: 5) { values[$0] }
        == "sha=a%2Fb%20c&until=2020-01-01T00%3A00%3A00Z&per_page=5&page=2")
    #expect(GitHub.Commits.query(page: 1, perPage: 30) { _ in nil } == "per_page=30")
  }

  @Test("an empty repository is a fact in GitHub's words")
  func emptyRepository() {
    let body = #"{"message":"Git Repository is empty.","documentation_url":"x"}"#
    #expect(commits(answer(409, body)).summary == "gone 409 Git Repository is empty.")
    #expect(commits(answer(409, "")).summary == "gone 409 Git Repository is empty.")
  }

  @Test(
    "refuses a page for one commit without a name",
    arguments: [
      ("{}", "not an array"), ("[1]", "/0: not an object"),
      (#"[{"sha":"a"},{"sha":1}]"#, "/1/sha: not a commit's name"),
      (#"[{"sha":""}]"#, "/0/sha: not a commit's name"),
    ])
  func refusesBadCommits(body: String, reason: String) {
    #expect(commits(answer(200, body)).summary == "invalid \(reason)")
  }
}
