import JSONText
import Testing

@Suite("Writing a document")
struct JSONWriterTests {
  @Test("sets commas by itself")
  func setsCommas() {
    let text = write { json in
      json.beginObject()
      json.key("a")
      json.int(1)
      json.key("b" as String)
      json.beginArray()
      json.endArray()
      json.key("c")
      json.beginArray()
      json.beginObject()
      json.endObject()
      json.string("x")
      json.null()
      json.bool(true)
      json.beginArray()
      json.bool(false)
      json.endArray()
      json.raw("{}")
      json.double(0.5)
      json.endArray()
      json.key("d")
      json.raw([0x31])
      json.endObject()
    }
    #expect(text == #"{"a":1,"b":[],"c":[{},"x",null,true,[false],{},0.5],"d":1}"#)
  }

  @Test("escapes what has to be escaped, at every place of a word")
  func escapes() {
    #expect(write { $0.string("\"\\\u{8}\t\n\u{c}\r\u{0}\u{1f}") } == #""\"\\\b\t\n\f\r\u0000\u001f""#)
    #expect(write { $0.string("é€😀/\u{7f}") } == "\"é€😀/\u{7f}\"")
    for length in 0..<20 {
      let run = String(repeating: "é", count: length / 2) + String(repeating: "x", count: length)
      #expect(write { $0.string("\(run)\"\n\(run)") } == "\"\(run)\\\"\\n\(run)\"")
    }
    #expect(
      write { json in
        json.beginObject()
        json.key("a\"b" as String)
        json.int(0)
        json.endObject()
      } == #"{"a\"b":0}"#)
  }

  @Test("writes numbers that read back the same")
  func writesNumbers() {
    #expect(write { $0.int(Int64.min) } == "-9223372036854775808")
    #expect(write { $0.int(UInt64.max) } == "18446744073709551615")
    #expect(write { $0.int(UInt8(0)) } == "0")
    #expect(write { $0.int(-120) } == "-120")
    #expect(write { $0.double(1e300) } == "1e+300")
    #expect(write { $0.double(.infinity) } == "null")
    #expect(write { $0.double(.nan) } == "null")
  }

  @Test(
    "adds members to a stored object",
    arguments: [
      (#"{"a":1}"#, #"[0,{"a":1,"m":true},2]"#), ("{}", #"[0,{"m":true},2]"#), ("{ }", #"[0,{"m":true},2]"#),
      ("{\"a\":{}\n}\n", #"[0,{"a":{},"m":true},2]"#), (#"{"a":"{"}"#, #"[0,{"a":"{","m":true},2]"#),
      ("[1]", "[0,[1],2]"),
    ])
  func addsMembers(document: String, expected: String) {
    let text = write { json in
      json.beginArray()
      json.int(0)
      [UInt8](text: document).withUnsafeBytes { bytes in
        json.rawObject(bytes) { json in
          json.key("m")
          json.bool(true)
        }
      }
      json.int(2)
      json.endArray()
    }
    #expect(text == expected)
  }

  @Test("begins again after removeAll")
  func beginsAgain() {
    var json = JSONWriter()
    json.int(1)
    json.removeAll()
    json.int(2)
    #expect(json.bytes.text == "2")
  }
}
