import Testing
import Upstream

@Suite("Asking whether somebody follows somebody")
struct RelationTests {
  private let question = GitHub.Relation(from: GitHub.Login("Wren")!, to: GitHub.Login("dependabot[bot]")!)

  @Test("names both in the path, without validators")
  func call() {
    let call = question.call(
      to: github, credential: Credential(token: "t"), validators: Validators(etag: #""x""#))
    #expect(call.url == "https://api.github.com/users/Wren/following/dependabot%5Bbot%5D")
    #expect(call.fields[.authorization] == "Bearer t")
    #expect(call.fields[.ifNoneMatch] == nil)
  }

  @Test("takes 204 for yes and 404 for no")
  func answers() {
    #expect(question.reply(to: answer(204), from: github).outcome.value == true)
    let no = answer(404, #"{"message":"Not Found"}"#, ["X-RateLimit-Remaining": "7", "X-RateLimit-Resource": "core"])
    let reply = question.reply(to: no, from: github)
    #expect(reply.outcome.value == false)
    #expect(reply.budget?.remaining == 7)
  }

  @Test(
    "leaves everything else what it is",
    arguments: [
      (401, "unauthorized"), (403, "refused forbidden(message: nil)"), (451, "gone 451 -"), (502, "transient 502 -"),
      (200, "invalid a body where there is none"), (429, "limited secondary 60 unnamed"),
    ])
  func others(status: Int, summary: String) {
    #expect(question.reply(to: answer(status), from: github).outcome.summary == summary)
  }
}
