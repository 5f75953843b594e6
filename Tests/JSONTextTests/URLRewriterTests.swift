import JSONText
import Testing

@Suite("Rewriting addresses")
struct URLRewriterTests {
  private let rewriter = URLRewriter(
    bases: ["https://api.github.com", "http://127.0.0.1:9000/", "http://127.0.0.1:9000/api"],
    replacement: "https://magpie.example/github/")

  private func rewrite(_ text: String) -> String {
    write { json in [UInt8](text: text).withUnsafeBytes { rewriter.append($0, to: &json) } }
  }

  @Test(
    "rewrites values of url and …_url that begin with a base",
    arguments: [
      (#"{"url":"https://api.github.com/users/a"}"#, #"{"url":"https://magpie.example/github/users/a"}"#),
      (#"{"url":"https://api.github.com"}"#, #"{"url":"https://magpie.example/github"}"#),
      (
        #"{"id":1,"gists_url" : "https://api.github.com/users/a/gists{/gist_id}","x":[]}"#,
        #"{"id":1,"gists_url" : "https://magpie.example/github/users/a/gists{/gist_id}","x":[]}"#
      ),
      (
        #"{"repos_url":"https:\/\/api.github.com\/users\/a"}"#,
        #"{"repos_url":"https://magpie.example/github\/users\/a"}"#
      ),
      (#"{"url":"http://127.0.0.1:9000/user/1"}"#, #"{"url":"https://magpie.example/github/user/1"}"#),
      (#"{"url":"http://127.0.0.1:9000/api/user/1"}"#, #"{"url":"https://magpie.example/github/user/1"}"#),
      (#"[{"owner":{"url":"https://api.github.com/u"}}]"#, #"[{"owner":{"url":"https://magpie.example/github/u"}}]"#),
      (
        #"{"a_url":"https://api.github.com/1","b_url":"https://api.github.com/2"}"#,
        #"{"a_url":"https://magpie.example/github/1","b_url":"https://magpie.example/github/2"}"#
      ),
      (#"{"r_url":"https://api.github.com/1"}"#, #"{"r_url":"https://magpie.example/github/1"}"#),
      (#"{"xavatar_url":"https://api.github.com/1"}"#, #"{"xavatar_url":"https://magpie.example/github/1"}"#),
    ])
  func rewrites(text: String, expected: String) {
    #expect(rewrite(text) == expected)
  }

  @Test(
    "leaves everything else byte for byte",
    arguments: [
      #"{"html_url":"https://github.com/a","avatar_url":"https://avatars.example/u/1?v=4"}"#,
      #"{"avatar_url":"https://api.github.com/avatars/u/1"}"#,
      #"[{"id":1,"avatar_url" : "http://127.0.0.1:9000/u/1"}]"#,
      #"{"url":"https://api.github.com.evil/users/a"}"#, #"{"url":"https://api.github.com@evil/"}"#,
      #"{"url":"https://api.github.co"}"#,
      #"{"url":"see https://api.github.com/users/a"}"#, #"{"bio":"https://api.github.com/users/a"}"#,
      #"{"curl":"https://api.github.com/a"}"#,
      #"{"bio":"\"url\":\"https://api.github.com/a"}"#, #"{"bio":"my url","x":"https://api.github.com/a"}"#,
      #"{"a\"url":"https://api.github.com/a"}"#, #"["url","https://api.github.com/a"]"#,
      #"{"url":["https://api.github.com/a"]}"#,
      #"{"url":null,"x":"https://api.github.com/a"}"#, #"{"url":1}"#, #"{"url":""}"#, #"{"url":{}}"#, "[]", #""url""#,
      "1", #"{"URL":"https://api.github.com/a"}"#,
      #"{"url":"http://127.0.0.1:90001/a"}"#, #"{"url":"https:\\/\\/api.github.com\\/a"}"#,
    ])
  func leaves(text: String) {
    #expect(rewrite(text) == text)
  }

  @Test("adds members to a rewritten object, themselves left alone")
  func addsMembers() {
    let text = write { json in
      json.beginArray()
      for _ in 0..<2 {
        [UInt8](text: #"{"url":"https://api.github.com/a"}"#).withUnsafeBytes { bytes in
          rewriter.appendObject(bytes, to: &json) { json in
            json.key("note_url")
            json.string("https://api.github.com/b")
          }
        }
      }
      json.endArray()
    }
    let item = #"{"url":"https://magpie.example/github/a","note_url":"https://api.github.com/b"}"#
    #expect(text == "[\(item),\(item)]")
  }

  @Test("rewrites plain addresses")
  func rewritesPlainAddresses() {
    #expect(rewriter.rewrite("https://api.github.com/user/1?page=2") == "https://magpie.example/github/user/1?page=2")
    #expect(rewriter.rewrite("https://api.github.com") == "https://magpie.example/github")
    #expect(rewriter.rewrite("https://api.github.com.evil/") == "https://api.github.com.evil/")
    #expect(rewriter.rewrite("https://github.com/a") == "https://github.com/a")
    #expect(rewriter.rewrite("") == "")
  }
}
