import HTTP
import JSONText
import Magpie

/// Entity tags of lists, made of what the answer is made of instead of its bytes: hashing 120 kB cost an eighth of an answer.
struct ListTags: Sendable {
  /// Of the form that this server gives to items: another address or another release is another tag.
  private let form: [UInt8]

  init(form: Mirror.ItemForm) {
    let sample: StaticString = #"{"url":"https://api.github.com/"}"#
    var writer = JSONWriter()
    let item = form(UnsafeRawBufferPointer(start: sample.utf8Start, count: sample.utf8CodeUnitCount))
    for tags in [nil, ["a"]] { MagpieMember.append(item, tags, to: &writer) }
    self.form = Array(EntityTag(hashing: writer.bytes).opaque.utf8)
  }

  /// `nil` when it is not known what the items are made of.
  func tag(of list: StoredList) -> EntityTag? {
    guard !list.digests.isEmpty else { return nil }
    var text = form
    text.reserveCapacity(form.count + 16 * list.count + 64)
    list.ids.withUnsafeBytes { text.append(contentsOf: $0) }
    list.digests.withUnsafeBytes { text.append(contentsOf: $0) }
    for (index, tags) in list.favoriteTags {
      // As JSON no two sets of tags read alike, and none goes on into the next.
      withUnsafeBytes(of: Int32(truncatingIfNeeded: index)) { text.append(contentsOf: $0) }
      text.append(contentsOf: tags.document)
    }
    return EntityTag(hashing: text)
  }
}
