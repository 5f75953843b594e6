import CLibcurl
import EventLoop

/// One socket of libcurl's in the loop.
final class Watch: ReadinessHandler {
  private let socket: curl_socket_t
  private unowned let transfers: Transfers
  var registration: Registration?

  init(_ socket: curl_socket_t, of transfers: Transfers) {
    self.socket = socket
    self.transfers = transfers
  }

  func ready(_ readiness: Readiness) {
    var flags: Int32 = 0
    if readiness.contains(.read) { flags |= CURL_CSELECT_IN }
    if readiness.contains(.write) { flags |= CURL_CSELECT_OUT }
    if !readiness.isDisjoint(with: .failed) { flags |= CURL_CSELECT_ERR }
    transfers.act(socket, flags)
  }
}
