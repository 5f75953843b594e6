/// First in, first out, in a ring that grows by doubling and is never shrunk.
struct FIFO<Element> {
  private var slots: [Element?]
  private var head = 0
  private(set) var count = 0

  init(capacity: Int = 16) { slots = Array(repeating: nil, count: max(1, capacity.nextPowerOfTwo)) }

  var isEmpty: Bool { count == 0 }

  mutating func append(_ element: consuming Element) {
    if count == slots.count { grow() }
    slots[(head + count) & (slots.count - 1)] = element
    count += 1
  }

  mutating func popFirst() -> Element? {
    guard count > 0 else { return nil }
    let element = slots[head].take()
    head = (head + 1) & (slots.count - 1)
    count -= 1
    return element
  }

  /// Changes the element at a position from the front, in place.
  mutating func modify<Value>(_ position: Int, _ body: (inout Element) -> Value) -> Value? {
    guard position < count else { return nil }
    let index = (head + position) & (slots.count - 1)
    return slots[index] == nil ? nil : body(&slots[index]!)  // never nil below `count`
  }

  private mutating func grow() {
    var larger = [Element?](repeating: nil, count: slots.count * 2)
    for position in 0..<count { larger[position] = slots[(head + position) & (slots.count - 1)].take() }
    slots = larger
    head = 0
  }
}

extension Int {
  fileprivate var nextPowerOfTwo: Int { self <= 1 ? 1 : 1 << (Int.bitWidth - (self - 1).leadingZeroBitCount) }
}
