import MagpieAPI
import Testing

@Suite struct ServedHostsTests {
  @Test(arguments: [
    ("localhost", true), ("api", true), ("127.0.0.1", true), ("192.168.1.20", true), ("[::1]", true),
    ("[::ffff:1.2.3.4]", true),
    ("magpie.example", true), ("magpie.example.", true), ("nas.local", true), ("magpie.home.svc.cluster.local", true),
    ("a.localhost", true), ("", true),
    ("other.example", false), ("other.example.", false), ("other.example..", false), ("x.magpie.example", false),
    ("magpie.example.evil.example", false), ("127.0.0.1.evil.example", false), ("local", true),
    ("evil.notlocal", false),
  ])
  func namesThatOthersCanRegisterAreNotOurs(host: String, isServed: Bool) {
    #expect(ServedHosts(publicURL: "https://magpie.example:8443").contains(host) == isServed)
    #expect(ServedHosts(publicURL: nil).contains(host) == (isServed && !host.hasPrefix("magpie.example")))
  }
}
