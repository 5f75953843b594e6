import EventLoop

/// Gathers the addresses of all hosts of one attempt to connect.
///
/// A host whose name nobody answers for must not keep the others from being tried: when the patience is over, what was found
/// until then has to do; if that is nothing, the hosts that need no address have to do, and without such the first name found
/// is enough.
///
/// `@unchecked Sendable`: used on the loop's thread only; answers hop there.
final class HostLookup: @unchecked Sendable {
  private let loop: EventLoop
  private let mayFindNothing: Bool
  private var missing: Int
  private var found: [String: [String]] = [:]
  private var isPatient = true
  private var timer: TimerID?
  private var completion: (([String: [String]]) -> Void)?

  /// `completion` is called once, later, with the addresses by name; not after `cancel`.
  ///
  /// - Parameter mayFindNothing: whether there are other hosts, which need no address.
  init(
    _ names: Set<String>, by resolver: NameResolver, on loop: EventLoop, patience: Duration, mayFindNothing: Bool,
    completion: @escaping ([String: [String]]) -> Void
  ) {
    self.loop = loop
    self.mayFindNothing = mayFindNothing
    self.completion = completion
    missing = names.count
    timer = loop.schedule(after: patience) { [weak self] in
      self?.timer = nil
      self?.isPatient = false
      self?.finishIfDone()
    }
    for name in names {
      // Kept until the answer comes: a resolver answers always, if late.
      resolver.resolve(name) { addresses in
        loop.execute { self.answered(name, addresses) }
      }
    }
  }

  func cancel() {
    if let timer { loop.cancel(timer) }
    timer = nil
    completion = nil
  }

  private func answered(_ name: String, _ addresses: [String]) {
    missing -= 1
    if !addresses.isEmpty { found[name] = addresses }
    finishIfDone()
  }

  private func finishIfDone() {
    guard missing == 0 || (!isPatient && (mayFindNothing || !found.isEmpty)) else { return }
    let completion = completion
    cancel()
    completion?(found)
  }
}
